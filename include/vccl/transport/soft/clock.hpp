// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Where the software NIC's time and chance come from: the machine's clock and entropy, or a seed.

#include <vccl/op.hpp>

#include <cstdint>
#include <time.h>
#include <unistd.h>

namespace vccl::soft {

/// A time that never comes.
inline constexpr Time never{INT64_MAX};

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

/// 64 unpredictable bits of the machine, for secrets on a real clock.
[[nodiscard]] inline std::uint64_t entropy() noexcept {
  std::uint64_t v = 0;
  if (::getentropy(&v, sizeof v) != 0) v = mix(static_cast<std::uint64_t>(monotonic_now().ns));
  return v;
}

/// SplitMix64: the same seed gives the same numbers. For simulation, never for secrets.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_{seed} {}

  constexpr std::uint64_t next() noexcept {
    std::uint64_t const v = mix(state_);
    state_ += 0x9e3779b97f4a7c15u;
    return v;
  }
  /// A number in [0, n); 0 when n is 0. The bias of the remainder (n / 2^64) does not matter here.
  constexpr std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : next() % n; }

 private:
  std::uint64_t state_;
};

}  // namespace vccl::soft
