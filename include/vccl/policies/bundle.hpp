// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The bundles, and how the deadlines of a bundle must fit each other.

#include <vccl/concepts.hpp>
#include <vccl/fwd.hpp>
#include <vccl/policies/aggregate/no_aggregation.hpp>
#include <vccl/policies/detect/any_of.hpp>
#include <vccl/policies/detect/completion_status.hpp>
#include <vccl/policies/detect/port_event.hpp>
#include <vccl/policies/detect/stall_deadline.hpp>
#include <vccl/policies/failback/never.hpp>
#include <vccl/policies/failback/probed.hpp>
#include <vccl/policies/fence/both_ends_error.hpp>
#include <vccl/policies/health/per_connection.hpp>
#include <vccl/policies/health/per_port.hpp>
#include <vccl/policies/path/dual_port.hpp>
#include <vccl/policies/release/ack_or_confirm.hpp>
#include <vccl/policies/release/on_ack.hpp>
#include <vccl/policies/rollback/no_rollback.hpp>
#include <vccl/policies/rollback/receiver_position.hpp>
#include <vccl/policies/telemetry/no_telemetry.hpp>

namespace vccl {

// ---- How deadlines must fit: hold < stall < the NIC's retry window
//
// Zero means that a detector does not use a deadline; then there is nothing to compare. The
// deadlines must be constants: hold(), stall() and timing are read while compiling.

/// True when the earlier deadline is before the later one, or one of them is not used.
/// (By number: nvcc does not define a defaulted comparison while it checks a constraint.)
[[nodiscard]] constexpr bool in_order(Duration earlier, Duration later) noexcept {
  return earlier.ns == 0 || later.ns == 0 || earlier.ns < later.ns;
}

/// A port that is down is noticed before a stall is: else every outage ends as a stall.
template <class B>
concept HoldBelowStall = PolicyBundle<B> && in_order(B::Detector::hold(), B::Detector::stall());

/// A stall is noticed before the NIC gives up by itself: else its probe comes too late to matter.
template <class B>
concept StallBelowRetryWindow =
    PolicyBundle<B> &&
    in_order(B::Detector::stall(), static_cast<Timing>(B::timing).nic_retry_window());

/// A port that is down is noticed before the NIC gives up by itself: else its event is no use.
template <class B>
concept HoldBelowRetryWindow =
    PolicyBundle<B> &&
    in_order(B::Detector::hold(), static_cast<Timing>(B::timing).nic_retry_window());

/// A bundle whose deadlines fit each other.
template <class B>
concept ConsistentTiming =
    PolicyBundle<B> && HoldBelowStall<B> && StallBelowRetryWindow<B> && HoldBelowRetryWindow<B>;

// ---- Bundles

/// The least: what a connection without a backup needs. A failure ends it, with its cause, as soon
/// as the NIC reports one; nothing is shared, replayed or recorded.
///
/// State: none, in any of its policies.
/// Hot path: a send completes on the NIC's acknowledgement, and that is all.
/// Thread safety: that of its policies.
/// Use when there is no backup; and to inherit from when you want to choose every line.
struct DefaultPolicies {
  using PathSelector = path::DualPort;
  using Detector = detect::CompletionStatus<>;
  using Fence = fence::BothEndsError<>;
  using Release = release::OnAck;
  using Rollback = rollback::NoRollback;
  using Failback = failback::Never;
  using Health = health::PerConnection;
  using Aggregator = aggregate::NoAggregation;
  using Telemetry = telemetry::NoTelemetry;
  static constexpr Timing timing{};
};

/// What users with a backup should take: notices a dead port after 50 ms and a dead path after
/// 300 ms, replays exactly what the receiver lacks, and goes back when the port has been good for
/// 1 s. Shadow a line to change it: `struct Mine : Resilient { using Failback = failback::Never;
/// };`.
///
/// State: Health, once per process; the other policies have none.
/// Hot path: one flag of the CTS decides when a send completes.
/// Thread safety: that of its policies.
/// Use when there is a backup.
struct Resilient : DefaultPolicies {
  using Detector =
      detect::AnyOf<detect::CompletionStatus<>, detect::PortEvent<>, detect::StallDeadline<>>;
  using Release = release::AckOrConfirm;
  using Rollback = rollback::ReceiverPosition;
  using Failback = failback::Probed<>;
  using Health = health::PerPort;
};

static_assert(PolicyBundle<DefaultPolicies> && ConsistentTiming<DefaultPolicies>);
static_assert(PolicyBundle<Resilient> && ConsistentTiming<Resilient>);

}  // namespace vccl
