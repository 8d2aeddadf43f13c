// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/lane_setup.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("each arming has fresh packet numbers and keeps the QP numbers") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  std::vector<std::uint32_t> seen;
  std::uint32_t const number = p.at_a.qp_numbers[0];
  for (int i = 0; i < 200; ++i) {
    for (std::uint32_t s : seen) CHECK(s != p.at_a.packet_numbers[0]);
    seen.push_back(p.at_a.packet_numbers[0]);
    if (seen.size() > 16) seen.erase(seen.begin());
    CHECK(p.quiet());
    CHECK(p.connect());
    CHECK(p.at_a.qp_numbers[0] == number);
  }
}

TEST_CASE("a QP that RESET has broken is made anew, with another number") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  fabric.inject("reset host0.port0 breaks");
  std::uint32_t const number = p.at_a.qp_numbers[0];
  CHECK(p.quiet());
  CHECK(p.connect());
  CHECK(p.at_a.qp_numbers[0] != number);
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(fabric.census().queue_pairs == 4);
  CHECK(fabric.messages_by_qp(p.at_a.qp_numbers[0]) == 1);
  CHECK(fabric.messages_by_qp(number) == 0);
}

TEST_CASE("a description needs a port, and a connection needs a description of the same shape") {
  soft::Fabric fabric{still({.mtu = 1024})};
  SoftNic n{fabric.host(0), {.port = PortId{0}, .qps = 2}};
  SoftNic m{fabric.host(1), {.port = PortId{0}, .qps = 2}};
  LaneAddress a, b;
  CHECK(n.connect(a) == Errc::invalid_argument);
  fabric.link(0, 0).down();
  CHECK(n.describe(a) == Errc::would_block);
  fabric.link(0, 0).up();
  CHECK(n.describe(a) == Errc::ok);
  LaneAddress twice;
  CHECK(n.describe(twice) == Errc::ok);
  CHECK(twice == a);
  CHECK((a.qps == 2 && a.mtu == 3 && a.speed_mbps == 800'000 && a.max_message == 1u << 30));
  CHECK(m.describe(b) == Errc::ok);
  LaneAddress bad = b;
  bad.qps = 1;
  CHECK(n.connect(bad) == Errc::invalid_argument);
  fabric.link(0, 0).down();
  CHECK(n.connect(b) == Errc::would_block);
  fabric.link(0, 0).up();
  CHECK(n.connect(b) == Errc::ok);
  CHECK(n.connect(b) == Errc::ok);
  CHECK(n.describe(a) == Errc::invalid_argument);
  CHECK(n.fence(FenceStep::error) == Errc::ok);
  CHECK(n.describe(a) == Errc::path_down);
  CHECK(n.connect(b) == Errc::path_down);
}

TEST_CASE("the smaller MTU and message size of both ends count") {
  soft::Fabric fabric{still()};
  fabric.link(1, 0).set_mtu(256);
  Pair p{fabric};
  CHECK(p.go(p.write(1000)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(fabric.link(0, 0).stats().packets_sent == 4);
}

TEST_CASE("a slow fence takes its time, a failing one fails, a hanging one never ends") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  fabric.inject("fence host0.port0 takes 20ms on error count 1");
  CHECK(p.a.fence(FenceStep::error) == Errc::would_block);
  fabric.advance(Duration{19'999'999});
  CHECK(p.a.state(0) == soft::QpState::rts);
  CHECK(p.a.fence(FenceStep::error) == Errc::would_block);
  fabric.advance(Duration{1});
  CHECK(p.a.state(0) == soft::QpState::err);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  fabric.inject("fence host0.port0 hangs on reset\nfence host1.port0 fails");
  CHECK(p.a.fence(FenceStep::reset) == Errc::would_block);
  fabric.advance(Duration{1'000'000'000});
  CHECK(p.a.fence(FenceStep::reset) == Errc::would_block);
  CHECK(p.b.fence(FenceStep::error) == Errc::failed);
  CHECK(p.b.state(0) == soft::QpState::rts);
  CHECK(fabric.fired(soft::Action::fence_takes) == 1);
  CHECK(fabric.fired(soft::Action::fence_hangs) == 2);
  CHECK(fabric.fired(soft::Action::fence_fails) == 1);
}

TEST_CASE("numbers out of range are refused with advice") {
  soft::Fabric fabric{still()};
  CHECK_THROWS_AS((SoftNic{fabric.host(0), {.port = PortId{2}}}), SetupError);
  CHECK_THROWS_AS((SoftNic{fabric.host(0), {.port = PortId{0}, .qps = 5}}), SetupError);
  CHECK_THROWS_AS((SoftNic{fabric.host(0), {.port = PortId{0}, .timeout = 32}}), SetupError);
  CHECK(fabric.census().queue_pairs == 0);
}
