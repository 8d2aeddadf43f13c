// SPDX-License-Identifier: Apache-2.0
// A stall must be noticed before the NIC gives up by itself.
// EXPECT: StallBelowRetryWindow
#include <vccl/policies/bundle.hpp>

struct Mine : vccl::Resilient {
#ifdef VCCL_CONTROL
  static constexpr vccl::Timing timing{.nic_timeout = 13};  // 4.096 us x 2^13 x 7 = 235 ms
#else
  static constexpr vccl::Timing timing{.nic_timeout = 12};  // 4.096 us x 2^12 x 7 = 117 ms
#endif
};

template <vccl::ConsistentTiming B>
struct Uses {};

Uses<Mine> uses;
