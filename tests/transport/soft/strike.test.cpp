// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/strike.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("a link goes down after a step, which is lost with it, and comes back after its time") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(p.b.post_receive(0, i) == Errc::ok);
  fabric.inject("after step 3 link host0.port0 down for 100ms");
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(p.a.post(p.notify(8, i)) == Errc::ok);
  CHECK(p.a.flush() == Errc::ok);
  CHECK(Pair::poll(p.b).size() == 2);
  CHECK(fabric.link(0, 0).stats().steps == 4);
  CHECK_FALSE(fabric.host(0).port_state(PortId{0}).active);
  p.run();
  CHECK(fabric.host(0).port_state(PortId{0}).active);
  CHECK(Pair::poll(p.b).size() == 2);
  CHECK(Pair::statuses(p.a) == V{0, 0, 0, 0});
  CHECK(fabric.fired(soft::Action::link_down) == 1);
}

TEST_CASE("a muted CQ loses completions, flushes too, and counts them") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  CHECK(p.go(p.write(8, 1)) == Errc::ok);
  fabric.inject("cq host0.port0 mute for 1ms");
  CHECK(p.go(p.write(8, 2)) == Errc::ok);
  CHECK(Pair::poll(p.a).size() == 1);
  CHECK(fabric.fired(soft::Action::cq_mute) == 1);
  fabric.advance(Duration{1'000'000});
  CHECK(p.go(p.write(8, 3)) == Errc::ok);
  auto const done = Pair::poll(p.a);
  REQUIRE(done.size() == 1);
  CHECK(done[0].id == 3);
}

TEST_CASE("QP and CQ events without a completion") {
  for (const char* script : {"qp host0.port0 fatal", "cq host0.port0 error"}) {
    soft::Fabric fabric{still({.latency = {1000}})};
    Pair p{fabric};
    CHECK(p.go(p.write(8)) == Errc::ok);
    fabric.inject(script);
    PortEvent e;
    REQUIRE(fabric.host(0).poll_event(e));
    bool const qp = e.kind == PortEvent::Kind::qp_fatal;
    CHECK((qp || e.kind == PortEvent::Kind::cq_error));
    CHECK(e.qp_num == (qp ? p.a.qp_number(0) : 0));
    CHECK(p.a.state(0) == soft::QpState::err);
    p.run();
    CHECK(Pair::poll(p.a).empty());
    CHECK(p.quiet());
    CHECK(p.connect());
    CHECK(p.go(p.write(8)) == Errc::ok);
    p.run();
    CHECK(Pair::statuses(p.a) == V{0});
  }
}

TEST_CASE("a CQ that broke is whole again when its device has been away, though none was reset") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  fabric.inject("cq host0.port0 error\ndevice host0.port0 fatal");
  CHECK(p.a.fence(FenceStep::reset) == Errc::ok);
  fabric.inject("device host0.port0 returns");
  CHECK(p.b.fence(FenceStep::reset) == Errc::ok);
  CHECK(p.connect());
  CHECK(p.go(p.write(8)) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{0});
}

TEST_CASE("speed, throttle and latency change by script") {
  soft::Fabric fabric{still()};
  fabric.inject(
      "link host0 speed 100Gbps\n"
      "link host0.port1 throttle 1Gbps\n"
      "at 5ms link any latency 2us\n"
      "at 6ms kill host1\nat 7ms revive host1");
  CHECK(fabric.host(0).port_state(PortId{0}).speed_mbps == 100'000);
  CHECK(fabric.host(0).port_state(PortId{1}).speed_mbps == 100'000);
  CHECK(fabric.host(1).port_state(PortId{0}).speed_mbps == 800'000);
  fabric.advance(Duration{6'500'000});
  CHECK_FALSE(fabric.host(1).port_state(PortId{0}).active);
  fabric.advance(Duration{1'000'000});
  CHECK(fabric.host(1).port_state(PortId{0}).active);
  CHECK(fabric.fired(soft::Action::link_speed) == 1);
  CHECK(fabric.fired(soft::Action::kill) == 1);
}
