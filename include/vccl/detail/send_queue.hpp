// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sender's data: posted sends, their meeting with CTS, the steps on the wire, their release.

#include <vccl/detail/path.hpp>
#include <vccl/detail/send_window.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vccl::detail {

/// Sends wait in posting order for the step whose receives ask for their tag; a full step is
/// written and notified. Knows nothing of failures but rewind() and finish().
///
/// Thread safety: one owner.
template <class ReleasePolicy>
class SendQueue : public SendWindow<ReleasePolicy> {
  using Window = SendWindow<ReleasePolicy>;
  using Window::carried;
  using Window::complete;
  using Window::confirmed_;
  using Window::confirms;
  using Window::confirms_;
  using Window::done_;
  using Window::next_;
  using Window::requests_;
  using Window::steps_;

 public:
  using Window::on_confirmed;

  explicit SendQueue(Step first = 0) noexcept : Window{first}, matched_{first}, high_{first} {}

  /// Largest write on any path: parts never need another split after a switch.
  void set_max_message(std::uint64_t bytes) noexcept { max_message_ = bytes; }

  /// False when pump() would find nothing to do.
  [[nodiscard]] bool may_pump() const noexcept {
    return requests_.any_queued() || next_ != matched_;
  }

  /// Writes every step that has its CTS and its sends. ok: nothing more to do now, or no room.
  template <class P>
  [[gnu::always_inline]] Errc pump(P& path, Epoch epoch) noexcept {
    while (may_pump() && (known_ || learn(path, epoch)) && (next_ != matched_ || match())) {
      Errc const e = write(path, epoch);
      if (e != Errc::ok) [[unlikely]]
        return e == Errc::would_block ? Errc::ok : e;
      ++next_;
      known_ = false;
    }
    return Errc::ok;
  }

  /// Writes the rest of the step that it has begun, and no other.
  template <class P>
  Errc finish_step(P& path, Epoch epoch) noexcept {
    Errc const e = write(path, epoch);
    if (e == Errc::ok) ++next_;
    known_ = e != Errc::ok;
    return e;
  }

  /// The newest CTS confirms most, although nothing is queued to answer it.
  template <class P>
  void look_for_confirmation(P& path, Epoch epoch) noexcept {
    on_confirmed(newest_confirmed(path.block().cts, next_, epoch, confirmed_));
  }

  /// Completes steps below `position`, and goes on sending at `resume`.
  void rewind(Step position, Step resume) noexcept {
    Step const until = newer(resume, position) ? position : resume;
    while (newer(until, done_) && done_ != next_) complete(Errc::ok, Delivered::yes);
    for (Step s = resume; newer(next_, s); ++s) steps_[s % window].acked = 0;
    if (newer(next_, high_)) high_ = next_;
    next_ = resume;
    known_ = false;  // Another path has other keys, and tells them again.
    cursor_ = {};
  }

  /// Nothing will go on: the rest ends with `error`. `position`: what the receiver has, at least.
  void finish(Errc error, Step position, bool final_position) noexcept {
    // A position beyond what was sent is none: it is 0 while the receiver has not been heard.
    Step const has = position - done_ <= next_ - done_ ? position : done_;
    while (done_ != has) complete(Errc::ok, Delivered::yes);
    Delivered const sent = final_position ? Delivered::no : Delivered::unknown;
    Step const written = newer(high_, next_) ? high_ : next_;
    while (done_ != matched_) complete(error, newer(written, done_) ? sent : Delivered::no);
    Slot& partial = steps_[matched_ % window];
    for (std::size_t r = 0; r < max_receives; ++r) {
      if ((partial.filled >> r & 1) != 0) requests_.end(partial.requests[r], error, Delivered::no);
    }
    partial.filled = 0;
    requests_.end_queued(error);
    done_ = next_ = matched_ = has;  // What failed is not done: the peer is still told.
    cursor_ = {};
  }

  /// Below: acknowledged by the NIC, released or not.
  [[nodiscard]] Step acknowledged() const noexcept {
    Step s = done_;
    while (s != next_ && steps_[s % window].acked >= steps_[s % window].parts) ++s;
    return s;
  }
  [[nodiscard]] bool at_step_boundary() const noexcept { return !cursor_.begun; }
  /// All that was written is acknowledged (and confirmed, where that is asked for).
  [[nodiscard]] bool all_released() const noexcept { return done_ == next_ && !cursor_.begun; }
  /// There is a send that waits for a CTS, for the others of its step, or for its acknowledgement.
  [[nodiscard]] bool waits() const noexcept {
    return requests_.any_queued() || done_ != matched_ || next_ != done_ ||
           steps_[matched_ % window].filled != 0;
  }
  [[nodiscard]] bool on_wire() const noexcept { return next_ != done_ || cursor_.begun; }
  [[nodiscard]] std::uint64_t resent_bytes() const noexcept { return resent_bytes_; }
  [[nodiscard]] std::uint64_t resent_steps() const noexcept { return resent_steps_; }

 private:
  using Slot = SendSlot;

