// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/clock.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

TEST_CASE("the same seed gives the same numbers, another one others") {
  Random a{7}, b{7}, c{8};
  std::uint64_t const n = a.next();
  CHECK(n == b.next());
  CHECK(n != c.next());
  CHECK(a.next() != n);
}

TEST_CASE("a number below a bound is below it, and below zero there is zero") {
  Random r{1};
  bool seen[3] = {};
  for (int i = 0; i < 100; ++i) seen[r.below(3)] = true;
  CHECK((seen[0] && seen[1] && seen[2]));
  CHECK(r.below(0) == 0);
}
