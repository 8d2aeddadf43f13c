// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// fence::BothEndsError: both ends make their side of the old path quiet before anything is
/// replayed.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::fence {

/// How long the fence of one side may take.
struct Drain {
  /// Of draining the completions of a queue pair in ERR; then comes RESET, drained or not. Taking a
  /// queue pair to ERR took 0.2 to 0.5 ms on rxe (Linux 6.1), so this is 200 times that.
  Duration deadline = 100_ms;
};

/// Takes the queue pairs of the old path to ERR at both ends, drains them, and takes them to RESET.
/// Then no NIC reads a source buffer for the old path, and no packet of it that is still in the
/// network can change memory: a queue pair outside RTR and RTS drops what arrives (InfiniBand
/// Architecture Specification vol. 1, 10.3.1).
///
/// State: none.
/// Hot path: not on it (failover only).
/// Thread safety: pure functions.
/// Use when anything is replayed. It is the only fence of ours under which replay is safe.
template <Drain Parameters = Drain{}>
struct BothEndsError {
  static_assert(Parameters.deadline > Duration{}, "draining needs time");

  [[nodiscard]] static constexpr bool fences(End) noexcept { return true; }
  [[nodiscard]] static constexpr Duration deadline() noexcept { return Parameters.deadline; }
};

static_assert(Fence<BothEndsError<>>);
static_assert(std::is_empty_v<BothEndsError<>>);

}  // namespace vccl::fence
