// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/fault.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

TEST_CASE("the table of actions is in the order of the actions") {
  for (std::size_t i = 0; i < actions; ++i)
    CHECK(static_cast<std::size_t>(action_words[i].action) == i);
}

TEST_CASE("a place holds a port, all ports of a host, or all") {
  CHECK(Place{}.holds(3, 4));
  CHECK(Place{1, Place::all}.holds(1, 4));
  CHECK_FALSE(Place{1, Place::all}.holds(2, 4));
  CHECK(Place{1, 4}.holds(1, 4));
  CHECK_FALSE(Place{1, 4}.holds(1, 3));
}

TEST_CASE("drop to hold pick packets") {
  CHECK(picks_packets(Action::drop));
  CHECK(picks_packets(Action::hold));
  CHECK_FALSE(picks_packets(Action::link_latency));
  CHECK_FALSE(picks_packets(Action::gid_new));
}
