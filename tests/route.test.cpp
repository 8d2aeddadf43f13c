// SPDX-License-Identifier: Apache-2.0
#include <vccl/route.hpp>

#include <doctest/doctest.h>

using namespace vccl;

TEST_CASE("one port is a path of one lane") {
  Route const r = PortId{3};
  CHECK(r.primary.count == 1);
  CHECK(r.primary.at[0] == PortId{3});
  CHECK(r.primary.at[1] == no_port);
  CHECK(r.backups[0].count == 0);
}

TEST_CASE("several ports keep their order, and one too many is counted so that set-up refuses it") {
  Ports const p{PortId{2}, PortId{0}};
  CHECK(p.count == 2);
  CHECK(p.at[0] == PortId{2});
  CHECK(p.at[1] == PortId{0});
  Ports const five{PortId{0}, PortId{1}, PortId{2}, PortId{3}, PortId{4}};
  CHECK(five.count == 5);
  CHECK(five.at[3] == PortId{3});
}
