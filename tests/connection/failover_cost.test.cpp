// SPDX-License-Identifier: Apache-2.0
#include <support/failover_cost.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace vccl::test {
namespace {

/// Time is virtual, so this depends on no machine. What is above the limit is the time between two
/// polls.
void check(End detects, std::size_t outstanding, double most_round_trips) {
  CAPTURE(outstanding);
  FailoverCost const cost = failover_cost(detects, outstanding);
  CHECK(cost.problems == "");
  CHECK(cost.faults == 1);
  CHECK(cost.failovers == 2);
  CHECK(cost.outstanding == outstanding);
  CHECK(cost.resent_bytes == cost.missing_bytes);
  CHECK(cost.round_trips() >= most_round_trips - 0.001);  // Less would be no measurement.
  CHECK(cost.round_trips() <= most_round_trips + 0.02);
}

}  // namespace

TEST_CASE("a receiver that detects sees the first new byte a round trip after the fence") {
  for (std::size_t outstanding : {0u, 64u}) check(End::receiver, outstanding, 1.0);
}

TEST_CASE("when the sender detects it is one and a half") {
  for (std::size_t outstanding : {0u, 64u}) check(End::sender, outstanding, 1.5);
}

TEST_CASE("of fences that take time only the receiver's comes on top") {
  for (End detects : {End::sender, End::receiver}) {
    FailoverCost const cost = failover_cost(detects, 64, 4096, Duration{15'000});
    double const limit = detects == End::sender ? 1.5 : 1.0;
    CHECK(cost.problems == "");
    CHECK(cost.fence.ns >= 30'000);
    CHECK(cost.round_trips() >= limit - 0.01);
    CHECK(cost.round_trips() <= limit + 0.02);
  }
}

TEST_CASE("exactly the steps that the receiver did not have are sent again") {
  for (std::size_t outstanding : {1u, 7u, 33u}) {
    for (End detects : {End::sender, End::receiver}) {
      CAPTURE(outstanding);
      FailoverCost const cost = failover_cost(detects, outstanding, 1000);
      CHECK(cost.problems == "");
      CHECK(cost.outstanding == outstanding);
      CHECK(cost.resent_bytes == outstanding * 1000);
    }
  }
}

}  // namespace vccl::test
