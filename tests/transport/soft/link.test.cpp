// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/link.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("a link's numbers say what moved, first and again") {
  soft::Fabric fabric{still({.latency = {10}})};
  Pair p{fabric};
  fabric.inject("drop data host0.port0 count 1");
  CHECK(p.go(p.write(10'000)) == Errc::ok);
  p.run();
  soft::PortStats const s = fabric.link(0, 0).stats();
  CHECK(s.data_bytes == 10'000);
  CHECK(s.data_bytes_again == 10'000);
  CHECK(s.packets_dropped == 1);
  CHECK(s.packets_sent == 6);
  CHECK(fabric.link(1, 0).stats().packets_delivered == 5);
}

TEST_CASE("only data counts as data and as steps") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  CHECK(p.b.post_receive(0, 1) == Errc::ok);
  CHECK(p.b.post_receive(0, 2) == Errc::ok);
  WorkRequest w = p.notify(100, 1);
  w.traffic = Traffic::control;
  CHECK(p.go(w) == Errc::ok);
  CHECK(fabric.link(0, 0).stats().steps == 0);
  w.traffic = Traffic::data;
  CHECK(p.go(w) == Errc::ok);
  CHECK(fabric.link(0, 0).stats().steps == 1);
  CHECK(fabric.link(0, 0).stats().data_bytes == 100);
  CHECK(fabric.messages_by_qp(p.at_a.qp_numbers[0]) == 1);
}

TEST_CASE("a speed that is set is reported, a throttle is not") {
  soft::Fabric fabric{still()};
  fabric.link(0, 0).throttle(1000);
  CHECK(fabric.host(0).port_state(PortId{0}).speed_mbps == 800'000);
  fabric.link(0, 0).set_speed(12'500'000);
  CHECK(fabric.host(0).port_state(PortId{0}).speed_mbps == 100);
}
