// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Failback: does not return.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Failback {
  static bool returns() noexcept { return false; }
  static Duration probe_after(std::uint32_t, std::uint32_t) noexcept { return {}; }
  static Duration good_for() noexcept { return {}; }
};

static_assert(vccl::Failback<Failback>);

}  // namespace vccl::archetype
