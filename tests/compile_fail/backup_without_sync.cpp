// SPDX-License-Identifier: Apache-2.0
// A backup that nobody agrees to move to: NoSync arms none.
// EXPECT: SyncPolicyFor
#include <archetypes/transport.hpp>
#include <vccl/vccl.hpp>

#ifdef VCCL_CONTROL
using Link = vccl::Connection<vccl::archetype::Transport>;
#else
using Link = vccl::Connection<vccl::archetype::Transport, vccl::archetype::Transport>;
#endif

Link const* the_link = nullptr;
