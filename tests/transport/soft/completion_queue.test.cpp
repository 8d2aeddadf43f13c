// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/completion_queue.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::soft;

TEST_CASE("a completion queue holds its depth, in order, and no more (IBTA vol. 1, 11.6.3.3)") {
  CompletionQueue q;
  q.set_depth(20);
  CompletionEntry e;
  for (int i = 0; i < 20; ++i) {
    e.what.id = static_cast<std::uint64_t>(i);
    CHECK(q.push(e));
  }
  CHECK_FALSE(q.push(e));
  CHECK(q.pop().what.id == 0);
  e.what.id = 20;
  CHECK(q.push(e));
  bool good = true;
  for (std::uint64_t i = 1; i <= 20; ++i) good = good && q.pop().what.id == i;
  CHECK(good);
  CHECK(q.empty());
}

TEST_CASE(
    "a failed completion says its id, status, QP and vendor error, and noise (man ibv_poll_cq)") {
  Random noise{1};
  Completion c;
  c.id = 7;
  c.status = Status::flushed;
  c.qp_num = 5;
  c.vendor_error = 3;
  bool kinds[3] = {};
  std::uint32_t immediates = 0, bytes = 0;
  for (int i = 0; i < 100; ++i) {
    spoil(c, noise);
    kinds[static_cast<std::size_t>(c.kind)] = true;
    immediates |= c.immediate;
    bytes |= c.bytes;
  }
  CHECK((kinds[0] && kinds[1] && kinds[2]));
  CHECK(immediates == 0xffff'ffff);
  CHECK(bytes == 0xffff'ffff);
  CHECK((c.id == 7 && c.status == Status::flushed && c.qp_num == 5 && c.vendor_error == 3));
}
