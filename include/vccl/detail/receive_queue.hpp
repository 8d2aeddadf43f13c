// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The receiver's data: posted receives, their CTS, the parts that have arrived, flushes, the
/// position.

#include <vccl/detail/path.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vccl::detail {

/// One to eight receives form a step. Steps are announced in order, arrive in any order, and are
/// handed over in order. Knows nothing of failures but rewind() and finish().
///
/// Thread safety: one owner.
class ReceiveQueue {
 public:
  explicit ReceiveQueue(Step first = 0) noexcept
      : posted_{first},
        announced_{first},
        received_{first},
        confirmed_{first},
        flushed_until_{first} {}

  /// Posts a step. would_block in `why` when the window is full: test() what is done, call again.
  [[nodiscard]] Request add(std::span<RecvOp const> ops) noexcept {
    if (ops.empty() || ops.size() > max_receives) return {0, 0, Errc::invalid_argument};
    auto const slot = static_cast<std::uint32_t>(posted_ % window);
    Slot& st = steps_[slot];
    if (st.state != State::free) return {};
    st.flushes = false;
    st.total = 0;
    for (std::size_t r = 0; r < ops.size(); ++r) {
      Memory const& into = ops[r].into;
      if (into.length != 0) {
        if (into.keys == nullptr) return {0, 0, Errc::invalid_argument};
        if (into.kind == MemoryKind::device) st.flushes = true;
      }
      st.ops[r] = ops[r];
      st.total += into.length;
    }
    st.count = static_cast<std::uint8_t>(ops.size());
    st.state = State::posted;
    st.error = Errc::ok;
    forget_arrivals(st);
    ++posted_;
    return {slot, st.generation, Errc::ok};
  }

  /// False when announce() and pump_flushes() would find nothing to do.
  [[nodiscard]] bool may_announce() const noexcept { return announced_ != posted_ || flushing_; }

  /// Writes the CTS of every step that has none in this epoch. ok also when there is no room now.
  template <class P>
  [[gnu::always_inline]] Errc announce(P& path, Epoch epoch) noexcept {
    while (announced_ != posted_) {
      Step const step = announced_;
      auto& queue = path.queue_of(step);
      if (!path.has_room(queue, 1)) return Errc::ok;
      bool const signaled = path.sign_now(queue);
      Slot const& st = steps_[step % window];
      std::uint8_t const count = st.count;
      CtsSlot& out = path.block().cts[step % window];
      for (std::uint8_t r = 0; r < count; ++r) {
        Memory const& into = st.ops[r].into;
        CtsElement e{.step = step,
                     .address = into.address,
                     .length = into.length,
                     .confirmed = received_,
                     .tag = st.ops[r].tag,
                     .epoch = epoch,
                     .count = count,
                     .index = r,
                     .needs_confirm = st.flushes};
        if (into.keys != nullptr) {
          e.keys = path.lane_count() == 1 ? LaneKeys{queue.keys_of(*into.keys).remote, 0}
                                          : LaneKeys{(*into.keys)[path.id()]};
        }
        write_cts(out.elements[r], e);
      }
      Errc const e =
          path.post_record(queue, &out, count * sizeof(CtsElement), Work::cts, step, signaled);
      if (e != Errc::ok) return e == Errc::would_block ? Errc::ok : e;
      confirmed_ = received_;
      ++announced_;
    }
    return Errc::ok;
  }

  /// A notify arrived. ok, or failed when it is one that cannot be.
  template <class P>
  [[gnu::always_inline]] Errc on_notify(P& path, Epoch epoch, std::uint32_t immediate) noexcept {
    Notify const n = unpack(immediate);
    if (n.epoch != static_cast<std::uint8_t>(epoch)) return Errc::failed;
    auto const ahead = static_cast<std::uint16_t>(n.step - static_cast<std::uint16_t>(received_));
    if (ahead >= announced_ - received_ || n.part >= path.queue_count()) return Errc::failed;
    Step const s = received_ + ahead;
    Slot& st = steps_[s % window];
    if ((st.arrived >> n.part & 1) != 0) return Errc::failed;
    st.arrived = static_cast<std::uint16_t>(st.arrived | 1u << n.part);
    if (n.exact) {
      st.parts = parts_of(st.total, path.queue_count());
      st.exact = true;
    } else if (n.part == 0 && !read_sizes(path, s, epoch, st)) {
      return Errc::failed;
    }
    if (st.parts == 1 ? st.arrived != 1 : st.parts == 0 || st.arrived != (1u << st.parts) - 1)
      return st.parts != 0 && st.arrived >> st.parts != 0 ? Errc::failed : Errc::ok;
    if (st.flushes) {
      st.state = State::flushing;
      st.flush_next = 0;
      flushing_ = true;  // pump_flushes() comes with the next doorbell.
      return Errc::ok;
    }
    st.state = State::arrived;
    advance();
    return Errc::ok;
  }

