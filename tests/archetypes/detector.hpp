// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Detector: nothing has failed.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Detector {
  Verdict on_completion(Status, bool) const noexcept { return {}; }
  Verdict on_port(PortWatch const&) const noexcept { return {}; }
  Verdict on_wait(Wait const&) const noexcept { return {}; }
  static Duration hold() noexcept { return {}; }
  static Duration stall() noexcept { return {}; }
};

static_assert(vccl::Detector<Detector>);

}  // namespace vccl::archetype
