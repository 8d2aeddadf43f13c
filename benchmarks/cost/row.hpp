// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// How the programs of a benchmark tell what they found.

#include <cstdint>
#include <cstdio>

namespace vccl::bench {

/// One line, which cost.py reads: name, variant, bytes of a message, value, unit.
inline void row(const char* name, const char* variant, std::uint64_t bytes, double value,
                const char* unit) {
  std::printf("%s %s %llu %.6g %s\n", name, variant, static_cast<unsigned long long>(bytes), value,
              unit);
  std::fflush(stdout);
}

}  // namespace vccl::bench
