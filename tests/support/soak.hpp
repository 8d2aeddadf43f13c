// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file How often a scenario repeats itself: little in CI, in full in a soak.

#include <cstddef>
#include <cstdlib>

namespace vccl::test {

/// `full` when the environment variable VCCL_SOAK is set and not empty, else `ci`.
inline std::size_t soak_count(std::size_t ci, std::size_t full) {
  char const* const soak = std::getenv("VCCL_SOAK");  // NOLINT(concurrency-mt-unsafe): only read
  return soak != nullptr && *soak != '\0' ? full : ci;
}

}  // namespace vccl::test
