// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The bundle of simulated connections.

#include <support/link_ends.hpp>
#include <support/switched.hpp>
#include <vccl/policies/telemetry/event_log.hpp>

#include <sim/links/links.hpp>
#include <sim/watched.hpp>

namespace vccl::sim {

/// An outage ends a connection sooner than in Resilient, as most of the time simulated would be
/// spent waiting for it.
struct Bundle : test::Switched {
  using Telemetry = telemetry::EventLog<>;
  static constexpr Timing timing{.outage = 10_s};
};

}  // namespace vccl::sim
