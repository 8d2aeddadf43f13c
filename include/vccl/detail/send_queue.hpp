// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sender's data: posted sends, their meeting with CTS, the steps on the wire, what may be
/// released.

#include <vccl/detail/path.hpp>
#include <vccl/detail/send_requests.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vccl::detail {

/// Sends wait in posting order for the step whose receives ask for their tag; a full step is
/// written and notified. Knows nothing of failures but rewind() and finish().
///
/// Thread safety: one owner.
template <class ReleasePolicy>
class SendQueue {
 public:
  explicit SendQueue(Step first = 0) noexcept
      : done_{first}, next_{first}, matched_{first}, high_{first} {}

  /// The table of sends: add, ask, take results.
  [[nodiscard]] SendRequests& requests() noexcept { return requests_; }

  /// Largest write on any path: parts never need another split after a switch.
  void set_max_message(std::uint64_t bytes) noexcept { max_message_ = bytes; }

  /// Writes every step that has its CTS and its sends. ok: nothing more to do now, or no room.
  template <class P>
  Errc pump(P& path, PathId id, Epoch epoch) noexcept {
    for (;;) {
      // The receiver may be a whole window ahead of our acknowledgements: the slot is still taken.
      if (next_ - done_ >= window) return Errc::ok;
      CtsElement first;
      if (!load_cts(path, next_, 0, epoch, first)) return Errc::ok;
      if (next_ == matched_ && (!requests_.any_queued() || !match(path, first, epoch)))
        return Errc::ok;
      Errc const e = count_one_part(first) ? write_simple(path, id, epoch, first)
                                           : write_step(path, id, epoch, first);
      if (e != Errc::ok) return e == Errc::would_block ? Errc::ok : e;
      next_ = next_ + 1;
      if (newer(next_, high_)) high_ = next_;
      cursor_ = {};
    }
  }

  /// A signaled part of a step is acknowledged.
  void on_acknowledged(std::uint32_t step32) noexcept {
    Step const s = done_ + static_cast<std::uint32_t>(step32 - static_cast<std::uint32_t>(done_));
    if (s - done_ >= window) return;
    ++steps_[s % window].acked;
    release();
  }

  /// The receiver has all below `position`, flushed.
  void on_confirmed(Step position) noexcept {
    if (newer(position, confirmed_)) {
      confirmed_ = position;
      release();
    }
  }

  /// Completes steps below `position`, and goes on sending at `resume`.
  void rewind(Step position, Step resume) noexcept {
    Step const until = position < resume ? position : resume;
    while (done_ < until && done_ < next_) complete(Errc::ok, Delivered::yes);
    for (Step s = resume; s < next_; ++s) steps_[s % window].acked = 0;
    next_ = resume;
    cursor_ = {};
  }

  /// Nothing will go on: the rest ends with `error`. `position`: what the receiver has, at least.
  void finish(Errc error, Step position, bool final_position) noexcept {
    while (done_ < next_ && done_ < position) complete(Errc::ok, Delivered::yes);
    Delivered const sent = final_position ? Delivered::no : Delivered::unknown;
    while (done_ < high_ && done_ < matched_) complete(error, sent);
    while (done_ < matched_) complete(error, Delivered::no);
    Slot& partial = steps_[matched_ % window];
    for (std::size_t r = 0; r < max_receives; ++r) {
      if ((partial.filled >> r & 1) != 0) {
        requests_.end(partial.requests[r], error, Delivered::no);
      }
    }
    partial.filled = 0;
    requests_.end_queued(error);
    next_ = done_;
  }