  /// Reads the CTS of the step at next_, once in each epoch. False when it is not there, or not
  /// whole.
  template <class P>
  [[nodiscard, gnu::always_inline]] bool learn(P& path, Epoch epoch) noexcept {
    CtsElement cts;
    if (confirms() ||
        !read_plain_cts(path.block().cts[next_ % window].elements[0], next_, epoch, cts))
      return learn_any(path, epoch);
    if (next_ - done_ >= window) return false;
    Slot& st = steps_[next_ % window];
    if (st.filled == 0) {
      st.count = 1;
      st.too_long = 0;
      st.special = 0;
    }
    targets_[0] = {cts.address, cts.length, cts.keys, cts.tag};
    return known_ = true;
  }
  template <class P>
  [[nodiscard, gnu::noinline]] bool learn_any(P& path, Epoch epoch) noexcept {
    Slot& st = steps_[next_ % window];
    std::size_t r = 0;
    do {
      CtsElement cts;
      if (!read_cts(path.block().cts[next_ % window].elements[r], next_, r, epoch, cts))
        return false;
      if (r == 0) {
        if (cts.needs_confirm != 0) confirms_ = true;
        if (confirms()) on_confirmed(cts.confirmed);
        // The receiver may be a window ahead of what is released here: the slot is still taken.
        if (next_ - done_ >= window) return false;
        if (st.filled == 0) {
          st.count = cts.count;
          st.too_long = 0;
          st.special =
              static_cast<std::uint8_t>((cts.count == 1 ? 0 : Slot::not_whole) |
                                        (cts.needs_confirm == 0 ? 0 : Slot::needs_confirm));
        }
      }
      targets_[r] = {cts.address, cts.length, cts.keys, cts.tag};
    } while (++r < st.count);
    known_ = true;
    return true;
  }

  /// Gives waiting sends to the receives of step matched_. True when every receive has its send.
  [[nodiscard, gnu::always_inline]] bool match() noexcept {
    Slot& st = steps_[matched_ % window];
    if (st.count == 1) [[likely]] {
      if (!give(st, 0)) return false;
      st.filled = 1;
    } else {
      unsigned const all = (1u << st.count) - 1;
      unsigned filled = st.filled;
      for (unsigned rest = all & ~filled; rest != 0 && requests_.any_queued(); rest &= rest - 1) {
        if (give(st, static_cast<std::uint8_t>(std::countr_zero(rest)))) filled |= rest & -rest;
      }
      st.filled = static_cast<std::uint8_t>(filled);
      if (filled != all) return false;
    }
    ++matched_;
    return true;
  }
  /// Gives receive `r` the first waiting send of its tag. False when there is none.
  [[nodiscard, gnu::always_inline]] bool give(Slot& st, std::uint8_t r) noexcept {
    std::uint16_t const i = requests_.match(targets_[r].tag);
    if (i == SendRequests::none) return false;
    st.requests[r] = i;
    if (requests_[i].from.length > targets_[r].length) {
      st.too_long = static_cast<std::uint8_t>(st.too_long | 1u << r);
      st.special |= Slot::not_whole;
    }
    return true;
  }

  template <class P>
  [[gnu::always_inline]] Errc write(P& path, Epoch epoch) noexcept {
    Slot& st = steps_[next_ % window];
    if ((st.special & Slot::not_whole) == 0) {
      Memory const& from = requests_[st.requests[0]].from;
      if (from.length <= max_message_ && parts_of(from.length, path.queue_count()) == 1)
        return write_one(path, epoch, st, from);
    }
    return write_any(path, epoch, st);
  }

  /// The common step: one receive, one part, one write.
  template <class P>
  [[gnu::always_inline]] Errc write_one(P& path, Epoch epoch, Slot& st,
                                        Memory const& from) noexcept {
    auto& queue = path.queue_of(next_);
    if (!path.has_room(queue, 2)) return Errc::would_block;
    bool const exact = from.length == targets_[0].length;
    if (!exact) {
      begin(st, 1, from.length);
      if (Errc const e = write_sizes(path, epoch, st, queue); e != Errc::ok) return e;
    }
    WorkRequest& wr = data_request(queue, from, targets_[0], 0, from.length);
    wr.signaled = true;
    wr.kind = WorkRequest::Kind::write_with_immediate;
    wr.immediate = notify(epoch, 0, exact);
    Errc const e = path.post(queue, wr, Work::data, next_);
    if (e != Errc::ok) [[unlikely]]
      return e;
    if (exact) {
      start(st, 1, from.length);
    } else {
      cursor_ = {};
    }
    return Errc::ok;
  }

  /// Any step: several receives, parts, and writes per part. Goes on where it ran out of room.
  template <class P>
  [[gnu::noinline]] Errc write_any(P& path, Epoch epoch, Slot& st) noexcept {
    std::uint64_t bytes = 0;
    bool exact = st.too_long == 0;
    for (std::uint8_t r = 0; r < st.count; ++r) {
      std::uint64_t const n = carried(st, r);
      bytes += n;
      exact = exact && n == targets_[r].length;
    }
    std::uint8_t const parts = parts_of(bytes, path.queue_count());
    begin(st, parts, bytes);
    for (; cursor_.part < parts; ++cursor_.part) {
      auto& queue = path.queue_of(next_ + cursor_.part);
      if (cursor_.part == 0 && !exact) {
        if (!path.has_room(queue, 2)) return Errc::would_block;
        if (Errc const e = write_sizes(path, epoch, st, queue); e != Errc::ok) return e;
      }
      if (Errc const e = write_part(path, epoch, st, queue, exact); e != Errc::ok) return e;
    }
    cursor_ = {};
    return Errc::ok;
  }

