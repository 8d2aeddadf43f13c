// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// aggregate::NoAggregation: every op has args of its own.

#include <vccl/concepts.hpp>

#include <cstddef>
#include <type_traits>

namespace vccl::aggregate {

/// Lets no op join another.
///
/// State: none.
/// Hot path: a constant.
/// Thread safety: pure function.
/// Use when there is one peer, or to measure what joining gains.
struct NoAggregation {
  [[nodiscard]] static constexpr bool may_join(ProxyOp const& /*last*/, std::size_t /*count*/,
                                               ProxyOp const& /*op*/) noexcept {
    return false;
  }
};

static_assert(Aggregator<NoAggregation>);
static_assert(std::is_empty_v<NoAggregation>);

}  // namespace vccl::aggregate
