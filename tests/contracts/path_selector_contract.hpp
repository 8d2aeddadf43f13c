// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every PathSelector must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <array>
#include <span>
#include <string_view>

namespace vccl::contracts {

namespace detail {

inline constexpr std::size_t most_ports = 8;

/// A host of `count` ports, `per_card` on each card, numbered from `first`.
inline std::array<PortView, most_ports> make_ports(unsigned first, std::size_t per_card) {
  std::array<PortView, most_ports> ports{};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].port = static_cast<PortId>(first + i);
    ports[i].state = {.active = i % 3 != 1,
                      .card = static_cast<std::uint16_t>(i / per_card),
                      .speed_mbps = 100'000};
  }
  return ports;
}

inline std::size_t position(std::span<PortView const> ports, PortId port) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].port == port) return i;
  }
  return ports.size();
}

}  // namespace detail

/// The first sentence that S breaks, or nothing. Tried on hosts of 0 to 8 ports, 1 to 4 a card.
template <PathSelector S>
std::string_view path_selector() {
  for (std::size_t const per_card : {1U, 2U, 3U, 4U}) {
    auto const here = detail::make_ports(0, per_card);
    auto const there = detail::make_ports(40, per_card);
    for (std::size_t count = 0; count <= here.size(); ++count) {
      std::span const ports{here.data(), count};
      std::span const peers{there.data(), count};
      if (S::backup(static_cast<PortId>(30), ports, 0) != no_port) {
        return "a port that is not in the list has no backup";
      }
      for (std::size_t primary = 0; primary < count; ++primary) {
        std::array<bool, detail::most_ports> seen{};
        for (std::size_t n = 0; n <= count; ++n) {
          PortId const backup = S::backup(ports[primary].port, ports, n);
          if (backup != S::backup(ports[primary].port, ports, n)) {
            return "the same list gives the same backup";
          }
          PortId const peer = S::backup(peers[primary].port, peers, n);
          if (detail::position(ports, backup) != detail::position(peers, peer)) {
            return "both ends of a symmetric pair choose the same position";
          }
          if (backup == no_port) {
            if (S::backup(ports[primary].port, ports, n + 1) != no_port) {
              return "after the last candidate comes none";
            }
            continue;
          }
          std::size_t const at = detail::position(ports, backup);
          if (at == count) return "a backup is a port of the list";
          if (at == primary) return "a port does not back up itself";
          if (seen[at]) return "no port is a candidate twice";
          seen[at] = true;
        }
        if (S::backup(ports[primary].port, ports, ~std::size_t{0}) != no_port) {
          return "candidates come to an end";
        }
      }
    }
  }
  return {};
}

}  // namespace vccl::contracts
