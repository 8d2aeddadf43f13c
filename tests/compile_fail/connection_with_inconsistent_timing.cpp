// SPDX-License-Identifier: Apache-2.0
// A connection whose bundle notices a stall before a port that is down.
// EXPECT: ConsistentTiming
#include <archetypes/transport.hpp>
#include <vccl/vccl.hpp>

struct Hasty : vccl::Resilient {
#ifndef VCCL_CONTROL
  using Detector = vccl::detect::AnyOf<
      vccl::detect::CompletionStatus<>,
      vccl::detect::PortEvent<vccl::detect::Hold{.hold = vccl::Duration{1'000'000'000}}>,
      vccl::detect::StallDeadline<>>;
#endif
};
using Link = vccl::Connection<vccl::archetype::Transport, vccl::archetype::Transport,
                              vccl::sync::ReceiverDecides<>, Hasty>;

Link const* the_link = nullptr;