  [[nodiscard]] Step done() const noexcept { return done_; }
  [[nodiscard]] Step next() const noexcept { return next_; }
  [[nodiscard]] bool at_step_boundary() const noexcept { return !cursor_.begun; }
  /// All that was written is acknowledged (and confirmed, where that is asked for).
  [[nodiscard]] bool all_released() const noexcept { return done_ == next_ && !cursor_.begun; }
  /// There is a send that waits for a CTS, or for its acknowledgement.
  [[nodiscard]] bool waits() const noexcept {
    return requests_.any_queued() || done_ != matched_ || next_ != done_;
  }
  [[nodiscard]] bool on_wire() const noexcept { return next_ != done_ || cursor_.begun; }
  [[nodiscard]] std::uint64_t bytes_on_wire() const noexcept {
    std::uint64_t n = 0;
    for (Step s = done_; s < next_; ++s) {
      Slot const& st = steps_[s % window];
      for (std::uint8_t r = 0; r < st.count; ++r) n += carried(st, r);
    }
    return n;
  }
  [[nodiscard]] std::uint64_t resent_bytes() const noexcept { return resent_bytes_; }
  [[nodiscard]] std::uint64_t resent_steps() const noexcept { return resent_steps_; }

 private:
  struct Slot {
    std::array<std::uint16_t, max_receives> requests{};
    std::uint8_t filled = 0;  ///< Bit per receive that has met its send.
    std::uint8_t count = 0;
    std::uint8_t parts = 0;
    std::uint8_t acked = 0;
    std::uint8_t too_long = 0;
    bool needs_confirm = false;
  };

  /// How far the step at next_ has been posted.
  struct Cursor {
    bool begun = false;
    bool sized = false;
    std::uint8_t part = 0;
    std::uint8_t receive = 0;
    std::uint64_t offset = 0;  ///< Within the part of that receive.
  };

  template <class P>
  bool load_cts(P& path, Step s, std::size_t i, Epoch epoch, CtsElement& out) noexcept {
    CtsElement const* at = &path.block().cts[s % window].elements[i];
    if (__atomic_load_n(&at->step, __ATOMIC_RELAXED) != s) return false;
    out = load_record<CtsElement>(at);
    if (out.step != s || out.epoch != epoch || out.index != i || out.check != check_of(out))
      return false;
    if (out.count == 0 || out.count > max_receives) return false;
    if (newer(out.confirmed, confirmed_)) {
      confirmed_ = out.confirmed;
      release();
    }
    return true;
  }

  /// Gives waiting sends to the receives of step matched_. True when every receive has its send.
  template <class P>
  bool match(P& path, CtsElement const& first, Epoch epoch) noexcept {
    Slot& st = steps_[matched_ % window];
    if (st.filled == 0) {
      st.count = first.count;
      st.too_long = 0;
    }
    for (std::uint8_t r = 0; r < first.count; ++r) {
      if ((st.filled >> r & 1) != 0) continue;
      CtsElement e = first;
      if (r != 0 && !load_cts(path, matched_, r, epoch, e)) return false;
      std::uint16_t const i = requests_.match(e.tag);
      if (i == SendRequests::none) continue;
      st.requests[r] = i;
      st.filled = static_cast<std::uint8_t>(st.filled | 1u << r);
      if (requests_[i].from.length > e.length)
        st.too_long = static_cast<std::uint8_t>(st.too_long | 1u << r);
    }
    if (st.filled != static_cast<std::uint8_t>((1u << first.count) - 1)) return false;
    st.needs_confirm = first.needs_confirm != 0;
    ++matched_;
    return true;
  }

  [[nodiscard]] bool count_one_part(CtsElement const& first) const noexcept {
    Slot const& st = steps_[next_ % window];
    std::uint64_t const bytes = requests_[st.requests[0]].from.length;
    return first.count == 1 && bytes <= max_message_ && bytes < 2 * min_part && st.too_long == 0;
  }

