// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/port_actions.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

namespace {

std::vector<PortEvent::Kind> events(soft::Host& h) {
  std::vector<PortEvent::Kind> all;
  for (PortEvent e; h.poll_event(e);) all.push_back(e.kind);
  return all;
}
using K = PortEvent::Kind;
using Ks = std::vector<PortEvent::Kind>;

}  // namespace

TEST_CASE("pulling a cable tells this end once, and the far port stays active") {
  soft::Fabric fabric{still()};
  fabric.link(0, 1).down();
  fabric.link(0, 1).down();
  CHECK_FALSE(fabric.host(0).port_state(PortId{1}).active);
  CHECK(fabric.host(1).port_state(PortId{1}).active);
  fabric.link(0, 1).up();
  CHECK(fabric.host(0).port_state(PortId{1}).active);
  CHECK(events(fabric.host(0)) == Ks{K::port_error, K::port_active});
  CHECK(events(fabric.host(1)).empty());
}

TEST_CASE(
    "a GID that is gone stops the traffic and a description; it comes back at another index") {
  soft::Fabric fabric{still({.gids_per_port = 3})};
  Pair p{fabric, {.timeout = 5, .retry_count = 0}};
  fabric.inject("gid host0.port0 remove");
  CHECK(p.go(p.write(8)) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{12});
  CHECK(p.quiet());
  LaneAddress again;
  CHECK(p.a.describe(again) == Errc::would_block);
  fabric.inject("gid host0.port0 move 5");
  CHECK(p.a.describe(again) == Errc::ok);
  CHECK(again.gid == p.at_a.gid);
  CHECK(p.connect());
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(events(fabric.host(0)) == Ks{K::address_change, K::address_change});
}

TEST_CASE("a port with another GID is another address: old connections are cut, new ones work") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.timeout = 5, .retry_count = 0}};
  fabric.inject("gid host1.port0 new");
  CHECK(p.go(p.write(8)) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{12});
  CHECK(p.quiet());
  LaneAddress const old = p.at_b;
  CHECK(p.connect());
  CHECK(p.at_b.gid != old.gid);
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
}

TEST_CASE("a dead device flushes nothing, takes nothing, and tells for every port of the card") {
  soft::Fabric fabric{still({.ports_per_host = 3, .ports_per_card = 2})};
  Pair p{fabric};
  CHECK(p.a.post_receive(0, 1) == Errc::ok);
  fabric.inject("device host0.port1 fatal");
  CHECK(events(fabric.host(0)) == Ks{K::device_fatal, K::device_fatal});
  CHECK(fabric.host(0).port_state(PortId{2}).active);
  CHECK(Pair::poll(p.a).empty());
  CHECK(p.a.post(p.write(8)) == Errc::path_down);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  LaneAddress mine;
  CHECK(p.a.describe(mine) == Errc::path_down);
  CHECK_THROWS_AS((SoftNic{fabric.host(0), {.port = PortId{0}}}), SetupError);
  fabric.inject("device host0.port0 returns");
  CHECK(p.quiet());
  std::uint32_t const old = p.at_a.qp_numbers[0];
  CHECK(p.connect());
  CHECK(p.at_a.qp_numbers[0] != old);
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
}

TEST_CASE(
    "a killed host is silent, its lanes stay dead, and a new process starts with new numbers") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.timeout = 5, .retry_count = 0}};
  fabric.kill(1);
  CHECK_FALSE(fabric.host(1).port_state(PortId{0}).active);
  CHECK(p.go(p.write(8)) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{12});
  CHECK_THROWS_AS((void)fabric.host(1).listen(), SetupError);
  fabric.revive(1);
  LaneAddress mine;
  CHECK(p.b.describe(mine) == Errc::path_down);
  CHECK(p.b.post_receive(0, 1) == Errc::path_down);
  CHECK(p.b.fence(FenceStep::reset) == Errc::ok);
  SoftNic fresh{fabric.host(1), {.port = PortId{0}}};
  CHECK(fresh.describe(mine) == Errc::ok);
  CHECK(mine.qp_numbers != p.at_b.qp_numbers);
  CHECK(fabric.census().registrations == 1);
}
