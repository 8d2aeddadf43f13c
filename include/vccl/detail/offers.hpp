// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What an end offers of its paths at set-up, and what comes of two offers.

#include <vccl/detail/paths.hpp>
#include <vccl/detail/setup.hpp>

#include <cstdint>

namespace vccl::detail {

/// Megabits per second of all lanes of a path.
[[nodiscard]] constexpr std::uint64_t speed_of(PathOffer const& p) noexcept {
  std::uint64_t speed = 0;
  for (LaneAddress const& a : p.addresses) speed += a.speed_mbps;
  return speed;
}

/// Describes this end's side of every path; those whose ports are usable now are `up`.
template <class Paths>
void make_offer(Offer& o, Paths& paths, std::uint16_t number) noexcept {
  o.paths = Paths::count;
  o.max_message = ~std::uint64_t{0};
  paths.each([&](auto id, auto& path) {
    PathOffer& p = o.path[id];
    p = {};
    p.lanes = static_cast<std::uint8_t>(path.lane_count());
    if (p.lanes == 0) return;
    p.qps = path.qps();
    p.block = reinterpret_cast<std::uint64_t>(&path.block());
    for (std::size_t l = 0; l < path.lane_count(); ++l) p.keys[l] = path.block_keys(l).remote;
    if (path.max_message() < o.max_message) o.max_message = path.max_message();
    p.up = path.describe(number, p.addresses) == Errc::ok ? 1 : 0;
  });
}

/// What both ends have, and of that, what is connected: bits per path.
struct Joined {
  std::uint8_t present = 0;
  std::uint8_t up = 0;
};

/// Connects the paths that both ends offer and that are up at both.
template <class Paths>
[[nodiscard]] Joined join(Paths& paths, Offer const& mine, Offer const& theirs) noexcept {
  Joined j;
  paths.each([&](auto id, auto& path) {
    PathOffer const& a = mine.path[id];
    PathOffer const& b = theirs.path[id];
    if (a.lanes == 0 || a.lanes != b.lanes || a.qps != b.qps) return;
    j.present = static_cast<std::uint8_t>(j.present | 1u << id);
    path.set_remote(b.block, b.keys);
    if (a.up == 0 || b.up == 0) return;
    if (path.connect(b.addresses) == Errc::ok) j.up = static_cast<std::uint8_t>(j.up | 1u << id);
  });
  return j;
}

}  // namespace vccl::detail
