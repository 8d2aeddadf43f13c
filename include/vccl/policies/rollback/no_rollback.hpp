// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// rollback::NoRollback: nothing is ever sent again.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::rollback {

/// Replays nothing, so a connection with a backup does not compile with it.
///
/// State: none.
/// Hot path: not on it.
/// Thread safety: pure function.
/// Use when there is no backup.
struct NoRollback {
  /// True for what may land twice with the effect of once: nothing, as nothing is sent twice.
  template <class Op>
  static constexpr bool replays = false;

  [[nodiscard]] static constexpr Step resume(Step receiver, Step /*sender*/) noexcept {
    return receiver;
  }
};

static_assert(Rollback<NoRollback>);
static_assert(std::is_empty_v<NoRollback>);
static_assert(!ReplayableBy<OrderedNotify, NoRollback>);

}  // namespace vccl::rollback
