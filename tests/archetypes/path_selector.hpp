// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest PathSelector: no port has a backup.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct PathSelector {
  static PortId backup(PortId, std::span<PortView const>, std::size_t) noexcept { return no_port; }
};

static_assert(vccl::PathSelector<PathSelector>);

}  // namespace vccl::archetype
