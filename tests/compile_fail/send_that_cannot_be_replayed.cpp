// SPDX-License-Identifier: Apache-2.0
// A bundle with a backup whose rollback replays nothing: what isend() promises cannot be kept.
// EXPECT: ReplayableBy
#include <archetypes/transport.hpp>
#include <vccl/vccl.hpp>

struct Careless : vccl::Resilient {
#ifndef VCCL_CONTROL
  using Rollback = vccl::rollback::NoRollback;
#endif
};
using Link = vccl::Connection<vccl::archetype::Transport, vccl::archetype::Transport,
                              vccl::sync::ReceiverDecides<>, Careless>;

vccl::Request send(Link::Sender& s, vccl::Memory const& m) { return s.isend(m, vccl::Tag{1}); }
