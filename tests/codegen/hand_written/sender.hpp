// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sending end, written by hand.

#include <codegen/hand_written/end.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vccl::hand_written {

/// Sends meet the receives of their tag in order of posting; a full step is written and notified.
class Sender : public End {
 public:
  using End::End;

  [[nodiscard]] Request isend(Memory const& from, Tag tag = Tag{}) noexcept {
    if (!open_) [[unlikely]]
      return {0, 0, Errc::closed};
    if (from.length != 0 && from.keys == nullptr) return {0, 0, Errc::invalid_argument};
    if (free_ == none) return {};
    std::uint16_t const i = free_;
    Entry& e = entries_[i];
    free_ = e.next;
    e.from = from;
    e.tag = tag;
    e.state = State::posted;
    e.next = none;
    (tail_ == none ? head_ : entries_[tail_].next) = i;
    tail_ = i;
    Request const r{i, e.generation, Errc::ok};
    push();
    return r;
  }

  [[nodiscard]] Result test(Request r) noexcept {
    if (r.slot >= max_requests) [[unlikely]]
      return {.done = true, .error = Errc::invalid_argument};
    Entry& e = entries_[r.slot];
    if (e.generation != r.generation || e.state == State::free) [[unlikely]]
      return {.done = true, .error = Errc::invalid_argument};
    if (e.state != State::done) progress();
    if (e.state != State::done) return {};
    Result out{.done = true, .error = e.error, .delivered = e.delivered};
    out.sizes[0] = e.from.length;
    e.state = State::free;
    if (++e.generation == 0) e.generation = 1;
    e.next = free_;
    free_ = static_cast<std::uint16_t>(r.slot);
    return out;
  }

 private:
  static constexpr std::size_t max_requests = 256;
  static constexpr std::uint16_t none = 0xffff;
  enum class State : std::uint8_t { free, posted, done };

  struct Entry {
    Memory from;
    Tag tag{};
    std::uint32_t generation = 1;
    std::uint16_t next = none;
    State state = State::free;
    Errc error = Errc::ok;
    Delivered delivered = Delivered::unknown;
  };

  struct Target {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint32_t key = 0;
    Tag tag{};
  };

