// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// How control messages travel: as records on the paths, on the set-up pipe, or both.

namespace vccl::sync {

/// Messages are written as records into the peer's memory over every usable path.
/// State: one record per path.  Hot path: one load per path and poll.  Use always: it is the
/// fastest.
struct InBand {
  static constexpr bool in_band = true;
  static constexpr bool out_of_band = false;
};

/// Messages also travel on the pipe that set the connection up, which stays open.
/// State: the pipe.  Hot path: not on it.  Use always: it reaches a peer whose paths are all gone.
struct OutOfBand {
  static constexpr bool in_band = false;
  static constexpr bool out_of_band = true;
};

}  // namespace vccl::sync
