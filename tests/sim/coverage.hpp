// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What simulated runs have gone through: faults that struck, transitions that were taken.

#include <vccl/op.hpp>
#include <vccl/sync/receiver_decides/receiver.hpp>
#include <vccl/sync/receiver_decides/sender.hpp>
#include <vccl/transport/soft/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace vccl::sim {

/// How often each transition of a state with N values was taken.
template <std::size_t N>
using Transitions = std::array<std::array<std::uint64_t, N>, N>;

/// Plain counts: workers write them into shared memory.
struct Coverage {
  std::array<std::uint64_t, soft::actions> fired{};
  Transitions<4> sender{};  ///< Modes, in the order of their enum; also below.
  Transitions<4> receiver{};
  std::array<Transitions<4>, 2> ending{};  ///< By end.
  std::array<Transitions<7>, 2> phase{};   ///< Of a path, by end.
  std::uint64_t seeds = 0;
  std::uint64_t completed = 0;  ///< Runs in which everything was received.
  std::uint64_t closed = 0;     ///< Runs that ended before by a close.
  std::uint64_t aborted = 0;    ///< Runs that ended before with an error.
  std::uint64_t refused = 0;    ///< Runs whose set-up failed.
  std::uint64_t failovers = 0, failbacks = 0, rearms = 0, resent_steps = 0, flush_reads = 0;

  void add(Coverage const& other);
};

/// Tables for people, and whether something that has to happen never did, or something happened
/// that the tables do not know.
struct Report {
  std::string text;
  std::string missing;  ///< A line each; empty when all is covered.
};
[[nodiscard]] Report report(Coverage const& c);

}  // namespace vccl::sim
