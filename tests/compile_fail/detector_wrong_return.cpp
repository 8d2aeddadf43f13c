// SPDX-License-Identifier: Apache-2.0
// A detector answers with a verdict, which names the cause.
// EXPECT: Detector
#include <vccl/policies/bundle.hpp>

struct SaysYes : vccl::detect::PortEvent<> {
#ifdef VCCL_CONTROL
  vccl::Verdict on_port(vccl::PortWatch const& port) const noexcept;
#else
  bool on_port(vccl::PortWatch const& port) const noexcept;
#endif
};

struct Mine : vccl::Resilient {
  using Detector = SaysYes;
};

template <vccl::PolicyBundle B>
struct Uses {};

Uses<Mine> uses;
