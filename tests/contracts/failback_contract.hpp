// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Failback must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <string_view>

namespace vccl::contracts {

/// The first sentence that F breaks, or nothing. `cap`: the longest wait that F promises, jitter
/// apart; jitter may be up to a quarter either way.
template <Failback F>
std::string_view failback(Duration cap) {
  if (F::returns() != F::returns()) return "it returns or it does not";
  if (F::good_for() < Duration{}) return "no path is good for less than no time";
  if (!F::returns()) return {};

  constexpr std::uint32_t last = ~std::uint32_t{0};
  constexpr std::uint32_t randoms[] = {0, 1, last / 4, last / 2, last - 1, last};
  Duration const shortest{cap.ns - cap.ns / 4};
  Duration const longest{cap.ns + cap.ns / 4};
  for (std::uint32_t const random : randoms) {
    Duration before{};
    for (std::uint32_t attempt = 0; attempt < 100; ++attempt) {
      Duration const wait = F::probe_after(attempt, random);
      if (wait != F::probe_after(attempt, random)) return "the same chance gives the same wait";
      if (wait <= Duration{}) return "there is a wait before every attempt";
      if (wait > longest) return "no wait is above the cap and its jitter";
      if (wait < before) return "waits do not shrink";
      before = wait;
    }
    for (std::uint32_t const attempt : {1'000U, last / 2, last / 2 + 1, last - 1, last}) {
      Duration const wait = F::probe_after(attempt, random);
      if (wait < shortest || wait > longest) return "late attempts go on at the cap and its jitter";
    }
  }
  if (F::probe_after(last, 0) == F::probe_after(last, last)) {
    return "connections that lost a path together do not come back together";
  }
  return {};
}

}  // namespace vccl::contracts
