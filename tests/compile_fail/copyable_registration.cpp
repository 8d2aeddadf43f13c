// SPDX-License-Identifier: Apache-2.0
// A registration is released once, so it must not be copyable.
// EXPECT: CanRegister
#include <archetypes/transport.hpp>

#ifdef VCCL_CONTROL
using Owner = vccl::archetype::Registration;
#else
struct Owner {
  vccl::Keys keys() const noexcept;
};
#endif

struct Sharing : vccl::archetype::Transport {
  using Transport::Transport;
  using Registration = Owner;
  static Owner register_memory(Host&, vccl::PortId, void*, std::size_t, vccl::Access,
                               vccl::MemoryKind);
};

template <vccl::Transport T>
struct Uses {};

Uses<Sharing> uses;
