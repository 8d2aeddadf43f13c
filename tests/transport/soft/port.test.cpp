// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/port.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

TEST_CASE("a GID holds host, port and serial number") {
  GidParts const g = gid_parts(make_gid({0x1234, 0x5678, 0x9abcdef0}));
  CHECK(g.host == 0x1234);
  CHECK(g.port == 0x5678);
  CHECK(g.serial == 0x9abcdef0);
  CHECK(make_gid({1, 2, 3}) != make_gid({1, 2, 4}));
}

TEST_CASE("a port answers to the GIDs in its table") {
  Port p;
  CHECK(p.first_gid() == Port::gid_slots);
  p.gids[3] = 9;
  CHECK(p.first_gid() == 3);
  CHECK(p.answers_to(9));
  CHECK_FALSE(p.answers_to(8));
  CHECK_FALSE(p.answers_to(0));
}

TEST_CASE("the slower of speed and throttle counts, and only speed is reported") {
  Port p;
  CHECK(p.rate() == 0);
  CHECK(p.speed_mbps() == 800'000);
  p.throttle = 5'000'000;
  CHECK(p.rate() == 5'000'000);
  p.speed = 12'500'000;
  CHECK(p.rate() == 5'000'000);
  CHECK(p.speed_mbps() == 100);
  p.throttle = 0;
  CHECK(p.rate() == 12'500'000);
}
