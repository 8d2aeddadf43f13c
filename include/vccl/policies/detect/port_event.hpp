// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// detect::PortEvent: a path has failed when its port has been down for a while.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::detect {

/// How long a port may be down before that means anything.
struct Hold {
  /// Above the flaps that the NIC's retransmission rides out unnoticed, below StallDeadline's
  /// stall.
  Duration hold = 50_ms;
};

/// Calls a path failed when its port has been down for the hold. A shorter outage says nothing: the
/// NIC's own retransmission repairs it, and moving traffic would cost more.
///
/// State: none; the time of the event is kept by the Health policy.
/// Hot path: one comparison, only while the port is down.
/// Thread safety: pure functions.
/// Use when the driver reports port events. They come from this end's port only: a dead link behind
/// a live switch shows none, so combine it with CompletionStatus and StallDeadline by AnyOf.
template <Hold Parameters = Hold{}>
struct PortEvent {
  static_assert(Parameters.hold > Duration{}, "the hold must be above zero, which means never");

  [[nodiscard]] static constexpr Verdict on_completion(Status, bool) noexcept { return {}; }

  /// A path verdict from exactly the hold on.
  [[nodiscard]] static constexpr Verdict on_port(PortWatch const& port) noexcept {
    if (!port.down || port.down_for < Parameters.hold) return {};
    return {Verdict::Kind::path, Cause::port_down};
  }

  [[nodiscard]] static constexpr Verdict on_wait(Wait const&) noexcept { return {}; }
  [[nodiscard]] static constexpr Duration hold() noexcept { return Parameters.hold; }
  [[nodiscard]] static constexpr Duration stall() noexcept { return {}; }
};

static_assert(Detector<PortEvent<>>);
static_assert(std::is_empty_v<PortEvent<>>);

}  // namespace vccl::detect
