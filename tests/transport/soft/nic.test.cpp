// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/nic.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("what is posted goes out when the bell is rung") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  CHECK(p.a.post(p.write(8, 1)) == Errc::ok);
  CHECK_FALSE(fabric.step());
  CHECK(Pair::poll(p.a).empty());
  CHECK(p.a.flush() == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
}

TEST_CASE("inlined bytes are those of the moment of posting and need no key") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  WorkRequest w = p.write(256);
  w.inlined = true;
  w.keys.local = 0;
  CHECK(p.a.post(w) == Errc::ok);
  std::byte const was = p.source[255];
  p.source[255] = std::byte{0};
  CHECK(p.a.flush() == Errc::ok);
  CHECK(p.target[255] == was);
  w.length = 257;
  CHECK(p.a.post(w) == Errc::invalid_argument);
  w.length = 1;
  w.qp = 1;
  CHECK(p.a.post(w) == Errc::invalid_argument);
}

TEST_CASE("full queues say would_block and take nothing, and polling makes room") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.send_depth = 3, .receive_depth = 2}};
  for (int i = 0; i < 3; ++i) CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(p.a.post(p.write(8)) == Errc::would_block);
  CHECK(Pair::poll(p.a).size() == 3);
  CHECK(p.a.post(p.write(8)) == Errc::ok);
  CHECK(p.a.post_receive(0, 1) == Errc::ok);
  CHECK(p.a.post_receive(0, 2) == Errc::ok);
  CHECK(p.a.post_receive(0, 3) == Errc::would_block);
}

TEST_CASE("the script refuses the call that it names, as the errno says") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  fabric.inject(
      "call post_send 2 host0 fails ENOMEM\ncall post_send 3 host0 fails EIO\n"
      "call post_receive 1 host0 fails EINVAL\ncall flush 1 host0 fails EAGAIN\n"
      "call poll 1 host0 fails EIO\ncall describe 1 host0.port1 fails EIO\n"
      "call connect 1 host0.port1 fails ENOMEM\ncall fence 1 host0.port0 fails EIO");
  CHECK(p.a.post(p.write(8)) == Errc::ok);
  CHECK(p.a.post(p.write(8)) == Errc::would_block);
  // A rule that refuses a call keeps it from the rules behind: the next one is the second rule's
  // third.
  CHECK(p.a.post(p.write(8)) == Errc::ok);
  CHECK(p.a.post(p.write(8)) == Errc::path_down);
  CHECK(p.a.post_receive(0, 1) == Errc::invalid_argument);
  CHECK(p.a.flush() == Errc::would_block);
  CHECK(p.a.flush() == Errc::ok);
  CHECK(Pair::poll(p.a).empty());
  CHECK(Pair::poll(p.a).size() == 2);
  SoftNic n{fabric.host(0), {.port = PortId{1}}};
  LaneAddress at;
  CHECK(n.describe(at) == Errc::path_down);
  CHECK(n.describe(at) == Errc::ok);
  CHECK(n.connect(at) == Errc::would_block);
  CHECK(p.a.fence(FenceStep::error) == Errc::failed);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  CHECK(fabric.fired(soft::Action::call_fails) == 8);
}

TEST_CASE("a lane that goes away takes its QPs along, also with work under way") {
  soft::Fabric fabric{still({.latency = {1000}})};
  {
    Pair p{fabric};
    CHECK(p.go(p.write(100'000)) == Errc::ok);
    CHECK(fabric.census().packets > 0);
  }
  while (fabric.step()) {
  }
  CHECK(fabric.census().queue_pairs == 0);
  CHECK(fabric.census().packets == 0);
}

TEST_CASE(
    "a stale packet that meets a new QP of the old number is told by its packet number only") {
  for (std::int32_t psn : {-1, 5}) {
    soft::Fabric fabric{still({.reuse_qp_numbers = true, .first_psn = psn})};
    std::vector<std::byte> seen(8);
    fabric.inject("hold data host0.port0 for 1ms count 1");
    LaneAddress before;
    {
      Pair p{fabric};
      before = p.at_b;
      CHECK(p.go(p.write(8)) == Errc::ok);
    }
    Pair q{fabric};
    CHECK(q.at_b.qp_numbers == before.qp_numbers);
    auto const packets = fabric.link(1, 0).stats().packets_delivered;
    fabric.advance(Duration{1'000'000});
    CHECK(fabric.link(1, 0).stats().packets_delivered == packets + 1);
    // The old registration is gone: carrying it out is refused, recognising it as stale is not.
    CHECK(q.b.state(0) == (psn < 0 ? soft::QpState::rts : soft::QpState::err));
  }
}