  struct Slot {
    std::array<std::uint16_t, max_receives> requests{};
    std::uint8_t count = 0;
    std::uint8_t parts = 0;
    std::uint8_t acked = 0;
    std::uint8_t too_long = 0;
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
      if (work == Work::receive) continue;  // Nobody notifies a sender.
      retire(c.id);
      if (work == Work::notify) acknowledge(step_of(c.id));
    }
    if (matched_ || head_ != none) push();
  }

  /// Writes every step whose receives are known and whose sends are there.
  [[gnu::noinline]] void push() noexcept {
    while (matched_ || (head_ != none && match())) {
      Errc const e = write();
      if (e != Errc::ok) [[unlikely]] {
        if (e != Errc::would_block) return fail();
        break;
      }
      ++next_;
      known_ = matched_ = false;
    }
    if (ring_doorbell() != Errc::ok) [[unlikely]]
      fail();
  }

  /// Learns where the receives of the next step are.
  [[nodiscard, gnu::always_inline]] bool learn(Slot& st) noexcept {
    std::size_t r = 0;
    do {
      CtsElement cts;
      if (!detail::read_cts(rings_.cts[next_ % window].elements[r], next_, r, epoch, cts))
        return false;
      if (r == 0) {
        // The receiver may be a window ahead of what is acknowledged: then the slot is still taken.
        if (next_ - done_ >= window) return false;
        st.count = cts.count;
        st.too_long = 0;
      }
      targets_[r] = {cts.address, cts.length, cts.keys[0], cts.tag};
    } while (++r < st.count);
    filled_ = 0;
    return known_ = true;
  }

  /// Gives sends to the receives of the next step. True when all have theirs.
  [[nodiscard, gnu::always_inline]] bool match() noexcept {
    Slot& st = steps_[next_ % window];
    if (!known_ && !learn(st)) return false;
    for (std::uint8_t r = 0; r < st.count; ++r) {
      if ((filled_ >> r & 1) == 0) take_send(st, r);
    }
    matched_ = filled_ == static_cast<std::uint8_t>((1u << st.count) - 1);
    return matched_;
  }

  [[gnu::always_inline]] void take_send(Slot& st, std::uint8_t r) noexcept {
    std::uint16_t before = none;
    std::uint16_t i = head_;
    while (i != none && entries_[i].tag != targets_[r].tag) {
      before = i;
      i = entries_[i].next;
    }
    if (i == none) return;
    (before == none ? head_ : entries_[before].next) = entries_[i].next;
    if (tail_ == i) tail_ = before;
    st.requests[r] = i;
    filled_ = static_cast<std::uint8_t>(filled_ | 1u << r);
    if (entries_[i].from.length > targets_[r].length)
      st.too_long = static_cast<std::uint8_t>(st.too_long | 1u << r);
  }

  /// Bytes of a receive that go over the wire: none of a send that is too long for it.
  [[nodiscard]] std::uint64_t carried(Slot const& st, std::uint8_t r) const noexcept {
    return (st.too_long >> r & 1) != 0 ? 0 : entries_[st.requests[r]].from.length;
  }

  [[gnu::always_inline]] Errc write() noexcept {
    Slot& st = steps_[next_ % window];
    if (st.count == 1 && st.too_long == 0) {
      std::uint64_t const bytes = entries_[st.requests[0]].from.length;
      if (bytes <= max_message_ && detail::parts_of(bytes, qps_) == 1) return write_one(st, bytes);
    }
    return write_any(st);
  }

  /// The common step: one receive, one part, one write.
  [[gnu::always_inline]] Errc write_one(Slot& st, std::uint64_t bytes) noexcept {
    auto const qp = static_cast<std::uint8_t>(next_ % qps_);
    if (room(qp) < 2) return Errc::would_block;
    st.parts = 1;
    st.acked = 0;
    bool const exact = bytes == targets_[0].length;
    if (!exact) {
      if (Errc const e = write_sizes(st, qp); e != Errc::ok) return e;
    }
    return write_data(st, 0, qp, 0, bytes, true, {1, static_cast<std::uint16_t>(next_), 0, exact});
  }

  /// Any step: several receives, parts, and writes per part. All of it, or nothing for want of
  /// room.
  [[gnu::noinline]] Errc write_any(Slot& st) noexcept {
    std::uint64_t bytes = 0;
    std::size_t writes = 1;
    bool exact = true;
    for (std::uint8_t r = 0; r < st.count; ++r) {
      std::uint64_t const n = carried(st, r);
      bytes += n;
      writes += 1 + (n > max_message_ ? n / max_message_ : 0);
      exact = exact && n == targets_[r].length;
    }
    exact = exact && st.too_long == 0;
    st.parts = detail::parts_of(bytes, qps_);
    st.acked = 0;
    auto const first = static_cast<std::uint8_t>(next_ % qps_);
    for (std::uint8_t part = 0; part < st.parts; ++part) {
      if (room(static_cast<std::uint8_t>((first + part) % qps_)) < writes) return Errc::would_block;
    }
    if (!exact) {
      if (Errc const e = write_sizes(st, first); e != Errc::ok) return e;
    }
    for (std::uint8_t part = 0; part < st.parts; ++part) {
      Notify const notify{1, static_cast<std::uint16_t>(next_), part, exact};
      auto const qp = static_cast<std::uint8_t>((first + part) % qps_);
      if (Errc const e = write_part(st, part, qp, notify); e != Errc::ok) return e;
    }
    return Errc::ok;
  }

  /// Every receive's share of a part; the last write that has bytes notifies.
  [[gnu::always_inline]] Errc write_part(Slot const& st, std::uint8_t part, std::uint8_t qp,
                                         Notify notify) noexcept {
    std::array<std::uint64_t, max_receives> from, to;
    std::uint8_t last = 0;
    for (std::uint8_t r = 0; r < st.count; ++r) {
      std::uint64_t const n = carried(st, r);
      std::uint64_t const stride = detail::part_stride(n, st.parts);
      from[r] = part * stride < n ? part * stride : n;
      to[r] = from[r] + stride < n ? from[r] + stride : n;
      if (from[r] != to[r]) last = r;
    }
    for (std::uint8_t r = 0; r < last; ++r) {
      while (from[r] != to[r]) {
        std::uint64_t const n = to[r] - from[r] < max_message_ ? to[r] - from[r] : max_message_;
        if (Errc const e = write_data(st, r, qp, from[r], n, false, {}); e != Errc::ok) return e;
        from[r] += n;
      }
    }
    while (to[last] - from[last] > max_message_) {
      if (Errc const e = write_data(st, last, qp, from[last], max_message_, false, {});
          e != Errc::ok)
        return e;
      from[last] += max_message_;
    }
    return write_data(st, last, qp, from[last], to[last] - from[last], true, notify);
  }

  [[gnu::always_inline]] Errc write_data(Slot const& st, std::uint8_t r, std::uint8_t qp,
                                         std::uint64_t offset, std::uint64_t bytes, bool notifies,
                                         Notify notify) noexcept {
    Memory const& from = entries_[st.requests[r]].from;
    WorkRequest wr;
    wr.qp = qp;
    wr.local = from.address + offset;
    wr.length = bytes;
    wr.remote = targets_[r].address + offset;
    wr.keys = {from.keys != nullptr ? (*from.keys)[0][0].local : 0, targets_[r].key};
    if (notifies) {
      wr.kind = WorkRequest::Kind::write_with_immediate;
      wr.immediate = detail::pack(notify);
    } else {
      wr.signaled = sign_now(qp);
    }
    return post(wr, notifies ? Work::notify : Work::record, next_);
  }

  [[gnu::noinline]] Errc write_sizes(Slot const& st, std::uint8_t qp) noexcept {
    detail::SizeSlot& out = rings_.sizes[next_ % window];
    std::size_t const n = detail::size_elements(st.count);
    for (std::size_t i = 0; i < n; ++i) {
      SizeElement e;
      e.step = next_;
      e.epoch = epoch;
      e.parts = st.parts;
      e.count = st.count;
      e.too_long = st.too_long;
      for (std::size_t k = 0, r = i * e.per_element; k < e.per_element && r < st.count; ++k, ++r)
        e.sizes[k] = entries_[st.requests[r]].from.length;
      e.check = detail::check_of(e);
      out.elements[i] = e;
    }
    return post_record(qp, &out, n * sizeof(SizeElement), Traffic::data, next_, false);
  }

  /// A part of a step is with the peer. Steps complete in order.
  [[gnu::always_inline]] void acknowledge(std::uint32_t step32) noexcept {
    ++steps_[step32 % window].acked;
    for (; done_ != next_; ++done_) {
      Slot const& st = steps_[done_ % window];
      if (st.acked != st.parts) return;
      for (std::uint8_t r = 0; r < st.count; ++r) {
        bool const too_long = (st.too_long >> r & 1) != 0;
        end(entries_[st.requests[r]], too_long ? Errc::message_too_long : Errc::ok,
            too_long ? Delivered::no : Delivered::yes);
      }
    }
  }

  [[gnu::always_inline]] static void end(Entry& e, Errc error, Delivered delivered) noexcept {
    e.state = State::done;
    e.error = error;
    e.delivered = delivered;
  }

  /// Nothing goes on: what is not done will not be.
  [[gnu::noinline]] void fail() noexcept {
    open_ = false;
    for (Entry& e : entries_) {
      if (e.state == State::posted) end(e, Errc::aborted, Delivered::unknown);
    }
  }

  Step done_ = 0;            ///< Below: completed.
  Step next_ = 0;            ///< Next to write.
  bool known_ = false;       ///< Of step next_: targets_ are its.
  bool matched_ = false;     ///< Of step next_: every receive has its send.
  std::uint8_t filled_ = 0;  ///< Of step next_: bit per receive that has its send.
  std::uint16_t head_ = none;
  std::uint16_t tail_ = none;
  std::uint16_t free_ = 0;
  std::array<Target, max_receives> targets_{};  ///< Of step next_.
  std::array<Slot, window> steps_{};
  std::array<Entry, max_requests> entries_ = [] {
    std::array<Entry, max_requests> all{};
    for (std::size_t i = 0; i + 1 < max_requests; ++i)
      all[i].next = static_cast<std::uint16_t>(i + 1);
    return all;
  }();
};

}  // namespace vccl::hand_written
