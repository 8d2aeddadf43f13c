// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Fence: no end has to be quiet.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Fence {
  static bool fences(End) noexcept { return false; }
  static Duration deadline() noexcept { return {}; }
};

static_assert(vccl::Fence<Fence>);

}  // namespace vccl::archetype
