// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Where the software NIC's time and chance come from: the machine's clock and entropy, or a seed.

#include <vccl/detail/clock.hpp>
#include <vccl/op.hpp>

#include <cstdint>

namespace vccl::soft {

/// A time that never comes.
inline constexpr Time never{INT64_MAX};

using detail::entropy;
using detail::mix;
using detail::monotonic_now;

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
