// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// health::PerConnection: connections share nothing.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::health {

/// Forgets every event, and knows of no port that is down: each connection finds out by itself,
/// from its completions and deadlines.
///
/// State: none.
/// Hot path: nothing.
/// Thread safety: any.
/// Use when there is no backup to go to, or to measure what sharing saves.
struct PerConnection {
  constexpr void note(vccl::PortEvent const&, Time) const noexcept {}
  [[nodiscard]] constexpr PortWatch watch(PortId, Time) const noexcept { return {}; }
};

static_assert(Health<PerConnection>);
static_assert(std::is_empty_v<PerConnection>);

}  // namespace vccl::health
