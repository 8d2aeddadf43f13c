// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/detect/stall_deadline.hpp>

#include <contracts/detector_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using Default = detect::StallDeadline<>;
using Crawling = detect::StallDeadline<detect::Stall{.slowest = 1}>;
using Terabit = detect::StallDeadline<detect::Stall{.slowest = 125'000'000'000}>;

constexpr Verdict probe{Verdict::Kind::probe, Cause::none};
constexpr Verdict stall{Verdict::Kind::path, Cause::stall};

TEST_CASE_TEMPLATE("stall deadlines keep the contract", D, Default, Terabit) {
  CHECK(contracts::detector<D>() == "");
}

TEST_CASE("silence of exactly the stall asks for a probe, one nanosecond less for nothing") {
  CHECK(Default::stall() == 200_ms);
  CHECK(Default::on_wait({.waiting = 200_ms - 1_ns}) == Verdict{});
  CHECK(Default::on_wait({.waiting = 200_ms}) == probe);
}

TEST_CASE("silence alone never takes a path out") {
  CHECK(Default::on_wait({.waiting = 3'600_s}) == probe);
}

TEST_CASE("while a probe is under way there is no second one") {
  CHECK(Default::on_wait({.waiting = 201_ms, .probing = 1_ns}) == Verdict{});
}

TEST_CASE("a probe without an answer for exactly the answer time takes the path out") {
  CHECK(Default::on_wait({.waiting = 300_ms, .probing = 100_ms - 1_ns}) == Verdict{});
  CHECK(Default::on_wait({.waiting = 300_ms, .probing = 100_ms}) == stall);
}

TEST_CASE("both deadlines grow by the time that what is outstanding takes on the slowest path") {
  // 1 MB at 10 MB/s is 100 ms.
  CHECK(Default::on_wait({.waiting = 300_ms - 1_ns, .outstanding = 1'000'000}) == Verdict{});
  CHECK(Default::on_wait({.waiting = 300_ms, .outstanding = 1'000'000}) == probe);
  CHECK(Default::on_wait({.waiting = 1_s, .probing = 200_ms - 1_ns, .outstanding = 1'000'000}) ==
        Verdict{});
  CHECK(Default::on_wait({.waiting = 1_s, .probing = 200_ms, .outstanding = 1'000'000}) == stall);
}

TEST_CASE("the time to move is bytes by speed, to a microsecond") {
  CHECK(Default::time_to_move(0) == Duration{});
  CHECK(Default::time_to_move(9) == Duration{});  // 0.9 us
  CHECK(Default::time_to_move(10) == 1_us);
  CHECK(Default::time_to_move(10'000'000 - 10) == 1_s - 1_us);
  CHECK(Default::time_to_move(10'000'000) == 1_s);
  CHECK(Default::time_to_move(64ULL << 20) == 6'710'886_us);
  CHECK(Terabit::time_to_move(125'000'000'000 - 125'000) == 1_s - 1_us);
}

TEST_CASE("no number of bytes overflows the time to move") {
  constexpr Duration thirty_years = 946'080'000_s;
  CHECK(Crawling::time_to_move(946'080'000 - 1) == thirty_years - 1_s);
  CHECK(Crawling::time_to_move(946'080'000) == thirty_years);
  CHECK(Crawling::time_to_move(~0ULL) == thirty_years);
  CHECK(Default::time_to_move(~0ULL) == thirty_years);
  CHECK(Terabit::time_to_move(~0ULL) == 1_us * 147'573'952'589'676);
  CHECK(Crawling::on_wait({.waiting = 3'600_s, .outstanding = ~0ULL}) == Verdict{});
}

TEST_CASE("completions and ports say nothing to it") {
  CHECK(Default::on_completion(Status::retry_exceeded, true) == Verdict{});
  CHECK(Default::on_port({.down = true, .down_for = 3'600_s}) == Verdict{});
  CHECK(Default::hold() == Duration{});
}

}  // namespace
}  // namespace vccl::test
