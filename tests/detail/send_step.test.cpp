// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/send_step.hpp>

#include <doctest/doctest.h>

using namespace vccl::detail;

TEST_CASE("the shares of the parts follow one another and make up all of a receive") {
  for (std::uint8_t parts = 1; parts <= 16; ++parts) {
    for (std::uint64_t const all : {0u, 1u, 127u, 128u, 129u, 1000u, 65536u, 1000003u}) {
      CAPTURE(parts);
      CAPTURE(all);
      std::uint64_t next = 0;
      for (std::uint8_t part = 0; part < parts; ++part) {
        Share const s = share_of(all, part, parts);
        CHECK(s.from == next);
        next = s.from + s.bytes;
      }
      CHECK(next == all);
    }
  }
}

TEST_CASE("shares begin on cache lines") {
  for (std::uint8_t part = 0; part < 4; ++part) {
    Share const s = share_of(100'000, part, 4);
    CHECK(s.from % 128 == 0);
    CHECK(s.bytes != 0);
  }
}
