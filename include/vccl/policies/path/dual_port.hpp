// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// path::DualPort: a port is backed up by the other ports of its card.

#include <vccl/concepts.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace vccl::path {

/// Backs up each port with the other ports of the same card, in the order of the list, and with
/// nothing else. They are as near to the GPU as the primary, so nothing slows down; but they fail
/// with the card. A port that is down is a candidate too: it may be up when it is needed.
///
/// State: none.
/// Hot path: not on it (setup only).
/// Thread safety: pure function.
/// Use when both ports of a card are cabled; Xor1 when cards have one port each.
struct DualPort {
  /// Matches at both ends when both list their ports in the same order.
  [[nodiscard]] static constexpr PortId backup(PortId primary, std::span<PortView const> ports,
                                               std::size_t n) noexcept {
    for (PortView const& own : ports) {
      if (own.port == primary) return other_of_card(own, ports, n);
    }
    return no_port;
  }

 private:
  static constexpr PortId other_of_card(PortView const& own, std::span<PortView const> ports,
                                        std::size_t n) noexcept {
    for (PortView const& other : ports) {
      if (other.port == own.port || other.state.card != own.state.card) continue;
      if (n == 0) return other.port;
      --n;
    }
    return no_port;
  }
};

static_assert(PathSelector<DualPort>);
static_assert(std::is_empty_v<DualPort>);

}  // namespace vccl::path
