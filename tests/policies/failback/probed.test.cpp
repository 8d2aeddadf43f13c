// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/failback/probed.hpp>

#include <contracts/failback_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using failback::Probe;
using failback::Probed;

constexpr std::uint32_t last = ~std::uint32_t{0};
constexpr std::uint32_t half = 1U << 31;

using Default = Probed<>;
using Steady = Probed<Probe{.first = 300_ms, .growth = 1, .cap = 300_ms}>;
using Tripling = Probed<Probe{.first = 7_ns, .growth = 3, .cap = 1_s}>;
using Longest = Probed<Probe{.first = 86'400_s, .growth = last, .cap = 86'400_s}>;
using Exact = Probed<Probe{.jitter_percent = 0}>;
using Wild = Probed<Probe{.first = 1_ns, .cap = 86'400_s, .jitter_percent = 99}>;

TEST_CASE("probed failbacks keep the contract") {
  CHECK(contracts::failback<Default>(30_s) == "");
  CHECK(contracts::failback<Steady>(300_ms) == "");
  CHECK(contracts::failback<Tripling>(1_s) == "");
  CHECK(contracts::failback<Longest>(86'400_s) == "");
}

TEST_CASE("a lost path is tried again, and used when it has been good for 1 s") {
  CHECK(Default::returns());
  CHECK(Default::good_for() == 1_s);
}

TEST_CASE("waits double from 200 ms to 30 s") {
  CHECK(Exact::probe_after(0, 7) == 200_ms);
  CHECK(Exact::probe_after(1, 7) == 400_ms);
  CHECK(Exact::probe_after(2, 7) == 800_ms);
  CHECK(Exact::probe_after(7, 7) == 25'600_ms);
  CHECK(Exact::probe_after(8, 7) == 30_s);
  CHECK(Exact::probe_after(9, 7) == 30_s);
}

TEST_CASE("there is no last attempt") {
  CHECK(Exact::probe_after(1'000'000, 7) == 30_s);
  CHECK(Exact::probe_after(half, 7) == 30_s);
  CHECK(Exact::probe_after(last, 7) == 30_s);
}

TEST_CASE(
    "a growth of one keeps the first wait, for the last attempt as quickly as for the first") {
  CHECK(Steady::probe_after(0, half) == Steady::probe_after(last, half));
}

TEST_CASE("jitter reaches from a quarter less to a quarter more, after the cap") {
  CHECK(Default::probe_after(0, 0) == 150_ms);
  CHECK(Default::probe_after(0, half) == 200_ms);
  CHECK(Default::probe_after(0, last) == 250_ms);
  CHECK(Default::probe_after(last, 0) == 22'500_ms);
  CHECK(Default::probe_after(last, half) == 30_s);
  // The swing of 15 s has more values than 32 bits, so the very last few are not reached.
  CHECK(Default::probe_after(last, last) <= 37'500_ms);
  CHECK(Default::probe_after(last, last) >= 37'500_ms - 4_ns);
}

TEST_CASE("more of the random number is more of the wait") {
  Duration before{};
  for (std::uint64_t random = 0; random <= last; random += 0x00ff'ff01) {
    Duration const wait = Default::probe_after(20, static_cast<std::uint32_t>(random));
    CHECK(wait > before);
    before = wait;
  }
}

TEST_CASE(
    "the widest jitter of the shortest and the longest wait neither ends at zero nor overflows") {
  CHECK(Wild::probe_after(0, 0) == 1_ns);
  CHECK(Wild::probe_after(0, last) == 1_ns);
  CHECK(Wild::probe_after(last, 0) == 864_s);
  CHECK(Wild::probe_after(last, half) > 86'400_s - 1_us);
  CHECK(Wild::probe_after(last, last) > 171'936_s - 100_us);
  CHECK(Wild::probe_after(last, last) <= 171'936_s);
}

TEST_CASE("a step that would overshoot the cap ends at the cap") {
  using Leap = Probed<Probe{.first = 1_ns, .growth = last, .cap = 5_s, .jitter_percent = 0}>;
  CHECK(Leap::probe_after(0, 0) == 1_ns);
  CHECK(Leap::probe_after(1, 0) == 4'294'967'295_ns);
  CHECK(Leap::probe_after(2, 0) == 5_s);
}

}  // namespace
}  // namespace vccl::test
