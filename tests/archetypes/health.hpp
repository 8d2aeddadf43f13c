// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Health: knows of no port that is down.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Health {
  void note(PortEvent const&, Time) noexcept {}
  PortWatch watch(PortId, Time) const noexcept { return {}; }
};

static_assert(vccl::Health<Health>);

}  // namespace vccl::archetype