  /// Every receive's share of the part at the cursor. The last write that has bytes notifies.
  template <class P>
  [[gnu::always_inline]] Errc write_part(P& path, Epoch epoch, Slot const& st,
                                         typename P::Queue& queue, bool exact) noexcept {
    std::uint8_t const last = last_receive(st);
    std::uint64_t offset = cursor_.offset;
    for (std::uint8_t r = cursor_.receive; r <= last; ++r, offset = 0) {
      Share const share = share_of(carried(st, r), cursor_.part, st.parts);
      if (share.bytes == 0 && r != last) continue;
      for (bool whole = false; !whole;) {
        std::uint64_t const left = share.bytes - offset;
        std::uint64_t const n = left < max_message_ ? left : max_message_;
        whole = n == left;
        bool const notifies = whole && r == last;
        Errc e = Errc::would_block;
        if (path.has_room(queue, 1)) [[likely]] {
          WorkRequest& wr = data_request(queue, requests_[st.requests[r]].from, targets_[r],
                                         share.from + offset, n);
          wr.signaled = notifies || path.sign_now(queue);
          wr.kind = notifies ? WorkRequest::Kind::write_with_immediate : WorkRequest::Kind::write;
          if (notifies) wr.immediate = notify(epoch, cursor_.part, exact);
          e = path.post(queue, wr, notifies ? Work::data : Work::chunk, next_);
        }
        if (e != Errc::ok) [[unlikely]] {
          cursor_.receive = r;
          cursor_.offset = offset;
          return e;
        }
        offset += n;
      }
    }
    cursor_.receive = 0;
    cursor_.offset = 0;
    return Errc::ok;
  }

  template <class P>
  [[gnu::noinline]] Errc write_sizes(P& path, Epoch epoch, Slot const& st,
                                     typename P::Queue& queue) noexcept {
    if (cursor_.sized) return Errc::ok;
    SizeSlot& out = path.block().sizes[next_ % window];
    SizeElement const head{.step = next_,
                           .epoch = epoch,
                           .parts = st.parts,
                           .count = st.count,
                           .too_long = st.too_long};
    std::size_t const bytes = write_size_record(
        out, head, [&](std::size_t r) { return requests_[st.requests[r]].from.length; });
    Errc const e = path.post_record(queue, &out, bytes, Work::chunk, next_, false);
    cursor_.sized = e == Errc::ok;
    return e;
  }

  /// The queue's request, made that of a piece of data. Kind and signaled are the caller's.
  template <class Queue>
  [[gnu::always_inline]] static WorkRequest& data_request(Queue& queue, Memory const& from,
                                                          Target const& to, std::uint64_t offset,
                                                          std::uint64_t bytes) noexcept {
    WorkRequest& wr = queue.data;
    wr.local = from.address + offset;
    wr.length = bytes;
    wr.remote = to.address + offset;
    wr.keys.remote = to.keys[queue.lane];
    wr.keys.local = from.keys != nullptr ? queue.keys_of(*from.keys).local : 0;
    return wr;
  }

  [[nodiscard]] std::uint32_t notify(Epoch e, std::uint8_t part, bool exact) const noexcept {
    return pack({static_cast<std::uint8_t>(e), static_cast<std::uint16_t>(next_), part, exact});
  }

  void begin(Slot& st, std::uint8_t parts, std::uint64_t bytes) noexcept {
    if (cursor_.begun) return;
    cursor_.begun = true;
    start(st, parts, bytes);
  }
  [[gnu::always_inline]] void start(Slot& st, std::uint8_t parts, std::uint64_t bytes) noexcept {
    st.parts = parts;
    st.acked = 0;
    if (newer(high_, next_)) {
      resent_bytes_ += bytes;
      ++resent_steps_;
    }
  }

  /// The last receive that has bytes in the current part: its last write notifies. 0 when none has.
  [[nodiscard]] std::uint8_t last_receive(Slot const& st) const noexcept {
    for (std::uint8_t r = st.count; r-- > 0;) {
      if (share_of(carried(st, r), cursor_.part, st.parts).bytes != 0) return r;
    }
    return 0;
  }

  Step matched_;  ///< Next step to give sends to; above next_ only after a rewind.
  Step high_;     ///< What a rewind left behind: below is a resend.
  std::uint64_t max_message_ = ~std::uint64_t{0};
  std::uint64_t resent_bytes_ = 0;
  std::uint64_t resent_steps_ = 0;
  Cursor cursor_;
  bool known_ = false;  ///< targets_ are those of the step at next_, in this epoch.
  std::array<Target, max_receives> targets_{};
};

}  // namespace vccl::detail
