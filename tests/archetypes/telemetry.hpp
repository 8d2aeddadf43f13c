// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Telemetry: records nothing.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Telemetry {
  void record(Event const&) noexcept {}
};

static_assert(vccl::Telemetry<Telemetry>);

}  // namespace vccl::archetype
