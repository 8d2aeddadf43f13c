// SPDX-License-Identifier: Apache-2.0
// A transport must not throw where messages are posted.
// EXPECT: CanPost
#include <archetypes/transport.hpp>

struct Throwing : vccl::archetype::Transport {
  using Transport::Transport;
#ifdef VCCL_CONTROL
  vccl::Errc post(vccl::WorkRequest const&) noexcept;
#else
  vccl::Errc post(vccl::WorkRequest const&);
#endif
};

template <vccl::Transport T>
struct Uses {};

Uses<Throwing> uses;