  /// Posts the flush reads that had no room. Each goes through the lane that carried the data.
  template <class P>
  [[gnu::always_inline]] Errc pump_flushes(P& path) noexcept {
    if (!flushing_) [[likely]]
      return Errc::ok;
    return pump_all_flushes(path);
  }
  template <class P>
  [[gnu::noinline]] Errc pump_all_flushes(P& path) noexcept {
    flushing_ = false;
    for (Step s = received_; s != announced_; ++s) {
      Slot& st = steps_[s % window];
      if (st.state != State::flushing) continue;
      std::size_t const all = path.lane_count() * st.count;
      for (; st.flush_next < all; ++st.flush_next) {
        std::size_t const lane = st.flush_next / st.count;
        std::size_t const r = st.flush_next % st.count;
        Memory const& m = st.ops[r].into;
        bool const written = size_of(st, r) != 0 && (st.too_long >> r & 1) == 0;
        if (m.kind != MemoryKind::device || !written || !lane_carried(path, s, st, lane)) continue;
        Errc const e = path.post_flush_read(lane, m, (*m.keys)[path.id()][lane], s);
        if (e == Errc::would_block) {
          flushing_ = true;
          advance();  // What is done waits for nobody's room.
          return Errc::ok;
        }
        if (e != Errc::ok) return e;
        ++st.flushing;
      }
      if (st.flushing == 0) st.state = State::arrived;  // Nothing but empty receives.
    }
    advance();
    return Errc::ok;
  }

  /// A flush read of a step is done.
  void on_flushed(std::uint32_t step32) noexcept {
    Step const s =
        received_ + static_cast<std::uint32_t>(step32 - static_cast<std::uint32_t>(received_));
    if (s - received_ >= announced_ - received_) return;
    Slot& st = steps_[s % window];
    if (st.state != State::flushing || st.flushing == 0) return;
    ++flush_reads_;
    if (--st.flushing == 0 && !flushing_) {
      st.state = State::arrived;
      advance();
    }
  }

  /// What is not received counts as nothing: it will be announced and sent again.
  void rewind() noexcept {
    for (Step s = received_; s != posted_; ++s) {
      steps_[s % window].state = State::posted;
      forget_arrivals(steps_[s % window]);
    }
    announced_ = received_;
    flushing_ = false;
  }

  /// What is not received ends with `error`. What comes afterwards is of no step: failed.
  void finish(Errc error) noexcept {
    for (Step s = received_; s != posted_; ++s) {
      steps_[s % window].state = State::done;
      steps_[s % window].error = error;
      steps_[s % window].exact = false;
      steps_[s % window].sizes = {};
    }
    announced_ = posted_ = received_;
    flushing_ = false;
  }

  [[nodiscard]] bool knows(Request r) const noexcept {
    return r.slot < window && steps_[r.slot].generation == r.generation &&
           steps_[r.slot].state != State::free;
  }
  [[nodiscard]] bool is_done(Request r) const noexcept {
    return steps_[r.slot].state == State::done;
  }

  /// Reports a step that is_done() and frees it.
  [[nodiscard]] Result take(Request r) noexcept {
    Slot& st = steps_[r.slot];
    Result out;
    out.done = true;
    out.error = st.error;
    out.receives = st.count;
    if (st.exact) [[likely]] {
      for (std::uint8_t i = 0; i < st.count; ++i) out.sizes[i] = st.ops[i].into.length;
    } else {
      for (std::uint8_t i = 0; i < st.count; ++i) out.sizes[i] = st.sizes[i];
    }
    if (st.error == Errc::ok && st.too_long != 0) out.error = Errc::message_too_long;
    st.state = State::free;
    st.error = Errc::ok;
    st.generation = st.generation + 1 == 0 ? 1 : st.generation + 1;
    return out;
  }