  /// The common step: one receive, one part, one write.
  template <class P>
  Errc write_simple(P& path, PathId id, Epoch epoch, CtsElement const& cts) noexcept {
    Slot& st = steps_[next_ % window];
    Memory const& from = requests_[st.requests[0]].from;
    std::size_t const queue = next_ % path.queue_count();
    std::size_t const lane = queue % path.lane_count();
    auto const qp = static_cast<std::uint8_t>(queue / path.lane_count());
    if (path.room(lane, qp) < 2) return Errc::would_block;
    bool const exact = from.length == cts.length;
    if (!exact && !cursor_.sized) {
      if (Errc const e = write_sizes(path, epoch, st, 1, lane, qp); e != Errc::ok) return e;
    }
    begin(st, 1, from.length);
    WorkRequest wr = data_request(path, id, lane, qp, from, cts, 0, from.length);
    wr.kind = WorkRequest::Kind::write_with_immediate;
    wr.immediate =
        pack(Notify{static_cast<std::uint8_t>(epoch), static_cast<std::uint16_t>(next_), 0, exact});
    return path.post(lane, wr, Work::data, next_);
  }

  /// Any step: several receives, parts, and writes per part. Goes on where it ran out of room.
  template <class P>
  Errc write_step(P& path, PathId id, Epoch epoch, CtsElement const& first) noexcept {
    Slot& st = steps_[next_ % window];
    std::array<CtsElement, max_receives> cts;
    cts[0] = first;
    std::uint64_t bytes = 0;
    bool exact = st.too_long == 0;
    for (std::uint8_t r = 0; r < first.count; ++r) {
      if (r != 0 && !load_cts(path, next_, r, epoch, cts[r])) return Errc::would_block;
      bytes += carried(st, r);
      exact = exact && carried(st, r) == cts[r].length;
    }
    std::uint8_t const parts = parts_of(bytes, path.queue_count());
    begin(st, parts, bytes);
    for (; cursor_.part < parts; ++cursor_.part, cursor_.receive = 0, cursor_.offset = 0) {
      std::size_t const queue = (next_ + cursor_.part) % path.queue_count();
      std::size_t const lane = queue % path.lane_count();
      auto const qp = static_cast<std::uint8_t>(queue / path.lane_count());
      if (cursor_.part == 0 && !exact && !cursor_.sized) {
        if (path.room(lane, qp) < 2) return Errc::would_block;
        if (Errc const e = write_sizes(path, epoch, st, parts, lane, qp); e != Errc::ok) return e;
      }
      std::uint8_t const last = last_receive(st, parts);
      for (; cursor_.receive < st.count; ++cursor_.receive, cursor_.offset = 0) {
        std::uint8_t const r = cursor_.receive;
        std::uint64_t const stride = part_stride(carried(st, r), parts);
        std::uint64_t const from = clip(cursor_.part * stride, carried(st, r));
        std::uint64_t const to = clip((cursor_.part + 1u) * stride, carried(st, r));
        do {
          std::uint64_t const left = to - from - cursor_.offset;
          std::uint64_t const n = left < max_message_ ? left : max_message_;
          bool const notify = r == last && n == left;
          if (n == 0 && !notify) break;
          if (path.room(lane, qp) < 1) return Errc::would_block;
          WorkRequest wr = data_request(path, id, lane, qp, requests_[st.requests[r]].from, cts[r],
                                        from + cursor_.offset, n);
          if (notify) {
            wr.kind = WorkRequest::Kind::write_with_immediate;
            wr.immediate = pack(Notify{static_cast<std::uint8_t>(epoch),
                                       static_cast<std::uint16_t>(next_), cursor_.part, exact});
          } else {
            wr.signaled = path.sign_now(lane, qp);
          }
          if (Errc const e = path.post(lane, wr, notify ? Work::data : Work::chunk, next_);
              e != Errc::ok)
            return e;
          cursor_.offset += n;
          if (notify) break;
        } while (from + cursor_.offset < to);
        if (r == last) break;
      }
    }
    return Errc::ok;
  }

