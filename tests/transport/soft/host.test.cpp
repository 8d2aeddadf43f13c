// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/host.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

namespace {

std::vector<std::byte> text(std::size_t n) { return std::vector<std::byte>(n, std::byte{42}); }

}  // namespace

TEST_CASE("messages arrive whole and in order after the latency") {
  soft::Fabric fabric{still({.oob_latency = {1000}})};
  auto door = fabric.host(1).listen();
  auto near = fabric.host(0).dial(door.address());
  soft::HostPipe far;
  CHECK_FALSE(door.accept(far));
  CHECK(near.send(text(3)) == Errc::ok);
  CHECK(near.send(text(5)) == Errc::ok);
  fabric.advance(Duration{1000});
  REQUIRE(door.accept(far));
  std::array<std::byte, 4096> into;
  CHECK(far.receive(into) == 3);
  CHECK(far.receive(into) == 5);
  CHECK(far.receive(into) == 0);
  CHECK(far.send(text(4096)) == Errc::ok);
  CHECK(far.send(text(4097)) == Errc::invalid_argument);
  CHECK(near.receive(into) == 0);
  fabric.advance(Duration{1000});
  CHECK(near.receive(into) == 4096);
}

TEST_CASE("a late message holds up the ones behind it, a lost first one does not lose the pipe") {
  soft::Fabric fabric{still()};
  fabric.inject("drop oob host0 count 1\nafter packet 1 delay oob host0 by 5us count 1");
  auto door = fabric.host(1).listen();
  auto near = fabric.host(0).dial(door.address());  // this one is lost
  CHECK(near.send(text(1)) == Errc::ok);            // this one is late
  CHECK(near.send(text(2)) == Errc::ok);
  soft::HostPipe far;
  CHECK_FALSE(door.accept(far));
  fabric.advance(Duration{5'000});
  REQUIRE(door.accept(far));
  std::array<std::byte, 16> into;
  CHECK(far.receive(into) == 1);
  CHECK(far.receive(into) == 2);
  CHECK(fabric.fired(soft::Action::drop) == 1);
  CHECK(fabric.fired(soft::Action::delay) == 1);
}

TEST_CASE("a killed host's pipes lose everything, and a new door is another address") {
  soft::Fabric fabric{still()};
  auto door = fabric.host(1).listen();
  auto near = fabric.host(0).dial(door.address());
  soft::HostPipe far;
  REQUIRE(door.accept(far));
  CHECK(near.send(text(1)) == Errc::ok);
  fabric.kill(1);
  std::array<std::byte, 16> into;
  CHECK(far.receive(into) == 0);
  CHECK(far.send(text(1)) == Errc::path_down);
  CHECK(near.send(text(1)) == Errc::ok);  // nobody tells
  fabric.revive(1);
  auto fresh = fabric.host(1).listen();
  CHECK_FALSE(fresh.address() == door.address());
  auto again = fabric.host(0).dial(door.address());
  CHECK(again.send(text(1)) == Errc::ok);
  CHECK_FALSE(door.accept(far));
  CHECK_FALSE(fresh.accept(far));
}

TEST_CASE("random numbers follow from the seed when time is virtual, and differ by host") {
  soft::Fabric one{still({.seed = 5})}, same{still({.seed = 5})}, real{{.seed = 5}};
  std::uint64_t const n = one.host(0).random();
  CHECK(n == same.host(0).random());
  CHECK(n != one.host(1).random());
  CHECK(real.host(0).random() != real.host(0).random());
  CHECK(real.host(0).real_time());
  CHECK_FALSE(one.host(0).real_time());
}

TEST_CASE("ports of a card share it") {
  soft::Fabric fabric{still({.ports_per_host = 4, .ports_per_card = 2})};
  CHECK(fabric.host(0).port_count() == 4);
  CHECK(fabric.host(0).port_state(PortId{1}).card == 0);
  CHECK(fabric.host(0).port_state(PortId{2}).card == 1);
  CHECK_FALSE(fabric.host(0).port_state(PortId{4}).active);
}
