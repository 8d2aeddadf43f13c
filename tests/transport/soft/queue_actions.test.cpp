// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/queue_actions.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

// IBTA vol. 1, 10.3.1.5: in ERR, posted work is accepted and completes flushed.
TEST_CASE("work posted to a QP in ERR flushes, sends when rung, receives at once") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  CHECK(p.a.post(p.write(8, 1)) == Errc::ok);
  CHECK(Pair::poll(p.a).empty());
  CHECK(p.a.flush() == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{5});
  CHECK(p.a.post_receive(0, 2) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{5});
  CHECK(fabric.posts_not_rts() == 1);
}

TEST_CASE("a driver that keeps receives posted in ERR can be had") {
  soft::Fabric fabric{still({.flush_receives_in_error = false})};
  Pair p{fabric};
  CHECK(p.a.post_receive(0, 1) == Errc::ok);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  CHECK(p.a.post_receive(0, 2) == Errc::ok);
  CHECK(Pair::poll(p.a).size() == 1);
}

TEST_CASE("work posted before RTS is refused, receives are taken from INIT on") {
  soft::Fabric fabric{still()};
  SoftNic n{fabric.host(0), {.port = PortId{0}}};
  CHECK(n.post(WorkRequest{}) == Errc::path_down);
  CHECK(n.post_receive(0, 1) == Errc::path_down);
  LaneAddress mine;
  CHECK(n.describe(mine) == Errc::ok);
  CHECK(n.post(WorkRequest{}) == Errc::path_down);
  CHECK(n.post_receive(0, 1) == Errc::ok);
  CHECK(fabric.posts_not_rts() == 2);
}

TEST_CASE("flushes come in order on both queues, and RESET takes what was not polled") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  fabric.link(0, 0).down();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    CHECK(p.a.post(p.write(8, id)) == Errc::ok);
    CHECK(p.a.post_receive(0, 10 + id) == Errc::ok);
  }
  CHECK(p.a.flush() == Errc::ok);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  std::vector<Completion> first(4);
  CHECK(p.a.poll(first) == 4);
  CHECK((first[0].id == 1 && first[1].id == 2 && first[2].id == 3 && first[3].id == 11));
  CHECK(p.a.fence(FenceStep::reset) == Errc::ok);
  CHECK(Pair::poll(p.a).empty());
}

// IBTA vol. 1, 11.6.3.3: a CQ that overruns is in error, and so are its QPs.
TEST_CASE("a CQ that overruns tells by an event, its QPs go to ERR, and RESET repairs it") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.cq_depth = 2}};
  for (std::uint64_t id = 1; id <= 3; ++id) CHECK(p.go(p.write(8, id)) == Errc::ok);
  PortEvent e;
  REQUIRE(fabric.host(0).poll_event(e));
  CHECK(e.kind == PortEvent::Kind::cq_error);
  CHECK_FALSE(fabric.host(0).poll_event(e));
  CHECK(p.a.state(0) == soft::QpState::err);
  CHECK(Pair::poll(p.a).size() == 2);
  CHECK(p.quiet());
  CHECK(p.connect());
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
}

TEST_CASE("the default CQ holds everything that the queues can hold") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.qps = 2, .send_depth = 8, .receive_depth = 4}};
  fabric.link(0, 0).down();
  for (std::uint8_t qp = 0; qp < 2; ++qp) {
    WorkRequest w = p.write(8);
    w.qp = qp;
    while (p.a.post(w) == Errc::ok) {
    }
    while (p.a.post_receive(qp, 1) == Errc::ok) {
    }
  }
  Memory const m{address_of(p.source.data()), 1, nullptr, MemoryKind::host};
  while (p.a.post_flush_read(m, p.from.keys(), 1) == Errc::ok) {
  }
  CHECK(p.a.flush() == Errc::ok);
  CHECK(p.a.fence(FenceStep::error) == Errc::ok);
  CHECK(Pair::poll(p.a).size() == 32);
  PortEvent e;
  CHECK(fabric.host(0).poll_event(e));
  CHECK(e.kind == PortEvent::Kind::port_error);
  CHECK_FALSE(fabric.host(0).poll_event(e));
}
