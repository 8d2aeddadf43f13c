// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest PolicyBundle: the archetype of every role.

#include <archetypes/aggregator.hpp>
#include <archetypes/detector.hpp>
#include <archetypes/failback.hpp>
#include <archetypes/fence.hpp>
#include <archetypes/health.hpp>
#include <archetypes/path_selector.hpp>
#include <archetypes/release.hpp>
#include <archetypes/rollback.hpp>
#include <archetypes/telemetry.hpp>
#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct PolicyBundle {
  using PathSelector = archetype::PathSelector;
  using Detector = archetype::Detector;
  using Fence = archetype::Fence;
  using Release = archetype::Release;
  using Rollback = archetype::Rollback;
  using Failback = archetype::Failback;
  using Health = archetype::Health;
  using Aggregator = archetype::Aggregator;
  using Telemetry = archetype::Telemetry;
  static constexpr Timing timing{};
};

static_assert(vccl::PolicyBundle<PolicyBundle>);

}  // namespace vccl::archetype
