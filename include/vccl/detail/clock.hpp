// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The machine's clock and entropy.

#include <vccl/op.hpp>

#include <cstdint>
#include <time.h>
#include <unistd.h>

namespace vccl::detail {

/// The machine's monotonic clock (POSIX clock_gettime, CLOCK_MONOTONIC). About 20 ns a call.
[[nodiscard]] inline Time monotonic_now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Time{std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_nsec}};
}

/// Finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// 2014).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t v) noexcept {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

/// 64 unpredictable bits of the machine, for secrets and packet numbers on a real clock.
[[nodiscard]] inline std::uint64_t entropy() noexcept {
  std::uint64_t v = 0;
  if (::getentropy(&v, sizeof v) != 0) v = mix(static_cast<std::uint64_t>(monotonic_now().ns));
  return v;
}

}  // namespace vccl::detail
