// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What the fuzz targets share.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace vccl::fuzz {

/// Ends the run, so that the fuzzer keeps the input.
inline void must(bool so) {
  if (!so) std::abort();
}

}  // namespace vccl::fuzz
