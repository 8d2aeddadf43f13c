// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Host: no ports, a clock that stands still, messages that get lost.

#include <vccl/concepts.hpp>

namespace vccl::archetype {

struct Pipe {
  Errc send(std::span<std::byte const>) noexcept { return Errc::ok; }
  std::size_t receive(std::span<std::byte>) noexcept { return 0; }
};

struct Address {};

struct Door {
  Address address() noexcept { return {}; }
  bool accept(archetype::Pipe&) noexcept { return false; }
};

struct Host {
  using Address = archetype::Address;
  using Door = archetype::Door;
  using Pipe = archetype::Pipe;

  Time now() const noexcept { return {}; }
  bool real_time() const noexcept { return false; }

  Door listen() { return {}; }
  Pipe dial(Address const&) { return {}; }

  std::size_t port_count() noexcept { return 0; }
  PortState port_state(PortId) noexcept { return {}; }
  bool poll_event(PortEvent&) noexcept { return false; }
  std::uint64_t random() noexcept { return 0; }
};

static_assert(vccl::Pipe<Pipe>);
static_assert(vccl::Host<Host>);

}  // namespace vccl::archetype
