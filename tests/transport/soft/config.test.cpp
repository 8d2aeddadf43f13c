// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/config.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

TEST_CASE("a fabric is two hosts with one card of two ports unless told otherwise") {
  FabricConfig const c;
  CHECK(c.hosts == 2);
  CHECK(c.ports_per_host == 2);
  CHECK(c.ports_per_card == 2);
  CHECK_FALSE(c.virtual_time);
  CHECK(c.max_message == 1u << 30);
}
