// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The bundles of policies that the worker knows by name. An emulated network is slow, and
/// other programs share its processors, so deadlines are longer than on hardware where that
/// matters.

#include <vccl/connection.hpp>
#include <vccl/policies/failback/never.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>

namespace worker {

/// As users take it.
struct Resilient : vccl::Resilient {
  using Telemetry = vccl::telemetry::EventLog<1024>;
};

/// Both together stay below the NIC's retry window of 1.9 s.
inline constexpr vccl::detect::Stall patient{.stall = vccl::Duration{900'000'000},
                                             .answer = vccl::Duration{900'000'000},
                                             .slowest = 2'000'000};

/// Returns soon and gives up soon.
struct Quick : Resilient {
  using Detector = vccl::detect::AnyOf<vccl::detect::CompletionStatus<>, vccl::detect::PortEvent<>,
                                       vccl::detect::StallDeadline<patient>>;
  using Failback =
      vccl::failback::Probed<vccl::failback::Probe{.first = vccl::Duration{50'000'000},
                                                   .growth = 2,
                                                   .cap = vccl::Duration{500'000'000},
                                                   .jitter_percent = 25,
                                                   .good_for = vccl::Duration{300'000'000}}>;
  static constexpr vccl::Timing timing{.outage = vccl::Duration{8'000'000'000}};
};

/// Detects as others do: when the NIC gives up, which takes 7.5 s here.
struct RetryTimeout : Quick {
  using Detector = vccl::detect::CompletionStatus<>;
  static constexpr vccl::Timing timing{
      .outage = vccl::Duration{30'000'000'000}, .nic_timeout = 18, .nic_retry_count = 6};
};

/// Rides out outages of up to three seconds.
struct LongHold : Quick {
  using Detector = vccl::detect::AnyOf<
      vccl::detect::CompletionStatus<>,
      vccl::detect::PortEvent<vccl::detect::Hold{.hold = vccl::Duration{3'000'000'000}}>,
      vccl::detect::StallDeadline<vccl::detect::Stall{.stall = vccl::Duration{6'000'000'000},
                                                      .answer = vccl::Duration{1'000'000'000},
                                                      .slowest = 2'000'000}>>;
  static constexpr vccl::Timing timing{.nic_timeout = 19, .nic_retry_count = 6};
};

struct NoReturn : Quick {
  using Failback = vccl::failback::Never;
};

struct NoBackup : vccl::DefaultPolicies {
  using Telemetry = vccl::telemetry::EventLog<1024>;
};

using InBand = vccl::sync::ReceiverDecides<vccl::sync::InBand>;
using OutOfBand = vccl::sync::ReceiverDecides<vccl::sync::OutOfBand>;

template <class Nic, class Policies, class Sync = vccl::sync::ReceiverDecides<>>
using WithBackup = vccl::Connection<Nic, Nic, Sync, Policies>;
template <class Nic>
using WithoutBackup = vccl::Connection<Nic, vccl::NoBackup, vccl::sync::NoSync, NoBackup>;

}  // namespace worker
