// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/queue_pair.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

TEST_CASE(
    "a QP goes RESET, INIT, RTR, RTS, from anywhere to RESET, from all but RESET to ERR (IBTA vol. "
    "1, 10.3.1)") {
  constexpr QpState all[] = {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                             QpState::err};
  constexpr bool allowed[5][5] = {
      // to reset, init, rtr, rts, err
      {true, true, false, false, false},  // from reset
      {true, true, true, false, true},    // from init
      {true, false, false, true, true},   // from rtr
      {true, false, false, true, true},   // from rts
      {true, false, false, false, true},  // from err
  };
  for (std::size_t from = 0; from < 5; ++from) {
    for (std::size_t to = 0; to < 5; ++to) CHECK(may_go(all[from], all[to]) == allowed[from][to]);
  }
}

TEST_CASE("a work queue is full at its depth, and places come back in order") {
  WorkQueue<int> q;
  q.set_depth(100);
  for (int i = 0; i < 100; ++i) q.push() = i;
  CHECK(q.full());
  CHECK(q[37] == 37);
  q.retire(10);
  CHECK_FALSE(q.full());
  q.retire(5);
  CHECK(q.head() == 10);
  q.clear();
  CHECK(q.head() == q.tail());
}

TEST_CASE(
    "an answer's packet number is found on both sides of the oldest unacknowledged one, over the "
    "wrap") {
  QueuePair qp;
  qp.first_psn = 0xff'fff0;
  qp.unacked = 0x20;
  CHECK(qp.psn_of(0x20) == 0x10);
  CHECK(qp.packet_of(0x15) == 0x25);
  CHECK(qp.packet_of(0xff'fff5) == 5);
}
