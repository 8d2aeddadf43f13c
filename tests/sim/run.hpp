// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file One simulated run, judged.

#include <sim/plan.hpp>

#include <string>

namespace vccl::sim {

/// Runs a plan and counts in watch.coverage. Returns what was wrong, a line each; empty: nothing.
[[nodiscard]] std::string run(Plan const& p);

/// The smallest cut of a failing seed's plan that still fails.
[[nodiscard]] Cut shrink(std::uint64_t seed, Mutant mutant);

}  // namespace vccl::sim
