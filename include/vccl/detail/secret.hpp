// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What lets a caller in: 128 random bits, and how they are compared.

#include <array>
#include <cstdint>

namespace vccl::detail {

/// Never written to a log.
using Secret = std::array<std::uint64_t, 2>;

/// Compares in a time that does not depend on where they differ.
[[nodiscard]] constexpr bool same_secret(Secret const& a, Secret const& b) noexcept {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

}  // namespace vccl::detail
