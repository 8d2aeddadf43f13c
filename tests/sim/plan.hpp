// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What a simulated run does, all of it drawn from one number.

#include <support/ends.hpp>
#include <support/world.hpp>

#include <sim/watched.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vccl::sim {

/// What has to be true of a run.
enum class Promise : std::uint8_t {
  calm,    ///< Outages shorter than the hold: no switch, nothing sent again (V6).
  heals,   ///< Faults that end, or leave a path: everything completes (V4).
  lethal,  ///< Anything: it completes, or both ends end with a cause, by the deadline (V5).
};

enum class Wire : std::uint8_t { both, in_band, out_of_band, four_paths, plain };

/// How the connection is ended.
enum class Finish : std::uint8_t {
  close_sender,
  close_receiver,
  close_both,
  abort_sender,
  abort_receiver,
  destroy_sender,
  destroy_receiver,
};

/// A fault: lines of the fault language that belong together, such as a loss and its repair.
using FaultLines = std::string;

/// A smaller run than the seed says, for shrinking. Applied after everything is drawn.
struct Cut {
  std::vector<std::size_t> without{};  ///< Faults that are left out.
  std::size_t steps = ~std::size_t{0};
  bool simple = false;  ///< One lane, one QP, single receives, host memory, nobody away.
};

struct Plan {
  std::uint64_t seed = 0;
  Promise promise = Promise::heals;
  Wire wire = Wire::both;
  test::Switches switches;
  soft::FabricConfig fabric;
  bool adaptive_routing = false;
  Route sender{PortId{0}};
  Route receiver{PortId{0}};
  test::Load load;
  std::vector<FaultLines> faults;
  bool early = false;          ///< The faults strike during set-up, which may then fail.
  bool may_be_behind = false;  ///< A fault may lose what the receiver's NIC has acknowledged.
  std::size_t finish_after = ~std::size_t{0};  ///< Steps received before the finish.
  Finish finish = Finish::close_both;
  std::uint32_t first_sequence = 0;  ///< Of control messages.
  bool must_return = false;          ///< After the load: back on the primary, and data on it.
  bool slow_backup = false;          ///< Meanwhile some of the data comes late.

  [[nodiscard]] std::string script() const;
};

[[nodiscard]] Plan make_plan(std::uint64_t seed, Mutant mutant, Cut const& cut);
[[nodiscard]] std::string describe(Plan const& p);

}  // namespace vccl::sim
