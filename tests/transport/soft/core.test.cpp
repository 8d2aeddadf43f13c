// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/core.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

TEST_CASE("QP numbers are fresh unless asked to be used again, and never 0 or 1") {
  QpTable t;
  std::uint32_t const first = t.create(false).number;
  CHECK(first > 1);
  t.destroy(*t.find(first));
  CHECK(t.find(first) == nullptr);
  std::uint32_t const second = t.create(false).number;
  CHECK(second != first);
  t.destroy(*t.find(second));
  CHECK(t.create(true).number == second);
  CHECK(t.live() == 1);
}

TEST_CASE("messages of a QP are remembered after it is gone") {
  QpTable t;
  QueuePair& qp = t.create(true);
  std::uint32_t const number = qp.number;
  qp.messages = 3;
  CHECK(t.messages(number) == 3);
  t.destroy(qp);
  CHECK(t.messages(number) == 3);
  t.create(true).messages = 2;
  CHECK(t.messages(number) == 5);
  CHECK(t.messages(number + 1) == 0);
}
