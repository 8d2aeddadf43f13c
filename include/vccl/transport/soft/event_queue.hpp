// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What happens when: events by time, and at the same time in the order in which they were added.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vccl::soft {

/// Something that is due at a time.
struct Event {
  enum class Kind : std::uint8_t {
    packet,     ///< subject: packet that arrives.
    qp_timer,   ///< subject: QP slot; detail: the QP's number when it was set.
    port_free,  ///< subject: port whose cable can take the next packet.
    wire,       ///< subject: message of the bootstrap network that arrives.
    fault,      ///< subject: rule of the fault engine; detail: which of its moments.
    fence,      ///< subject: lane; detail: its serial number and the step.
  };
  Time at;
  std::uint64_t order = 0;
  Kind kind = Kind::packet;
  std::uint32_t subject = 0;
  std::uint64_t detail = 0;
};

/// A binary heap. push and pop are O(log n) and allocate only when it grows.
class EventQueue {
 public:
  void push(Time at, Event::Kind kind, std::uint32_t subject, std::uint64_t detail = 0) {
    heap_.push_back({at, next_order_++, kind, subject, detail});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
  /// The first one due. There must be one.
  [[nodiscard]] Event const& top() const noexcept { return heap_.front(); }
  [[nodiscard]] bool due(Time now) const noexcept {
    return !heap_.empty() && heap_.front().at <= now;
  }
  Event pop() noexcept {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event const e = heap_.back();
    heap_.pop_back();
    return e;
  }

 private:
  static bool later(Event const& a, Event const& b) noexcept {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  std::vector<Event> heap_;
  std::uint64_t next_order_ = 0;
};

/// A first-in-first-out ring that grows, and allocates only then.
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(tail_ - head_);
  }
  void push(T const& v) {
    if (size() == items_.size()) grow();
    items_[tail_++ & (items_.size() - 1)] = v;
  }
  T pop() noexcept { return items_[head_++ & (items_.size() - 1)]; }
  void clear() noexcept { head_ = tail_; }

 private:
  void grow() {
    std::vector<T> wider(items_.empty() ? 16 : items_.size() * 2);
    std::size_t n = 0;
    while (!empty()) wider[n++] = pop();
    items_ = std::move(wider);
    head_ = 0;
    tail_ = n;
  }

  std::vector<T> items_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace vccl::soft
