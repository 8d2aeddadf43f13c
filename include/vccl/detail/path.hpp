// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// One path of a connection: its lanes, the records that travel on it, its queues' accounts, its
/// fence.

#include <vccl/concepts.hpp>
#include <vccl/detail/lanes.hpp>
#include <vccl/detail/records.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vccl::detail {

/// What one path's records need at an end: what the peer writes, and where ours are made. The
/// layout is the same at both ends, so a record's place at the peer follows from its place here.
struct PathBlock {
  std::array<CtsSlot, window> cts;     ///< Receiver: made here. Sender: arrive here.
  std::array<SizeSlot, window> sizes;  ///< Sender: made here. Receiver: arrive here.
  alignas(64) std::array<std::byte, probe_bytes> control_in;
  alignas(64) std::array<std::byte, probe_bytes> control_out;
};

/// Which work a completion belongs to. Travels in the work request's id.
enum class Work : std::uint8_t { receive, data, chunk, cts, control, probe, flush };

/// [step 32, sequence 14, lane 2, qp 2, generation 11, work 3]. The sequence counts what was posted
/// on that send queue, so a completion retires all earlier work, signaled or not.
struct WorkId {
  Work work = Work::receive;
  std::uint16_t generation = 0;
  std::uint8_t lane = 0;
  std::uint8_t qp = 0;
  std::uint16_t sequence = 0;
  std::uint32_t step = 0;
};
inline constexpr std::uint16_t generation_mask = 0x7ff;
inline constexpr std::uint16_t sequence_mask = 0x3fff;

[[nodiscard]] constexpr std::uint64_t pack(WorkId w) noexcept {
  return std::uint64_t{w.step} << 32 | std::uint64_t{w.sequence} << 18 |
         std::uint64_t{w.lane} << 16 | std::uint64_t{w.qp} << 14 |
         std::uint64_t{w.generation} << 3 | static_cast<std::uint64_t>(w.work);
}
[[nodiscard]] constexpr WorkId unpack_work(std::uint64_t v) noexcept {
  return {static_cast<Work>(v & 7),
          static_cast<std::uint16_t>(v >> 3 & generation_mask),
          static_cast<std::uint8_t>(v >> 16 & 3),
          static_cast<std::uint8_t>(v >> 14 & 3),
          static_cast<std::uint16_t>(v >> 18 & sequence_mask),
          static_cast<std::uint32_t>(v >> 32)};
}

/// A completion, sorted: what it was for, and how it went.
struct Arrival {
  WorkId id;
  Status status = Status::success;
  std::uint32_t immediate = 0;
};

/// One path. Owned by one end of a connection, used by its owner thread only.
template <Transport T>
class Path {
 public:
  using Host = typename T::Host;
  static constexpr std::uint16_t reserve = 8;  ///< Send-queue slots kept for probes and control.

  Path() = default;

  /// Opens a lane per port and registers the block on each. Throws SetupError; then nothing is
  /// left.
  /// `receives`: whether notifies arrive here, so that receives must be posted.
  void open(Host& host, std::span<PortId const> ports, LaneConfig config, PathBlock& block,
            bool receives) {
    block_ = &block;
    receives_ = receives;
    qps_ = config.qps;
    send_depth_ = config.send_depth;
    for (PortId port : ports) {
      config.port = port;
      ports_[lanes_.size()] = port;
      lanes_.emplace(host, config);
      registrations_.emplace(T::register_memory(host, port, &block, sizeof block,
                                                Access::remote_write, MemoryKind::host));
    }
  }

  [[nodiscard]] std::size_t lane_count() const noexcept { return lanes_.size(); }
  [[nodiscard]] std::size_t queue_count() const noexcept { return lanes_.size() * qps_; }
  [[nodiscard]] std::uint8_t qps() const noexcept { return qps_; }
  [[nodiscard]] T& lane(std::size_t i) noexcept { return lanes_[i]; }
  [[nodiscard]] PortId port(std::size_t i) const noexcept { return ports_[i]; }
  [[nodiscard]] PathBlock& block() noexcept { return *block_; }
  [[nodiscard]] Keys block_keys(std::size_t lane) const noexcept {
    return registrations_[lane].keys();
  }
  [[nodiscard]] std::uint64_t max_message() noexcept {
    std::uint64_t least = ~std::uint64_t{0};
    for (T& l : lanes_) least = l.max_message() < least ? l.max_message() : least;
    return least;
  }

  /// Where the peer's block of this path is.
  void set_remote(std::uint64_t address,
                  std::array<std::uint32_t, max_lanes> const& keys) noexcept {
    remote_ = address;
    remote_keys_ = keys;
  }