  [[nodiscard]] Step posted() const noexcept { return posted_; }
  [[nodiscard]] Step announced() const noexcept { return announced_; }
  [[nodiscard]] Step received() const noexcept { return received_; }
  /// There is a CTS out that no data has answered.
  [[nodiscard]] bool waits() const noexcept { return received_ != posted_; }
  /// True once when the sender waits for a confirmation that no CTS has carried. `of_all`: it waits
  /// for those of steps that needed no flush as well.
  [[nodiscard]] bool confirm_due(bool of_all) noexcept {
    bool const due = newer(of_all ? received_ : flushed_until_, confirmed_);
    confirmed_ = received_;
    return due;
  }
  [[nodiscard]] std::uint64_t flush_reads() const noexcept { return flush_reads_; }

 private:
  enum class State : std::uint8_t { free, posted, flushing, arrived, done };

  struct Slot {
    // What a new step begins with stands together, so that it is one store.
    State state = State::free;
    Errc error = Errc::ok;
    std::uint8_t parts = 0;  ///< 0: not known yet.
    std::uint8_t too_long = 0;
    std::uint8_t flushing = 0;  ///< Flush reads under way.
    bool exact = false;         ///< Every receive got what was posted; `sizes` say nothing.
    std::uint16_t arrived = 0;  ///< Bit per part.
    std::uint8_t count = 0;
    std::uint8_t flush_next = 0;  ///< Next (lane, receive) to flush.
    bool flushes = false;
    std::uint32_t generation = 1;
    std::uint64_t total = 0;  ///< Bytes posted.
    std::array<RecvOp, max_receives> ops{};
    std::array<std::uint64_t, max_receives> sizes{};
  };

  static std::uint64_t size_of(Slot const& st, std::size_t r) noexcept {
    return st.exact ? st.ops[r].into.length : st.sizes[r];
  }

  static void forget_arrivals(Slot& st) noexcept {
    st.parts = 0;
    st.too_long = 0;
    st.flushing = 0;
    st.exact = false;
    st.arrived = 0;
  }

  template <class P>
  [[gnu::noinline]] static bool read_sizes(P& path, Step s, Epoch epoch, Slot& st) noexcept {
    SizeSlot const& in = path.block().sizes[s % window];
    for (std::size_t i = 0; i < size_elements(st.count); ++i) {
      auto const e = load_record<SizeElement>(&in.elements[i]);
      if (e.check != check_of(e) || e.step != s || e.epoch != epoch || e.count != st.count ||
          e.parts == 0 || e.parts > path.queue_count())
        return false;
      st.parts = e.parts;
      st.too_long = e.too_long;
      for (std::size_t k = 0;
           k < SizeElement::per_element && i * SizeElement::per_element + k < st.count; ++k) {
        st.sizes[i * SizeElement::per_element + k] = e.sizes[k];
      }
    }
    return true;
  }

  /// Did any part of step `s` travel on this lane.
  template <class P>
  static bool lane_carried(P& path, Step s, Slot const& st, std::size_t lane) noexcept {
    for (std::uint8_t k = 0; k < st.parts; ++k) {
      if (path.queue_of(s + k).lane == lane) return true;
    }
    return false;
  }

  /// Hands over, in order, what has arrived.
  [[gnu::always_inline]] void advance() noexcept {
    while (received_ != announced_) {
      Slot& st = steps_[received_ % window];
      if (st.state != State::arrived) return;
      st.state = State::done;
      if (st.flushes) flushed_until_ = received_ + 1;
      ++received_;
    }
  }

  Step posted_;            ///< Next step to post.
  Step announced_;         ///< Next step to write a CTS for.
  Step received_;          ///< Below: received, in order.
  Step confirmed_;         ///< Position that the sender was last told.
  Step flushed_until_;     ///< Steps below needed a flush, and the sender may wait for word of it.
  bool flushing_ = false;  ///< Some flush read is still to be posted.
  std::uint64_t flush_reads_ = 0;
  std::array<Slot, window> steps_{};
};

}  // namespace vccl::detail
