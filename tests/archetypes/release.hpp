// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Release: always waits for the receiver.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Release {
  static bool on_acknowledgement(bool) noexcept { return false; }
};

static_assert(vccl::Release<Release>);

}  // namespace vccl::archetype
