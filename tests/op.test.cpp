// SPDX-License-Identifier: Apache-2.0
#include <vccl/op.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using namespace vccl;
using namespace vccl::literals;

TEST_CASE("durations count nanoseconds, and add, scale and compare") {
  CHECK((1_s).ns == 1'000'000'000);
  CHECK(1_ms == 1'000_us);
  CHECK(2_us == 2'000_ns);
  CHECK(1_ms + 1_us == 1'001_us);
  CHECK(1_ms - 1_us == 999_us);
  CHECK(3_ms * 4 == 12_ms);
  CHECK(12_ms / 4 == 3_ms);
  CHECK(1_ms < 1_s);
  CHECK(Time{5} + 7_ns == Time{12});
  CHECK(Time{12} - Time{5} == 7_ns);
}

TEST_CASE("a duration can be a template argument") {
  auto const held = []<Duration D>(std::integral_constant<int, 0>) { return D; };
  CHECK(held.operator()<50_ms>({}) == 50_ms);
}

TEST_CASE("serial numbers compare across their wrap, at every width") {
  CHECK(newer<std::uint8_t>(1, 0));
  CHECK(newer<std::uint8_t>(0, 255));
  CHECK_FALSE(newer<std::uint8_t>(255, 0));
  CHECK_FALSE(newer<std::uint8_t>(7, 7));
  CHECK(newer<std::uint8_t>(127, 0));
  CHECK_FALSE(newer<std::uint8_t>(128, 0));  // Half the range away: not after.
  CHECK(newer<std::uint16_t>(0, 0xffff));
  CHECK(newer<Epoch>(3, 0xffff'fffe));
  CHECK(newer<std::uint64_t>(0, ~std::uint64_t{0}));
}

TEST_CASE("a request that was not taken is false and says why") {
  Request const none;
  CHECK_FALSE(none);
  CHECK(none.why == Errc::would_block);
  CHECK(Request{0, 1, Errc::ok});
}

TEST_CASE("what travels as it is has the size that the peer expects") {
  CHECK(sizeof(LaneAddress) == 72);
  CHECK(std::is_trivially_copyable_v<LaneAddress>);
  CHECK(std::has_unique_object_representations_v<LaneAddress>);  // No padding leaks memory.
}