  template <class P>
  Errc write_sizes(P& path, Epoch epoch, Slot const& st, std::uint8_t parts, std::size_t lane,
                   std::uint8_t qp) noexcept {
    SizeSlot& out = path.block().sizes[next_ % window];
    std::size_t const n = size_elements(st.count);
    for (std::size_t i = 0; i < n; ++i) {
      SizeElement e;
      e.step = next_;
      e.epoch = epoch;
      e.parts = parts;
      e.count = st.count;
      e.too_long = st.too_long;
      for (std::size_t k = 0;
           k < SizeElement::per_element && i * SizeElement::per_element + k < st.count; ++k) {
        e.sizes[k] = requests_[st.requests[i * SizeElement::per_element + k]].from.length;
      }
      e.check = check_of(e);
      store_record(&out.elements[i], e);
    }
    Errc const e =
        path.post_record(lane, qp, &out, n * sizeof(SizeElement), Work::chunk, next_, false);
    cursor_.sized = e == Errc::ok;
    return e;
  }

  /// The request of a piece of data, unsignaled write unless the caller says more.
  template <class P>
  [[nodiscard]] WorkRequest data_request(P& path, PathId id, std::size_t lane, std::uint8_t qp,
                                         Memory const& from, CtsElement const& cts,
                                         std::uint64_t offset, std::uint64_t bytes) const noexcept {
    static_cast<void>(path);
    WorkRequest wr;
    wr.qp = qp;
    wr.local = from.address + offset;
    wr.length = bytes;
    wr.remote = cts.address + offset;
    wr.keys.remote = cts.keys[lane];
    wr.keys.local = from.keys != nullptr ? (*from.keys)[id][lane].local : 0;
    return wr;
  }

  void begin(Slot& st, std::uint8_t parts, std::uint64_t bytes) noexcept {
    if (cursor_.begun) return;
    cursor_.begun = true;
    st.parts = parts;
    st.acked = 0;
    if (next_ < high_) {
      resent_bytes_ += bytes;
      ++resent_steps_;
    }
  }

  /// Bytes of a receive that go over the wire: none of a send that is too long for it.
  [[nodiscard]] std::uint64_t carried(Slot const& st, std::uint8_t r) const noexcept {
    return (st.too_long >> r & 1) != 0 ? 0 : requests_[st.requests[r]].from.length;
  }

  /// The last receive that has bytes in the current part: its last write notifies. 0 when none has.
  [[nodiscard]] std::uint8_t last_receive(Slot const& st, std::uint8_t parts) const noexcept {
    for (std::uint8_t r = st.count; r-- > 0;) {
      if (carried(st, r) > cursor_.part * part_stride(carried(st, r), parts)) return r;
    }
    return 0;
  }

  static constexpr std::uint64_t clip(std::uint64_t v, std::uint64_t most) noexcept {
    return v < most ? v : most;
  }

  void release() noexcept {
    while (done_ < next_) {
      Slot const& st = steps_[done_ % window];
      // Also what the receiver has confirmed may be sent again by our NIC until it is acknowledged.
      if (st.acked != st.parts) return;
      if (!ReleasePolicy::on_acknowledgement(st.needs_confirm) && !newer(confirmed_, done_)) return;
      complete(Errc::ok, Delivered::yes);
    }
  }

  /// Ends the step at done_.
  void complete(Errc error, Delivered delivered) noexcept {
    Slot& st = steps_[done_ % window];
    for (std::uint8_t r = 0; r < st.count; ++r) {
      bool const too_long = error == Errc::ok && (st.too_long >> r & 1) != 0;
      requests_.end(st.requests[r], too_long ? Errc::message_too_long : error,
                    too_long ? Delivered::no : delivered);
    }
    st.filled = 0;
    ++done_;
  }

  Step done_;     ///< Below: completed.
  Step next_;     ///< Next step to write.
  Step matched_;  ///< Next step to give sends to; above next_ only after a rewind.
  Step high_;     ///< Highest next_ ever: below is a resend.
  Step confirmed_ = 0;
  std::uint64_t max_message_ = ~std::uint64_t{0};
  std::uint64_t resent_bytes_ = 0;
  std::uint64_t resent_steps_ = 0;
  Cursor cursor_;
  std::array<Slot, window> steps_{};
  SendRequests requests_;
};

}  // namespace vccl::detail
