// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/event_queue.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::soft;

TEST_CASE("events come by time, and at the same time in the order in which they were added") {
  EventQueue q;
  q.push(Time{5}, Event::Kind::packet, 1);
  q.push(Time{3}, Event::Kind::packet, 2);
  q.push(Time{5}, Event::Kind::packet, 3);
  q.push(Time{3}, Event::Kind::wire, 4, 9);
  CHECK_FALSE(q.due(Time{2}));
  CHECK(q.due(Time{3}));
  CHECK(q.pop().subject == 2);
  Event const e = q.pop();
  CHECK(e.subject == 4);
  CHECK(e.detail == 9);
  CHECK(q.pop().subject == 1);
  CHECK(q.pop().subject == 3);
  CHECK(q.empty());
}

TEST_CASE("a ring keeps its order while it grows and wraps") {
  Ring<int> r;
  int in = 0, out = 0;
  bool good = true;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7; ++i) r.push(in++);
    for (int i = 0; i < 5; ++i) good = good && r.pop() == out++;
  }
  while (!r.empty()) good = good && r.pop() == out++;
  CHECK(good);
  CHECK(in == out);
}
