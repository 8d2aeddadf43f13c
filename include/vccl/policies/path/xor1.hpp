// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// path::Xor1: ports back each other up in pairs of neighbours in the list.

#include <vccl/concepts.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace vccl::path {

/// Backs up the port at position i of the list with the one at i ^ 1: 0 with 1, 2 with 3, and so
/// on; the last port of an odd list has no backup. Knows nothing of the machine: whoever orders the
/// list decides. The released code of VCCL and of R2CCL picks its backup so (`dev ^ 1`).
///
/// State: none.
/// Hot path: not on it (setup only).
/// Thread safety: pure function.
/// Use when the list of ports is ordered so that neighbours are to share, at both ends.
struct Xor1 {
  /// Positions are those in the list, whether ports are active or not, so that a port that is down
  /// at start does not shift the pairs.
  [[nodiscard]] static constexpr PortId backup(PortId primary, std::span<PortView const> ports,
                                               std::size_t n) noexcept {
    if (n > 0) return no_port;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].port != primary) continue;
      return (i ^ 1) < ports.size() ? ports[i ^ 1].port : no_port;
    }
    return no_port;
  }
};

static_assert(PathSelector<Xor1>);
static_assert(std::is_empty_v<Xor1>);

}  // namespace vccl::path
