// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Aggregator: joins nothing.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Aggregator {
  static bool may_join(ProxyOp const&, std::size_t, ProxyOp const&) noexcept { return false; }
};

static_assert(vccl::Aggregator<Aggregator>);

}  // namespace vccl::archetype
