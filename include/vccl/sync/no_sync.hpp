// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// No agreement between the ends: a path that fails ends the connection at this end.

#include <vccl/concepts.hpp>
#include <vccl/fwd.hpp>

namespace vccl::sync {

/// State: none.  Hot path: not on it.  Thread safety: nothing to share.
/// Use when there is no backup: nothing of failover is left in the binary.
struct NoSync {
  static constexpr bool arms_backup = false;
  static constexpr bool in_band = false;
  static constexpr bool out_of_band = false;
};
static_assert(SyncPolicy<NoSync>);

}  // namespace vccl::sync
