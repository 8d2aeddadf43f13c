// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Rollback: replays nothing, and would begin where everything begins.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Rollback {
  template <class Op>
  static constexpr bool replays = false;
  static Step resume(Step, Step) noexcept { return 0; }
};

static_assert(vccl::Rollback<Rollback>);

}  // namespace vccl::archetype
