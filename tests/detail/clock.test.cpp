// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/clock.hpp>

#include <doctest/doctest.h>

using namespace vccl::detail;

TEST_CASE("the machine's clock does not run backwards") {
  vccl::Time const first = monotonic_now();
  CHECK(monotonic_now() >= first);
}

TEST_CASE("neighbours are mixed apart") {
  static_assert(mix(1) != mix(2));
  CHECK((mix(1) ^ mix(2)) > 0xffff'ffff);
}

TEST_CASE("entropy does not repeat") { CHECK(entropy() != entropy()); }
