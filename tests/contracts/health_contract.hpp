// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Health must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <atomic>
#include <limits>
#include <string_view>
#include <thread>

namespace vccl::contracts {

/// The first sentence that H breaks, or nothing. With one thread.
template <Health H>
std::string_view health() {
  using Kind = PortEvent::Kind;
  H board{};
  constexpr PortId port{3};
  constexpr PortId other{4};
  constexpr Time early{1'000};
  constexpr Time late{5'000};

  if (board.watch(port, early).down) return "a port without events is up";
  if (board.watch(no_port, early).down) return "a port that does not exist is not down";

  board.note({.kind = Kind::port_error, .port = no_port}, early);
  for (Kind const kind : {Kind::address_change, Kind::qp_fatal, Kind::cq_error}) {
    board.note({.kind = kind, .port = port, .qp_num = 7}, early);
    if (board.watch(port, late).down) return "an event about something else takes no port down";
  }

  board.note({.kind = Kind::port_error, .port = port}, early);
  if (board.watch(other, late).down) return "an event of one port takes no other down";
  PortWatch const first = board.watch(port, late);
  if (first.down && first.down_for != late - early) return "a port is down since its event";
  if (board.watch(port, Time{0}).down_for != Duration{}) return "no port is down since the future";
  board.note({.kind = Kind::port_error, .port = port}, late);
  PortWatch const again = board.watch(port, late);
  if (again.down != first.down || again.down_for != first.down_for) {
    return "a second event does not begin the outage anew";
  }
  board.note({.kind = Kind::port_active, .port = port}, late);
  if (board.watch(port, late).down) return "a port that became active is up";

  board.note({.kind = Kind::device_fatal, .port = port}, early);
  board.note({.kind = Kind::port_active, .port = port}, late);
  if (board.watch(port, late).down) return "a device that works again is up";
  return {};
}

/// The first sentence that H breaks while one thread notes and another watches, or nothing. A
/// thread sanitizer sees the rest.
template <Health H>
std::string_view health_while_watched() {
  using Kind = PortEvent::Kind;
  constexpr PortId port{63};
  constexpr std::int64_t step = 0x1'0000'0001;  // Both halves of a word change with each outage.
  constexpr std::int64_t outages = 20'000;
  constexpr std::int64_t least_watches = 1'000;
  H board{};
  std::atomic<std::int64_t> watches{0};
  std::atomic<bool> done{false};
  std::string_view broken;

  std::thread reader{[&] {
    constexpr Time now{std::numeric_limits<std::int64_t>::max()};
    bool last = false;
    while (!last && broken.empty()) {
      last = done.load();  // One look comes after everything.
      PortWatch const seen = board.watch(port, now);
      watches.fetch_add(1);
      if (!seen.down && seen.down_for != Duration{})
        broken = "a port that is up is down for no time";
      if (seen.down && (now - Time{} - seen.down_for).ns % step != 0) {
        broken = "a port is down since an event that happened";
      }
    }
    watches.fetch_add(least_watches);  // Lets the writer go on after a failure.
  }};
  for (std::int64_t i = 0; i < outages || watches.load() < least_watches; ++i) {
    Time const at{i % outages * step};
    board.note({.kind = Kind::port_error, .port = port}, at);
    board.note({.kind = Kind::port_active, .port = port}, at);
  }
  done.store(true);
  reader.join();
  return broken;
}

}  // namespace vccl::contracts
