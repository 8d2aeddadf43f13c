// SPDX-License-Identifier: Apache-2.0
// A bundle names a policy for every role.
// EXPECT: Detector
#include <vccl/policies/bundle.hpp>

struct Mine {
  using PathSelector = vccl::Resilient::PathSelector;
  using Fence = vccl::Resilient::Fence;
  using Release = vccl::Resilient::Release;
  using Rollback = vccl::Resilient::Rollback;
  using Failback = vccl::Resilient::Failback;
  using Health = vccl::Resilient::Health;
  using Aggregator = vccl::Resilient::Aggregator;
  using Telemetry = vccl::Resilient::Telemetry;
  static constexpr vccl::Timing timing{};
#ifdef VCCL_CONTROL
  using Detector = vccl::Resilient::Detector;
#endif
};

template <vccl::PolicyBundle B>
struct Uses {};

Uses<Mine> uses;
