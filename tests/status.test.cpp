// SPDX-License-Identifier: Apache-2.0
#include <vccl/status.hpp>

#include <doctest/doctest.h>

TEST_CASE("a status that nobody filled claims nothing") {
  vccl::ConnectionStatus const s;
  CHECK_FALSE(s.ready);
  CHECK_FALSE(s.ended);
  CHECK_FALSE(s.has_backup);
  CHECK_FALSE(s.buffers_unsafe);
  CHECK(s.usable_paths == 0);
  CHECK(s.cause == vccl::Cause::none);
  CHECK(s.counters.failovers == 0);
}
