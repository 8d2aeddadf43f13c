// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The steps that a sender has under way, and when each is released.

#include <vccl/detail/records.hpp>
#include <vccl/detail/send_requests.hpp>
#include <vccl/detail/send_step.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vccl::detail {

/// A window of steps with the sends that they carry. A step is completed, in order, when its parts
/// are acknowledged and, where the receiver's memory asks for that, confirmed.
///
/// Thread safety: one owner.
template <class ReleasePolicy>
class SendWindow {
 public:
  explicit SendWindow(Step first = 0) noexcept : done_{first}, next_{first}, confirmed_{first} {}

  /// The table of sends: add, ask, take results.
  [[nodiscard]] SendRequests& requests() noexcept { return requests_; }

  /// A signaled part of a step is acknowledged. What belongs to no step under way is ignored.
  [[gnu::always_inline]] void on_acknowledged(std::uint32_t step32) noexcept {
    Step const s = done_;
    if (step32 != static_cast<std::uint32_t>(s)) [[unlikely]]
      return on_later_acknowledged(step32);
    Slot& st = steps_[s % window];
    ++st.acked;  // Also when it is written in part only.
    Step const next = next_;
    if (st.acked < st.parts || s == next) return;
    if (st.special != 0 || !ReleasePolicy::on_acknowledgement(false)) [[unlikely]]
      return release();
    requests_.end(st.requests[0], Errc::ok, Delivered::yes);
    st.filled = 0;
    done_ = s + 1;
    // What went through other queues may have been acknowledged before.
    if (s + 1 != next && steps_[(s + 1) % window].acked != 0) release();
  }
  /// Not of the oldest step, so nothing is released.
  [[gnu::noinline]] void on_later_acknowledged(std::uint32_t step32) noexcept {
    if (step32 - static_cast<std::uint32_t>(done_) < window) ++steps_[step32 % window].acked;
  }

  /// The receiver has all below `position`, flushed.
  void on_confirmed(Step position) noexcept {
    if (ReleasePolicy::on_acknowledgement(true)) return;  // It waits for no confirmation.
    if (newer(position, confirmed_)) {
      confirmed_ = position;
      release();
    }
  }

  /// Something is acknowledged, and only the receiver's word for it is missing.
  [[nodiscard]] bool waits_for_confirmation() const noexcept {
    if (ReleasePolicy::on_acknowledgement(true) || done_ == next_) return false;
    Slot const& st = steps_[done_ % window];
    return st.acked >= st.parts && !released_by_acknowledgement(st);
  }

  [[nodiscard]] Step done() const noexcept { return done_; }
  [[nodiscard]] Step next() const noexcept { return next_; }
  [[nodiscard]] std::uint64_t bytes_on_wire() const noexcept {
    std::uint64_t n = 0;
    for (Step s = done_; s != next_; ++s) {
      Slot const& st = steps_[s % window];
      for (std::uint8_t r = 0; r < st.count; ++r) n += carried(st, r);
    }
    return n;
  }

 protected:
  using Slot = SendSlot;

  /// True once positions matter: some step has waited for one, or all do.
  [[nodiscard]] bool confirms() const noexcept {
    return !ReleasePolicy::on_acknowledgement(true) && confirms_;
  }

  /// Bytes of a receive that go over the wire: none of a send that is too long for it.
  [[nodiscard]] std::uint64_t carried(Slot const& st, std::uint8_t r) const noexcept {
    return (st.too_long >> r & 1) != 0 ? 0 : requests_[st.requests[r]].from.length;
  }

  /// Completes what is acknowledged, and confirmed where that is asked for, in order.
  [[gnu::noinline]] void release() noexcept {
    while (done_ != next_) {
      Slot const& st = steps_[done_ % window];
      // Also what the receiver has confirmed may be sent again by our NIC until it is acknowledged.
      if (st.acked < st.parts) return;
      if (!released_by_acknowledgement(st) && !newer(confirmed_, done_)) return;
      complete(Errc::ok, Delivered::yes);
    }
  }

  [[nodiscard]] static bool released_by_acknowledgement(Slot const& st) noexcept {
    return ReleasePolicy::on_acknowledgement((st.special & Slot::needs_confirm) != 0);
  }

  /// Ends the step at done_.
  [[gnu::noinline]] void complete(Errc error, Delivered delivered) noexcept {
    Slot& st = steps_[done_ % window];
    for (std::uint8_t r = 0; r < st.count; ++r) {
      bool const too_long = error == Errc::ok && (st.too_long >> r & 1) != 0;
      requests_.end(st.requests[r], too_long ? Errc::message_too_long : error,
                    too_long ? Delivered::no : delivered);
    }
    st.filled = 0;
    ++done_;
  }

  Step done_;       ///< Below: completed.
  Step next_;       ///< Next step to write.
  Step confirmed_;  ///< The receiver has all below, flushed.
  bool confirms_ = !ReleasePolicy::on_acknowledgement(false);
  std::array<Slot, window> steps_{};
  SendRequests requests_;
};

}  // namespace vccl::detail
