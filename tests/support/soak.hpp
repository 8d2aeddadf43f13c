// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Counts that are full in a soak and small in CI.

#include <cstddef>
#include <cstdlib>

namespace vccl::test {

/// `full` when the environment variable VCCL_SOAK is set and not empty, `ci` otherwise.
inline std::size_t soak_count(std::size_t ci, std::size_t full) {
  char const* const soak = std::getenv("VCCL_SOAK");
  return soak != nullptr && *soak != '\0' ? full : ci;
}

}  // namespace vccl::test
