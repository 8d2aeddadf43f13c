// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The message protocol of a Connection, written by hand for one lane and no failover: what its
/// cost is measured against.
///
/// No policies, no templates, one type of lane, no epochs but the first, nothing to send again. It
/// puts the same bytes on the wire (hand_written.test.cpp), so the records are those of the
/// library; everything else is written with nothing in mind but few instructions.

#include <vccl/detail/records.hpp>

#include <codegen/wire.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vccl::hand_written {

using detail::CtsElement;
using detail::Notify;
using detail::SizeElement;
using detail::window;

inline constexpr Epoch epoch = 1;

/// What the peer writes, and where what is written there is made. The same at both ends.
struct alignas(64) Rings {
  std::array<detail::CtsSlot, window> cts;
  std::array<detail::SizeSlot, window> sizes;
};

enum class Work : std::uint8_t { receive, notify, record, flush };

/// A lane with its records and the accounts of its send queues.
class End {
 public:
  End(wire::Host& host, std::uint8_t qps, std::uint16_t send_depth)
      : lane_{host, {.port = PortId{0}, .qps = qps, .send_depth = send_depth}},
        rings_registration_{wire::Lane::register_memory(host, PortId{0}, &rings_, sizeof rings_,
                                                        Access::remote_write, MemoryKind::host)},
        keys_{rings_registration_.keys()},
        qps_{qps},
        depth_{send_depth} {}
  End(End const&) = delete;
  End& operator=(End const&) = delete;

  /// Ties two ends together; each posts its receives first.
  static bool connect(End& a, End& b) noexcept {
    LaneAddress of_a, of_b;
    if (a.lane_.describe(of_a) != Errc::ok || b.lane_.describe(of_b) != Errc::ok) return false;
    a.max_message_ = b.max_message_ = a.lane_.max_message();
    a.remote_ = reinterpret_cast<std::uint64_t>(&b.rings_);
    b.remote_ = reinterpret_cast<std::uint64_t>(&a.rings_);
    a.keys_.remote = b.rings_registration_.keys().remote;
    b.keys_.remote = a.rings_registration_.keys().remote;
    a.open_ = b.open_ = a.fill_receives() && b.fill_receives() &&
                        a.lane_.connect(of_b) == Errc::ok && b.lane_.connect(of_a) == Errc::ok;
    return a.open_;
  }

 protected:
  struct Queue {
    std::uint16_t posted = 0;
    std::uint16_t completed = 0;
    [[nodiscard]] std::uint16_t used() const noexcept {
      return static_cast<std::uint16_t>(posted - completed);
    }
  };

  /// [step 32, sequence 16, qp 8, work 8]: a completion retires all earlier work of its queue.
  [[nodiscard]] static std::uint64_t id(Work work, std::uint8_t qp, std::uint16_t sequence,
                                        Step step) noexcept {
    return step << 32 | std::uint64_t{sequence} << 16 | std::uint64_t{qp} << 8 |
           static_cast<std::uint64_t>(work);
  }
  [[nodiscard]] static Work work_of(std::uint64_t id) noexcept {
    return static_cast<Work>(id & 0xff);
  }
  [[nodiscard]] static std::uint8_t qp_of(std::uint64_t id) noexcept {
    return static_cast<std::uint8_t>(id >> 8);
  }
  [[nodiscard]] static std::uint32_t step_of(std::uint64_t id) noexcept {
    return static_cast<std::uint32_t>(id >> 32);
  }

  [[nodiscard]] std::size_t room(std::uint8_t qp) const noexcept {
    return static_cast<std::size_t>(depth_ - queues_[qp].used());
  }
  [[nodiscard]] bool sign_now(std::uint8_t qp) const noexcept {
    return ((queues_[qp].posted + 1) & 31) == 0 || queues_[qp].used() * 2 > depth_;
  }

  [[gnu::always_inline]] Errc post(WorkRequest& wr, Work work, Step step) noexcept {
    Queue& q = queues_[wr.qp];
    wr.id = id(work, wr.qp, static_cast<std::uint16_t>(q.posted + 1), step);
    Errc const e = lane_.post(wr);
    if (e == Errc::ok) {
      ++q.posted;
      rings_doorbell_ = true;
    }
    return e;
  }

  /// A part of our rings goes to the same place in the peer's.
  [[gnu::always_inline]] Errc post_record(std::uint8_t qp, const void* record, std::size_t bytes,
                                          Traffic traffic, Step step, bool signaled) noexcept {
    WorkRequest wr;
    wr.traffic = traffic;
    wr.qp = qp;
    wr.signaled = signaled;
    wr.inlined = bytes <= wire::Lane::limits.max_inline;
    wr.local = reinterpret_cast<std::uint64_t>(record);
    wr.length = bytes;
    wr.remote = remote_ + (wr.local - reinterpret_cast<std::uint64_t>(&rings_));
    wr.keys = keys_;
    return post(wr, Work::record, step);
  }

  [[gnu::always_inline]] Errc ring_doorbell() noexcept {
    if (!rings_doorbell_) return Errc::ok;
    rings_doorbell_ = false;
    return lane_.flush();
  }

  Errc post_receive(std::uint8_t qp) noexcept {
    return lane_.post_receive(qp, id(Work::receive, qp, 0, 0));
  }

  /// A completion of our send queues: its place is free again.
  void retire(std::uint64_t id) noexcept {
    queues_[qp_of(id)].completed = static_cast<std::uint16_t>(id >> 16);
  }

  wire::Lane lane_;
  std::array<Completion, 16> batch_{};  ///< Polled into; here, so that it is not made each time.
  std::array<Queue, max_qps> queues_{};
  bool open_ = false;
  bool rings_doorbell_ = false;
  wire::Registration rings_registration_;
  Keys keys_;
  std::uint8_t qps_;
  std::uint16_t depth_;
  std::uint64_t remote_ = 0;
  std::uint64_t max_message_ = 0;
  Rings rings_{};

 private:
  [[nodiscard]] bool fill_receives() noexcept {
    for (std::uint8_t qp = 0; qp < qps_; ++qp) {
      for (std::size_t i = 0; i < window; ++i) {
        if (post_receive(qp) != Errc::ok) return false;
      }
    }
    return true;
  }
};

}  // namespace vccl::hand_written
