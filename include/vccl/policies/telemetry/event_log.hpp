// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// telemetry::EventLog: the newest events of a connection, in a ring of fixed size.

#include <vccl/concepts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vccl::telemetry {

/// Keeps the newest `Capacity` events and counts those that had to go. A port that goes down and
/// comes back makes about six (lost, fenced, switched, re-armed, switched, returned), so the
/// default remembers the last forty flaps.
///
/// State: 24 bytes per event, inside the object; never allocates.
/// Hot path: not on it, as events are never per message; recording copies 24 bytes.
/// Thread safety: none; the connection calls it from one thread at a time, and so must readers.
/// Use when somebody asks afterwards what happened: tests, benchmarks, operators.
template <std::size_t Capacity = 256>
  requires(Capacity > 0)
class EventLog {
 public:
  void record(Event const& event) noexcept {
    ring_[recorded_ % Capacity] = event;
    ++recorded_;
  }

  /// Events kept, at most Capacity.
  [[nodiscard]] std::size_t size() const noexcept {
    return recorded_ < Capacity ? static_cast<std::size_t>(recorded_) : Capacity;
  }

  /// Events that newer ones have overwritten.
  [[nodiscard]] std::uint64_t lost() const noexcept { return recorded_ - size(); }

  /// The kept event `index`, from 0, the oldest, below size().
  [[nodiscard]] Event const& operator[](std::size_t index) const noexcept {
    return ring_[(lost() + index) % Capacity];
  }

  /// Copies kept events in order, the newest that fit when not all do. Returns how many.
  [[nodiscard]] std::size_t events(std::span<Event> into) const noexcept {
    std::size_t const count = into.size() < size() ? into.size() : size();
    for (std::size_t i = 0; i < count; ++i) into[i] = (*this)[size() - count + i];
    return count;
  }

 private:
  std::array<Event, Capacity> ring_{};
  std::uint64_t recorded_ = 0;  ///< All events ever; does not wrap in any lifetime.
};

static_assert(Telemetry<EventLog<>>);
static_assert(sizeof(EventLog<>) == 256 * 24 + 8);

}  // namespace vccl::telemetry
