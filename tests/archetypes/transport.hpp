// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The smallest Transport: takes everything, completes nothing.

#include <archetypes/host.hpp>
#include <vccl/concepts.hpp>

namespace vccl::archetype {

/// An owner that can be moved but not copied.
struct Registration {
  Registration() = default;
  Registration(Registration&&) = default;
  Registration& operator=(Registration&&) = default;
  Keys keys() const noexcept { return {}; }
};

struct Transport {
  using Host = archetype::Host;
  using Registration = archetype::Registration;
  static constexpr Limits limits{};

  Transport(Host&, LaneConfig const&) {}

  Errc post(WorkRequest const&) noexcept { return Errc::ok; }
  Errc post_receive(std::uint8_t, std::uint64_t) noexcept { return Errc::ok; }
  Errc post_flush_read(Memory const&, Keys, std::uint64_t) noexcept { return Errc::ok; }
  Errc flush() noexcept { return Errc::ok; }
  std::size_t poll(std::span<Completion>) noexcept { return 0; }
  Errc fence(FenceStep) noexcept { return Errc::ok; }
  Errc describe(LaneAddress&) noexcept { return Errc::ok; }
  Errc connect(LaneAddress const&) noexcept { return Errc::ok; }
  std::uint64_t max_message() noexcept { return 1; }
  static Registration register_memory(Host&, PortId, void*, std::size_t, Access, MemoryKind) {
    return {};
  }
};

static_assert(vccl::Transport<Transport>);

}  // namespace vccl::archetype
