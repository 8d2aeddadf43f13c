// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Processes that share the work: a simulation that crashes takes its process with it, and is
/// reported like any other failure.

#include <sim/watched.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace vccl::sim {

struct Failure {
  std::uint64_t seed = 0;
  std::string problems;
};

struct Found {
  Coverage coverage;
  std::uint64_t failed = 0;       ///< All of them.
  std::vector<Failure> failures;  ///< The first ones of each worker.
};

/// What to simulate: seeds first, first + 1, ... in `jobs` processes.
struct Batch {
  std::uint64_t first = 1;
  std::uint64_t count = 1000;
  double seconds = 0;  ///< Not 0: no new seed after that.
  unsigned jobs = 1;
  Mutant mutant = Mutant::none;
  bool stop_at_failure = false;  ///< Until one fails.
};

[[nodiscard]] Found simulate(Batch const& batch);

}  // namespace vccl::sim
