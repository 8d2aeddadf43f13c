// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// rollback::ReceiverPosition: sending resumes at the first step that the receiver does not have.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::rollback {

/// Sends again exactly what the receiver lacks: nothing that it has, and all that it has not,
/// whatever this end believed. Steps before that whose acknowledgement was lost are complete.
///
/// State: none.
/// Hot path: not on it (failover only).
/// Thread safety: pure function.
/// Use when there is a backup.
struct ReceiverPosition {
  /// True for what may land twice with the effect of once. A step whose notify was not seen is
  /// written again to the same place, and a plain write may repeat; a send would eat a second
  /// receive, an atomic would count twice, and a flag inside the data can be taken for that of a
  /// later use of the buffer.
  template <class Op>
  static constexpr bool replays =
      std::is_same_v<Op, OrderedNotify> || std::is_same_v<Op, Idempotent>;

  [[nodiscard]] static constexpr Step resume(Step receiver, Step /*sender*/) noexcept {
    return receiver;
  }
};

static_assert(Rollback<ReceiverPosition>);
static_assert(std::is_empty_v<ReceiverPosition>);
static_assert(ReplayableBy<OrderedNotify, ReceiverPosition>);
static_assert(!ReplayableBy<Atomic, ReceiverPosition>);

}  // namespace vccl::rollback
