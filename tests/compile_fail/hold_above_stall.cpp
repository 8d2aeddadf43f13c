// SPDX-License-Identifier: Apache-2.0
// A port that is down must be noticed before a stall is.
// EXPECT: HoldBelowStall
#include <vccl/policies/bundle.hpp>

#ifdef VCCL_CONTROL
constexpr vccl::detect::Hold hold{.hold = {199'000'000}};
#else
constexpr vccl::detect::Hold hold{.hold = {201'000'000}};
#endif

struct Mine : vccl::Resilient {
  using Detector =
      vccl::detect::AnyOf<vccl::detect::PortEvent<hold>, vccl::detect::StallDeadline<>>;
};

template <vccl::ConsistentTiming B>
struct Uses {};

Uses<Mine> uses;
