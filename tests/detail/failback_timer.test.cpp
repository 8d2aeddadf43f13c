// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/failback_timer.hpp>

#include <vccl/policies/failback/never.hpp>
#include <vccl/policies/failback/probed.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::literals;
using Timer = detail::FailbackTimer<failback::Probed<failback::Probe{.jitter_percent = 0}>>;

TEST_CASE("a lost path is tried again after the policy's first delay, not before") {
  Timer t;
  t.lost(0, Time{0}, 0);
  CHECK_FALSE(t.due(0, Time{(200_ms).ns - 1}, false, 50_ms));
  CHECK(t.due(0, Time{(200_ms).ns}, false, 50_ms));
}

TEST_CASE("while stranded every path is tried soon") {
  Timer t;
  t.lost(0, Time{0}, 0);
  CHECK_FALSE(t.due(0, Time{(50_ms).ns - 1}, true, 50_ms));
  CHECK(t.due(0, Time{(50_ms).ns}, true, 50_ms));
}

TEST_CASE("the delay grows only with attempts in which the peer took part") {
  Timer t;
  Time now{0};
  t.lost(0, now, 0);
  for (int i = 0; i < 20; ++i) {  // The peer never answers: attempts are not consumed.
    now = now + 200_ms;
    REQUIRE(t.due(0, now, false, 50_ms));
    t.begin(0, now, 0);
    t.lost(0, now, 0);
  }
  CHECK(t.attempts_made() == 20);
  now = now + 200_ms;
  t.begin(0, now, 0);
  t.count_attempt(0);
  t.count_attempt(0);  // Once per attempt.
  t.lost(0, now, 0);
  CHECK_FALSE(t.due(0, now + 399_ms, false, 50_ms));
  CHECK(t.due(0, now + 400_ms, false, 50_ms));
}

TEST_CASE(
    "a path that came up is trusted after it has been good for long enough, and probed meanwhile") {
  Timer t;
  t.lost(0, Time{0}, 0);
  t.armed(0, Time{0});
  CHECK_FALSE(t.due(0, Time{(100_s).ns}, true, 50_ms));
  int probes = 0;
  for (std::int64_t ms = 0; ms < 1000; ++ms)
    probes += t.wants_probe(0, Time{ms * 1'000'000}) ? 1 : 0;
  CHECK(probes == 3);
  CHECK_FALSE(t.trusted(0, Time{(1_s).ns - 1}));
  CHECK(t.trusted(0, Time{(1_s).ns}));
}

TEST_CASE("a path that never returns by policy is still tried while stranded") {
  detail::FailbackTimer<failback::Never> t;
  t.lost(1, Time{0}, 0);
  CHECK_FALSE(t.due(1, Time{(3600_s).ns}, false, 50_ms));
  CHECK(t.due(1, Time{(50_ms).ns}, true, 50_ms));
  t.armed(1, Time{0});
  CHECK_FALSE(t.trusted(1, Time{(3600_s).ns}));
}

TEST_CASE("while the local port is down nothing is tried; when it comes up the delay starts over") {
  Timer t;
  t.lost(0, Time{0}, 0);
  for (int i = 0; i < 10; ++i) {
    t.begin(0, Time{0}, 0);
    t.count_attempt(0);
  }
  t.port(0, true, Time{0}, 0);
  CHECK_FALSE(t.due(0, Time{(3600_s).ns}, false, 50_ms));
  CHECK_FALSE(t.due(0, Time{(3600_s).ns}, true, 50_ms));
  t.port(0, false, Time{(3600_s).ns}, 0);
  CHECK_FALSE(t.due(0, Time{(3600_s).ns} + 199_ms, false, 50_ms));
  CHECK(t.due(0, Time{(3600_s).ns} + 200_ms, false, 50_ms));
}

TEST_CASE("an attempt is given up after its limit") {
  Timer t;
  t.begin(0, Time{5}, 0);
  CHECK_FALSE(t.too_long(0, Time{5} + (Timer::attempt_limit - 1_ns)));
  CHECK(t.too_long(0, Time{5} + Timer::attempt_limit));
}
