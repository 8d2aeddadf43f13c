// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/aggregate/no_aggregation.hpp>

#include <contracts/aggregator_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using aggregate::NoAggregation;

TEST_CASE("no aggregation keeps the contract of an aggregator") {
  CHECK(contracts::aggregator<NoAggregation>() == "");
}

TEST_CASE("not even the same op joins") {
  constexpr ProxyOp op{.op_count = 3, .peer = 1, .connection = 2};
  CHECK_FALSE(NoAggregation::may_join(op, 1, op));
}

}  // namespace
}  // namespace vccl::test
