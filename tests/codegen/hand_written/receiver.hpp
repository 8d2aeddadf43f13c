// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The receiving end, written by hand.

#include <codegen/hand_written/end.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vccl::hand_written {

/// Announces steps of one to eight receives in order, and hands them over in order.
class Receiver : public End {
 public:
  using End::End;

  [[nodiscard]] Request irecv(std::span<RecvOp const> ops) noexcept {
    if (!open_) [[unlikely]]
      return {0, 0, Errc::closed};
    if (ops.empty() || ops.size() > max_receives) return {0, 0, Errc::invalid_argument};
    auto const slot = static_cast<std::uint32_t>(posted_ % window);
    Slot& st = steps_[slot];
    if (st.state != State::free) return {};
    st.total = 0;
    st.flushes = false;
    for (std::size_t r = 0; r < ops.size(); ++r) {
      RecvOp const& op = ops[r];
      if (op.into.length != 0) {
        if (op.into.keys == nullptr) return {0, 0, Errc::invalid_argument};
        if (op.into.kind == MemoryKind::device) st.flushes = true;
      }
      st.ops[r] = op;
      st.total += op.into.length;
    }
    st.state = State::posted;
    st.count = static_cast<std::uint8_t>(ops.size());
    st.parts = 0;
    st.arrived = 0;
    st.too_long = 0;
    ++posted_;
    announce();
    return {slot, st.generation, Errc::ok};
  }

  [[nodiscard]] Result test(Request r) noexcept {
    if (r.slot >= window) [[unlikely]]
      return {.done = true, .error = Errc::invalid_argument};
    Slot& st = steps_[r.slot];
    if (st.generation != r.generation || st.state == State::free) [[unlikely]]
      return {.done = true, .error = Errc::invalid_argument};
    if (st.state != State::done) progress();
    if (st.state != State::done) return {};
    Result out{.done = true, .error = st.error, .receives = st.count};
    for (std::uint8_t i = 0; i < st.count; ++i) out.sizes[i] = st.sizes[i];
    st.state = State::free;
    st.error = Errc::ok;
    if (++st.generation == 0) st.generation = 1;
    return out;
  }

 private:
  enum class State : std::uint8_t { free, posted, flushing, arrived, done };

  struct Slot {
    State state = State::free;
    Errc error = Errc::ok;
    std::uint8_t count = 0;
    std::uint8_t parts = 0;
    std::uint8_t arrived = 0;  ///< Bit per part.
    std::uint8_t too_long = 0;
    std::uint8_t flushing = 0;  ///< Flush reads under way.
    bool flushes = false;
    std::uint32_t generation = 1;
    std::uint64_t total = 0;
    std::array<RecvOp, max_receives> ops{};
    std::array<std::uint64_t, max_receives> sizes{};
  };

  [[gnu::always_inline]] void progress() noexcept {
    if (!open_) [[unlikely]]
      return;
    std::size_t const n = lane_.poll(batch_);
    for (std::size_t i = 0; i < n; ++i) {
      Completion const& c = batch_[i];
      if (c.status != Status::success) [[unlikely]]
        return fail();
      Work const work = work_of(c.id);
      if (work == Work::receive) {
        if (post_receive(qp_of(c.id)) != Errc::ok || !on_notify(c.immediate)) [[unlikely]]
          return fail();
      } else if (work == Work::flush) {
        on_flushed(step_of(c.id));
      } else {
        retire(c.id);
      }
    }
    if (announced_ != posted_) announce();
  }

  /// Tells the sender of every step that it does not know, as far as there is room.
  [[gnu::noinline]] void announce() noexcept {
    for (; announced_ != posted_; ++announced_) {
      auto const qp = static_cast<std::uint8_t>(announced_ % qps_);
      if (room(qp) < 1) break;
      Slot const& st = steps_[announced_ % window];
      detail::CtsSlot& out = rings_.cts[announced_ % window];
      for (std::uint8_t r = 0; r < st.count; ++r) {
        Memory const& into = st.ops[r].into;
        CtsElement e{.step = announced_,
                     .address = into.address,
                     .length = into.length,
                     .confirmed = received_,
                     .tag = st.ops[r].tag,
                     .epoch = epoch,
                     .count = st.count,
                     .index = r,
                     .needs_confirm = st.flushes};
        if (into.keys != nullptr) e.keys = {(*into.keys)[0][0].remote, 0};
        detail::write_cts(out.elements[r], e);
      }
      Errc const e = post_record(qp, &out, st.count * sizeof(CtsElement), Traffic::cts, announced_,
                                 sign_now(qp));
      if (e != Errc::ok) [[unlikely]] {
        if (e != Errc::would_block) return fail();
        break;
      }
    }
    if (ring_doorbell() != Errc::ok) [[unlikely]]
      fail();
  }

