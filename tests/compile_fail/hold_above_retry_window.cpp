// SPDX-License-Identifier: Apache-2.0
// Without a stall, a port that is down must be noticed before the NIC gives up by itself.
// EXPECT: HoldBelowRetryWindow
#include <vccl/policies/bundle.hpp>

struct Mine : vccl::Resilient {
  using Detector = vccl::detect::PortEvent<>;
#ifdef VCCL_CONTROL
  static constexpr vccl::Timing timing{.nic_timeout = 11};  // 4.096 us x 2^11 x 7 = 59 ms
#else
  static constexpr vccl::Timing timing{.nic_timeout = 10};  // 4.096 us x 2^10 x 7 = 29 ms
#endif
};

template <vccl::ConsistentTiming B>
struct Uses {};

Uses<Mine> uses;
