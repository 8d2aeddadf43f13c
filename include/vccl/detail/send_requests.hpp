// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sends that users have posted: a fixed table, and the order of those without a receive yet.

#include <vccl/op.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vccl::detail {

/// Table of sends. A send is queued until it meets a receive, then under way, then done, and free
/// again once its result has been taken. Never allocates.
class SendRequests {
 public:
  static constexpr std::size_t capacity = 256;  ///< As NCCL's IB transport: 32 steps of 8.
  static constexpr std::uint16_t none = 0xffff;

  struct alignas(64) Entry {
    Memory from;
    Tag tag{};
    std::uint32_t generation = 1;
    std::uint16_t next = none;
    Errc error = Errc::ok;
    Delivered delivered = Delivered::unknown;

   private:
    friend SendRequests;
    enum class State : std::uint8_t { free, posted, done };
    State state_ = State::free;
  };

  SendRequests() noexcept {
    for (std::size_t i = 0; i + 1 < capacity; ++i) {
      entries_[i].next = static_cast<std::uint16_t>(i + 1);
    }
  }

  /// Queues a send. would_block in `why` when the table is full.
  [[nodiscard]] Request add(Memory const& from, Tag tag) noexcept {
    if (from.length != 0 && from.keys == nullptr) return {0, 0, Errc::invalid_argument};
    if (free_ == none) return {};
    std::uint16_t const i = free_;
    Entry& e = entries_[i];
    free_ = e.next;
    e.from = from;
    e.tag = tag;
    e.state_ = Entry::State::posted;
    e.next = none;
    (last_ == none ? first_ : entries_[last_].next) = i;
    last_ = i;
    return {i, e.generation, Errc::ok};
  }

  [[nodiscard]] bool any_queued() const noexcept { return first_ != none; }

  /// Takes the first queued send with this tag out of the queue; `none` when there is none.
  [[nodiscard, gnu::always_inline]] std::uint16_t match(Tag tag) noexcept {
    std::uint16_t i = first_;
    if (i == none) return none;
    std::uint16_t before = none;
    if (entries_[i].tag == tag) [[likely]] {
      first_ = entries_[i].next;
    } else {
      do {
        before = i;
        i = entries_[i].next;
        if (i == none) return none;
      } while (entries_[i].tag != tag);
      entries_[before].next = entries_[i].next;
    }
    if (last_ == i) last_ = before;
    return i;
  }

  [[nodiscard]] Entry const& operator[](std::size_t i) const noexcept { return entries_[i]; }

  [[gnu::always_inline]] void end(std::uint16_t i, Errc error, Delivered delivered) noexcept {
    entries_[i].state_ = Entry::State::done;
    entries_[i].error = error;
    entries_[i].delivered = delivered;
  }

  /// Ends what is still queued: it never left.
  void end_queued(Errc error) noexcept {
    for (; first_ != none; first_ = entries_[first_].next) end(first_, error, Delivered::no);
    last_ = none;
  }

  /// True while a request is not yet reported.
  [[nodiscard]] bool knows(Request r) const noexcept {
    return r.slot < capacity && entries_[r.slot].generation == r.generation &&
           entries_[r.slot].state_ != Entry::State::free;
  }
  [[nodiscard]] bool is_done(Request r) const noexcept {
    return entries_[r.slot].state_ == Entry::State::done;
  }

  /// Reports a request that is_done() and frees it.
  [[nodiscard]] Result take(Request r) noexcept {
    Entry& e = entries_[r.slot];
    Result out;
    out.done = true;
    out.error = e.error;
    out.delivered = e.delivered;
    out.sizes[0] = e.from.length;
    e.state_ = Entry::State::free;
    e.generation = e.generation + 1 == 0 ? 1 : e.generation + 1;
    e.next = free_;
    free_ = static_cast<std::uint16_t>(r.slot);
    return out;
  }

 private:
  std::uint16_t first_ = none;  ///< Queued, in order of posting.
  std::uint16_t last_ = none;
  std::uint16_t free_ = 0;
  std::array<Entry, capacity> entries_{};
};

}  // namespace vccl::detail
