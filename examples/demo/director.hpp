// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Runs a copy: starts both ends, pulls the cable and plugs it in, waits for the failback.

#include <demo/bandwidth.hpp>
#include <demo/board.hpp>
#include <demo/files.hpp>
#include <demo/options.hpp>
#include <demo/plan.hpp>

#include <array>
#include <string>
#include <vector>

namespace demo {

/// Something done to the network, for the table and the picture.
struct Mark {
  enum class Kind : std::uint8_t { harm, repair };
  double at = 0;  ///< Seconds since the start of the copy.
  Kind kind = Kind::harm;
  std::string what;
};

/// What came of it.
struct Report {
  std::string file;
  std::uint64_t bytes = 0;
  vccl::Time start{};
  double seconds = 0;         ///< Of the copy.
  double watched = 0;         ///< Until the connection was closed.
  std::array<Side, 2> sides;  ///< Sender, receiver.
  double longest_gap = 0;     ///< Seconds between two steps, as the receiver's user sees it.
  std::vector<Mark> marks;
  Bandwidth bandwidth;
  bool interrupted = false;
  std::string failure;  ///< Empty: all is well.

  [[nodiscard]] Side const& sender() const { return sides[0]; }
  [[nodiscard]] Side const& receiver() const { return sides[1]; }
  [[nodiscard]] double since_start(vccl::Time t) const {
    return static_cast<double>((t - start).ns) / 1e9;
  }
};

/// Ctrl-C ends it cleanly. Throws SetupError.
[[nodiscard]] Report run_copy(Options const& options, File const& file, File const& output);

}  // namespace demo
