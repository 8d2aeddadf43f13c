// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/engine.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("a QP takes packets of its own peer only") {
  soft::Fabric fabric{still({.reuse_qp_numbers = true})};
  Pair p{fabric, {.timeout = 5, .retry_count = 0}};
  // A third lane claims to be connected to b, which is connected to a.
  SoftNic c{fabric.host(0), {.port = PortId{1}, .timeout = 5, .retry_count = 0}};
  LaneAddress at_c;
  CHECK((c.describe(at_c) == Errc::ok && c.connect(p.at_b) == Errc::ok));
  WorkRequest w;
  CHECK((c.post(w) == Errc::ok && c.flush() == Errc::ok));
  p.run();
  CHECK(Pair::statuses(c) == V{12});
  CHECK(fabric.link(1, 0).stats().packets_ignored == 1);
}

TEST_CASE("packets to a QP in RESET or ERR are dropped without an answer") {
  for (FenceStep step : {FenceStep::error, FenceStep::reset}) {
    soft::Fabric fabric{still()};
    Pair p{fabric, {.timeout = 5, .retry_count = 1}};
    CHECK(p.b.fence(step) == Errc::ok);
    CHECK(p.go(p.write(8)) == Errc::ok);
    p.run();
    CHECK(Pair::statuses(p.a) == V{12});
    CHECK(fabric.link(1, 0).stats().packets_ignored == 2);
    CHECK(fabric.link(1, 0).stats().packets_sent == 0);
    CHECK(p.target[0] == std::byte{0});
  }
}

TEST_CASE("a timer that was stopped does not make time pass") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(fabric.next_event() == soft::never);
  CHECK_FALSE(fabric.step());
  CHECK(fabric.now() == Time{});
}