  /// A part has arrived. False when it cannot be.
  [[nodiscard, gnu::always_inline]] bool on_notify(std::uint32_t immediate) noexcept {
    Notify const n = detail::unpack(immediate);
    Step const s =
        received_ + static_cast<std::uint16_t>(n.step - static_cast<std::uint16_t>(received_));
    if (n.epoch != epoch || s >= announced_ || n.part >= qps_) return false;
    Slot& st = steps_[s % window];
    if ((st.arrived >> n.part & 1) != 0) return false;
    st.arrived = static_cast<std::uint8_t>(st.arrived | 1u << n.part);
    if (n.exact) {
      st.parts = detail::parts_of(st.total, qps_);
      for (std::uint8_t r = 0; r < st.count; ++r) st.sizes[r] = st.ops[r].into.length;
    } else if (n.part == 0 && !read_sizes(st, s)) {
      return false;
    }
    // Parts of inexact steps may come before the first, which says how many there are.
    if (st.arrived != static_cast<std::uint8_t>((1u << st.parts) - 1) || st.parts == 0) return true;
    if (st.flushes) return flush(st, s);
    st.state = State::arrived;
    advance();
    return true;
  }

  [[nodiscard, gnu::noinline]] bool read_sizes(Slot& st, Step s) noexcept {
    std::size_t const n = detail::size_elements(st.count);
    for (std::size_t i = 0; i < n; ++i) {
      auto const e = detail::load_record<SizeElement>(&rings_.sizes[s % window].elements[i]);
      if (e.check != detail::check_of(e) || e.step != s || e.epoch != epoch ||
          e.count != st.count || e.parts == 0)
        return false;
      st.parts = e.parts;
      st.too_long = e.too_long;
      for (std::size_t k = 0, r = i * e.per_element; k < e.per_element && r < st.count; ++k, ++r)
        st.sizes[r] = e.sizes[k];
    }
    return true;
  }

  /// Reads back what lies behind a bus.
  [[nodiscard, gnu::noinline]] bool flush(Slot& st, Step s) noexcept {
    st.state = State::flushing;
    st.flushing = 0;
    for (std::uint8_t r = 0; r < st.count; ++r) {
      Memory const& m = st.ops[r].into;
      bool const written = st.sizes[r] != 0 && (st.too_long >> r & 1) == 0;
      if (m.kind != MemoryKind::device || !written) continue;
      if (lane_.post_flush_read(m, (*m.keys)[0][0], id(Work::flush, 0, 0, s)) != Errc::ok)
        return false;
      ++st.flushing;
    }
    if (st.flushing == 0) st.state = State::arrived;
    advance();
    return true;
  }

  void on_flushed(std::uint32_t step32) noexcept {
    Slot& st = steps_[step32 % window];
    if (--st.flushing != 0) return;
    st.state = State::arrived;
    advance();
  }

  [[gnu::always_inline]] void advance() noexcept {
    for (; received_ != announced_; ++received_) {
      Slot& st = steps_[received_ % window];
      if (st.state != State::arrived) return;
      st.state = State::done;
      if (st.too_long != 0) st.error = Errc::message_too_long;
    }
  }

  [[gnu::noinline]] void fail() noexcept {
    open_ = false;
    for (; received_ != posted_; ++received_) {
      Slot& st = steps_[received_ % window];
      st.state = State::done;
      st.error = Errc::aborted;
    }
  }

  Step posted_ = 0;     ///< Next to post.
  Step announced_ = 0;  ///< Next to tell the sender of.
  Step received_ = 0;   ///< Below: received, in order.
  std::array<Slot, window> steps_{};
};

}  // namespace vccl::hand_written
