// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// health::PerPort: connections of a process share what the events of its ports told.

#include <vccl/concepts.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace vccl::health {

/// Remembers which local ports are down, and since when. One event serves every connection on the
/// port, so nobody has to find out by a time-out of its own. Only what is local and certain is
/// shared: whether a path works is the business of the pair of ports, and of nobody else.
///
/// State: one word per port, 64 ports, 512 bytes; one object per process.
/// Hot path: one relaxed load per look.
/// Thread safety: note() from one thread, watch() from any number at the same time, no locks.
/// Use when a process has more than one connection.
class PerPort {
 public:
  /// Ports beyond are ignored, and look up. 64 is four times the ports of an eight-GPU machine
  /// whose every GPU has a dual-port NIC.
  static constexpr std::size_t max_ports = 64;

  /// port_error and device_fatal take the port down, from the first of them on; port_active brings
  /// it back: after device_fatal that is the word of a device that works again. The other kinds say
  /// nothing about a port being up.
  void note(vccl::PortEvent const& event, Time at) noexcept {
    auto const index = static_cast<std::size_t>(event.port);
    if (index >= max_ports) return;
    switch (event.kind) {
      case vccl::PortEvent::Kind::device_fatal:
      case vccl::PortEvent::Kind::port_error:
        take_down(index, at);
        return;
      case vccl::PortEvent::Kind::port_active:
        down_since_[index].store(up, std::memory_order_relaxed);
        return;
      case vccl::PortEvent::Kind::address_change:
      case vccl::PortEvent::Kind::qp_fatal:
      case vccl::PortEvent::Kind::cq_error:
        return;
    }
  }

  /// `now` may be older than the event, when it was read just before: then down for no time.
  [[nodiscard]] PortWatch watch(PortId port, Time now) const noexcept {
    auto const index = static_cast<std::size_t>(port);
    if (index >= max_ports) return {};
    // Relaxed: the word is all there is, nothing else is published by it.
    std::int64_t const since = down_since_[index].load(std::memory_order_relaxed);
    if (since == up) return {};
    return {.down = true, .down_for = now.ns > since ? now - Time{since} : Duration{}};
  }

 private:
  static constexpr std::int64_t up = std::numeric_limits<std::int64_t>::max();

  struct Word : std::atomic<std::int64_t> {
    constexpr Word() noexcept : std::atomic<std::int64_t>{up} {}
  };

  void take_down(std::size_t index, Time at) noexcept {
    // Only the caller writes, so nothing comes between the load and the store.
    if (down_since_[index].load(std::memory_order_relaxed) != up) return;
    down_since_[index].store(at.ns, std::memory_order_relaxed);
  }

  std::array<Word, max_ports> down_since_{};

  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

static_assert(Health<PerPort>);
static_assert(sizeof(PerPort) == 512);

}  // namespace vccl::health
