// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/bundle.hpp>

#include <archetypes/bundle.hpp>
#include <contracts/detector_contract.hpp>
#include <contracts/failback_contract.hpp>
#include <contracts/fence_contract.hpp>
#include <contracts/path_selector_contract.hpp>
#include <contracts/release_contract.hpp>
#include <contracts/rollback_contract.hpp>
#include <vccl/policies/telemetry/event_log.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE_TEMPLATE("every policy of a bundle keeps the contract of its role", B, DefaultPolicies,
                   Resilient) {
  CHECK(contracts::path_selector<typename B::PathSelector>() == "");
  CHECK(contracts::detector<typename B::Detector>() == "");
  CHECK(contracts::fence<typename B::Fence>() == "");
  CHECK(contracts::safe_fence<typename B::Fence>() == "");
  CHECK(contracts::release<typename B::Release>() == "");
  CHECK(contracts::rollback<typename B::Rollback>() == "");
  CHECK(contracts::failback<typename B::Failback>(30_s) == "");
}

TEST_CASE("no policy of the least bundle has state") {
  CHECK(std::is_empty_v<DefaultPolicies::Detector>);
  CHECK(std::is_empty_v<DefaultPolicies::Health>);
  CHECK(std::is_empty_v<DefaultPolicies::Telemetry>);
}

TEST_CASE("the least bundle neither shares, replays, returns nor records") {
  using B = DefaultPolicies;
  CHECK(B::Detector::hold() == Duration{});
  CHECK(B::Detector::stall() == Duration{});
  CHECK(B::Release::on_acknowledgement(true));
  CHECK_FALSE(B::Failback::returns());
  CHECK_FALSE(ReplayableBy<OrderedNotify, B::Rollback>);
  CHECK(std::is_same_v<B::Health, health::PerConnection>);
  CHECK(std::is_same_v<B::Telemetry, telemetry::NoTelemetry>);
}

TEST_CASE("the numbers of Resilient are the documented ones") {
  using B = Resilient;
  CHECK(B::Detector::hold() == 50_ms);
  CHECK(B::Detector::stall() == 200_ms);
  CHECK(B::Detector::on_wait({.waiting = 300_ms, .probing = 100_ms}).cause == Cause::stall);
  CHECK(B::Fence::deadline() == 100_ms);
  CHECK(B::Failback::returns());
  CHECK(B::Failback::probe_after(0, 1U << 31) == 200_ms);
  CHECK(B::Failback::probe_after(1, 1U << 31) == 400_ms);
  CHECK(B::Failback::probe_after(100, 1U << 31) == 30_s);
  CHECK(B::Failback::probe_after(0, 0) == 150_ms);
  CHECK(B::Failback::good_for() == 1_s);
  CHECK(B::timing.repeat_first == 1_ms);
  CHECK(B::timing.repeat_cap == 50_ms);
  CHECK(B::timing.outage == 30_s);
  CHECK(B::timing.linger == 2_s);
  CHECK(B::timing.nic_timeout == 16);
  CHECK(B::timing.nic_retry_count == 6);
  CHECK(B::timing.nic_rnr_retry == 7);
  CHECK(B::timing.nic_min_rnr_timer == 12);
}

TEST_CASE("receiver-not-ready exhaustion ends a Resilient connection") {
  CHECK(Resilient::Detector::on_completion(Status::rnr_retry_exceeded, false) ==
        Verdict{Verdict::Kind::fatal, Cause::protocol_error});
}

struct Mine : Resilient {
  using Failback = failback::Never;
  using Telemetry = telemetry::EventLog<16>;
};

TEST_CASE("a line of a bundle is changed by shadowing it") {
  CHECK(PolicyBundle<Mine>);
  CHECK(ConsistentTiming<Mine>);
  CHECK_FALSE(Mine::Failback::returns());
  CHECK(Mine::Detector::hold() == 50_ms);
}

// ---- How deadlines must fit ---------------------------------------------------------------------

/// Uses the deadlines that are not zero.
template <Duration Hold, Duration Stall>
struct Deadlines : archetype::Detector {
  static constexpr Duration hold() noexcept { return Hold; }
  static constexpr Duration stall() noexcept { return Stall; }
};

template <Duration Hold, Duration Stall, std::uint8_t NicTimeout = 16>
struct Bundle : archetype::PolicyBundle {
  using Detector = Deadlines<Hold, Stall>;
  static constexpr Timing timing{.nic_timeout = NicTimeout};
};

// 4.096 us x 2^16 x 7 tries.
constexpr Duration window{4'096LL * 65'536 * 7};

TEST_CASE("the NIC's retry window of the defaults is 1.88 s") {
  CHECK(Timing{}.nic_retry_window() == window);
  CHECK(window > 1'879_ms);
  CHECK(window < 1'880_ms);
}

TEST_CASE("the hold must be below the stall, not equal to it") {
  CHECK(HoldBelowStall<Bundle<100_ms - 1_ns, 100_ms>>);
  CHECK_FALSE(HoldBelowStall<Bundle<100_ms, 100_ms>>);
  CHECK_FALSE(HoldBelowStall<Bundle<100_ms + 1_ns, 100_ms>>);
  CHECK(ConsistentTiming<Bundle<100_ms - 1_ns, 100_ms>>);
  CHECK_FALSE(ConsistentTiming<Bundle<100_ms, 100_ms>>);
}

TEST_CASE("the stall must be below the NIC's retry window, not equal to it") {
  CHECK(StallBelowRetryWindow<Bundle<50_ms, window - 1_ns>>);
  CHECK_FALSE(StallBelowRetryWindow<Bundle<50_ms, window>>);
  CHECK(ConsistentTiming<Bundle<50_ms, window - 1_ns>>);
  CHECK_FALSE(ConsistentTiming<Bundle<50_ms, window>>);
}

TEST_CASE("a hold without a stall must be below the NIC's retry window") {
  CHECK(HoldBelowRetryWindow<Bundle<window - 1_ns, 0_ns>>);
  CHECK_FALSE(HoldBelowRetryWindow<Bundle<window, 0_ns>>);
  CHECK(ConsistentTiming<Bundle<window - 1_ns, 0_ns>>);
  CHECK_FALSE(ConsistentTiming<Bundle<window, 0_ns>>);
}

TEST_CASE("a deadline that is not used fits everything") {
  CHECK(ConsistentTiming<Bundle<0_ns, 0_ns>>);
  CHECK(ConsistentTiming<Bundle<0_ns, 200_ms>>);
  CHECK(ConsistentTiming<Bundle<50_ms, 0_ns>>);
  CHECK(ConsistentTiming<Bundle<0_ns, 0_ns, 1>>);
}

TEST_CASE("a NIC that gives up sooner makes the same detector inconsistent") {
  // 4.096 us x 2^12 x 7 = 117 ms.
  CHECK(ConsistentTiming<Bundle<50_ms, 200_ms, 16>>);
  CHECK_FALSE(ConsistentTiming<Bundle<50_ms, 200_ms, 12>>);
  CHECK(HoldBelowRetryWindow<Bundle<50_ms, 200_ms, 12>>);
}

TEST_CASE("what is no bundle has no consistent timing") {
  CHECK_FALSE(ConsistentTiming<int>);
  CHECK_FALSE(HoldBelowStall<int>);
  CHECK_FALSE(StallBelowRetryWindow<int>);
  CHECK_FALSE(HoldBelowRetryWindow<int>);
}

}  // namespace
}  // namespace vccl::test
