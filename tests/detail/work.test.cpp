// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/work.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::detail;

TEST_CASE("a work id comes back as it went, with its numbers at their limits") {
  auto const same = [](WorkId a) {
    WorkId const b = unpack_work(pack(a));
    return a.work == b.work && a.generation == b.generation && a.queue == b.queue &&
           a.sequence == b.sequence && a.step == b.step;
  };
  CHECK(same({Work::receive, 0, 0, 0, 0}));
  CHECK(same({Work::flush, generation_mask, 15, 0xffff, 0xffff'ffff}));
  CHECK(same({Work::probe, 0, 0, 0xffff, 0}));
  CHECK(same({Work::data, generation_mask, 0, 0, 1}));
  CHECK(same({Work::chunk, 1, max_lanes * max_qps - 1, 1, 0x8000'0000}));
}