  /// Address in the peer's block of what stands at `here` in ours.
  [[nodiscard]] std::uint64_t mirror(const void* here) const noexcept {
    return remote_ + static_cast<std::uint64_t>(static_cast<const std::byte*>(here) -
                                                reinterpret_cast<const std::byte*>(block_));
  }

  // ---- Posting

  /// Free slots of a send queue, the reserve not counted.
  [[nodiscard]] std::uint16_t room(std::size_t lane, std::size_t qp) const noexcept {
    std::uint16_t const used = queues_[lane][qp].used();
    return used + reserve >= send_depth_ ? std::uint16_t{0}
                                         : static_cast<std::uint16_t>(send_depth_ - reserve - used);
  }

  /// Posts on one queue. `wr` needs everything but its id. The caller has looked at room().
  Errc post(std::size_t lane, WorkRequest& wr, Work work, Step step) noexcept {
    Queue& q = queues_[lane][wr.qp];
    wr.id = pack({work, generation_, static_cast<std::uint8_t>(lane), wr.qp,
                  static_cast<std::uint16_t>((q.posted + 1) & sequence_mask),
                  static_cast<std::uint32_t>(step)});
    Errc const e = lanes_[lane].post(wr);
    if (e == Errc::ok) {
      ++q.posted;
      if (wr.signaled) q.signaled = q.posted;
      dirty_ = static_cast<std::uint8_t>(dirty_ | 1u << lane);
      if (work == Work::data || work == Work::chunk) bytes_posted_ += wr.length;
    }
    return e;
  }

  /// Posts a write of `bytes` from our block to the same place in the peer's. Inlined when it fits.
  Errc post_record(std::size_t lane, std::uint8_t qp, const void* record, std::size_t bytes,
                   Work work, Step step, bool signaled) noexcept {
    return post_record(lane, qp, record, mirror(record), bytes, work, step, signaled);
  }

  /// Posts what stands in control_out to the peer's control_in, on the lane's first queue.
  Errc post_control(std::size_t lane, std::size_t bytes, Work work, bool signaled) noexcept {
    return post_record(lane, 0, block_->control_out.data(), mirror(block_->control_in.data()),
                       bytes, work, 0, signaled);
  }

  /// Puts a frame where post_control() takes it from. Returns its bytes.
  std::size_t write_control_out(ControlFrame const& f) noexcept {
    return write_control(*reinterpret_cast<ControlRecord*>(block_->control_out.data()), f);
  }
  /// Sends a frame in band. One that finds no room is not missed: messages repeat.
  void send_control(ControlFrame const& f) noexcept {
    static_cast<void>(post_control(0, write_control_out(f), Work::control, sign_now(0, 0)));
    static_cast<void>(flush());
  }

  Errc post_record(std::size_t lane, std::uint8_t qp, const void* record, std::uint64_t to,
                   std::size_t bytes, Work work, Step step, bool signaled) noexcept {
    WorkRequest wr;
    wr.kind = WorkRequest::Kind::write;
    wr.traffic = work == Work::data || work == Work::chunk ? Traffic::data
                 : work == Work::cts                       ? Traffic::cts
                                                           : Traffic::control;
    wr.qp = qp;
    wr.signaled = signaled;
    wr.inlined = bytes <= static_cast<Limits>(T::limits).max_inline;
    wr.local = reinterpret_cast<std::uint64_t>(record);
    wr.length = bytes;
    wr.remote = to;
    wr.keys = {registrations_[lane].keys().local, remote_keys_[lane]};
    return post(lane, wr, work, step);
  }

  /// True every so often on a queue that only carries unsignaled records, so that it is retired.
  [[nodiscard]] bool sign_now(std::size_t lane, std::size_t qp) const noexcept {
    return ((queues_[lane][qp].posted + 1) & 31) == 0 || queues_[lane][qp].used() * 2 > send_depth_;
  }

  /// Reads a byte of `m` through a lane; its completion is Work::flush for `step`.
  Errc post_flush_read(std::size_t lane, Memory const& m, Keys keys, Step step) noexcept {
    return lanes_[lane].post_flush_read(
        m, keys,
        pack({Work::flush, generation_, static_cast<std::uint8_t>(lane), 0, 0,
              static_cast<std::uint32_t>(step)}));
  }

  /// Rings every lane that something was posted on.
  Errc flush() noexcept {
    Errc worst = Errc::ok;
    for (std::size_t i = 0; dirty_ != 0; ++i, dirty_ = static_cast<std::uint8_t>(dirty_ >> 1)) {
      if ((dirty_ & 1) != 0) {
        if (Errc const e = lanes_[i].flush(); e != Errc::ok) worst = e;
      }
    }
    return worst;
  }

  /// Fills every receive queue up to the notify window. Receives belong to QPs, not to steps.
  Errc fill_receives() noexcept {
    if (!receives_) return Errc::ok;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      for (std::uint8_t q = 0; q < qps_; ++q) {
        while (queues_[l][q].receives < window) {
          if (Errc const e = post_receive(l, q); e != Errc::ok) return e;
        }
      }
    }
    return Errc::ok;
  }

  // ---- Polling

  /// Takes what has finished, `handle(Arrival const&)` for each. Returns how many.
  template <class F>
  std::size_t poll(F&& handle) noexcept {
    std::size_t total = 0;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      std::array<Completion, 16> batch;
      std::size_t const n = lanes_[l].poll(batch);
      for (std::size_t i = 0; i < n; ++i) take(batch[i], handle);
      total += n;
    }
    return total;
  }

  /// Every completion that says something has come: of the signaled work, and of every receive.
  /// Whether unsignaled records went out before the queue was stopped is of no account.
  [[nodiscard]] bool accounted_for() const noexcept {
    for (auto const& lane : queues_) {
      for (Queue const& q : lane) {
        if (q.receives != 0 || q.waits()) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::uint64_t completions() const noexcept { return completions_; }
  [[nodiscard]] std::uint64_t stale() const noexcept { return stale_; }
  [[nodiscard]] std::uint64_t bytes_posted() const noexcept { return bytes_posted_; }

  // ---- Coming up and going down

  /// Describes every lane under a re-arm number, receives filled. would_block: ask again.
  Errc describe(std::uint16_t number, std::span<LaneAddress, max_lanes> out) noexcept {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (Errc const e = lanes_[l].describe(out[l]); e != Errc::ok) return e;
    }
    forget();
    generation_ = static_cast<std::uint16_t>(number & generation_mask);
    return fill_receives();
  }

  Errc connect(std::span<LaneAddress const, max_lanes> theirs) noexcept {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (Errc const e = lanes_[l].connect(theirs[l]); e != Errc::ok) return e;
    }
    return Errc::ok;
  }

  /// Asks every lane for a step of the fence. ok when all have it.
  Errc fence(FenceStep step) noexcept {
    Errc all = Errc::ok;
    for (T& l : lanes_) {
      Errc const e = l.fence(step);
      if (e == Errc::would_block && all == Errc::ok) all = e;
      if (e != Errc::ok && e != Errc::would_block) all = Errc::failed;
    }
    return all;
  }

  /// After RESET: what has not been accounted for is lost.
  void forget() noexcept {
    queues_ = {};
    dirty_ = 0;
  }

 private:
  struct Queue {
    std::uint16_t posted = 0;
    std::uint16_t completed = 0;
    std::uint16_t signaled = 0;  ///< `posted` of the last signaled work.
    std::uint16_t receives = 0;
    /// A signaled completion is still to come.
    [[nodiscard]] bool waits() const noexcept {
      auto const behind = static_cast<std::uint16_t>((signaled - completed) & sequence_mask);
      return behind != 0 && behind <= sequence_mask / 2;
    }
    [[nodiscard]] std::uint16_t used() const noexcept {
      return static_cast<std::uint16_t>((posted - completed) & sequence_mask);
    }
  };

  Errc post_receive(std::size_t l, std::uint8_t q) noexcept {
    Errc const e = lanes_[l].post_receive(
        q, pack({Work::receive, generation_, static_cast<std::uint8_t>(l), q, 0, 0}));
    if (e == Errc::ok) ++queues_[l][q].receives;
    return e;
  }

  template <class F>
  void take(Completion const& c, F& handle) noexcept {
    Arrival a{unpack_work(c.id), c.status, c.immediate};
    if (a.id.generation != generation_) {
      ++stale_;  // Of an earlier life of this path: belongs to nothing any more.
      return;
    }
    ++completions_;
    Queue& q = queues_[a.id.lane][a.id.qp];
    if (a.id.work == Work::receive) {
      --q.receives;
      if (c.status == Status::success) static_cast<void>(post_receive(a.id.lane, a.id.qp));
    } else if (a.id.work != Work::flush) {
      q.completed = a.id.sequence;
    }
    handle(static_cast<Arrival const&>(a));
  }

  Lanes<T> lanes_;
  std::array<std::array<Queue, max_qps>, max_lanes> queues_{};
  std::uint16_t generation_ = 0;
  std::uint16_t send_depth_ = 0;
  std::uint8_t qps_ = 1;
  bool receives_ = false;
  std::uint8_t dirty_ = 0;
  std::uint64_t completions_ = 0;
  std::uint64_t stale_ = 0;
  std::uint64_t bytes_posted_ = 0;
  std::uint64_t remote_ = 0;
  std::array<std::uint32_t, max_lanes> remote_keys_{};
  PathBlock* block_ = nullptr;
  std::array<PortId, max_lanes> ports_{};
  Lanes<typename T::Registration> registrations_;
};

}  // namespace vccl::detail
