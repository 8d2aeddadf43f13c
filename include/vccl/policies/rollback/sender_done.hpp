// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// rollback::SenderDone: sending resumes at the first step that the sender has not completed.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::rollback {

/// Trusts this end's completions. Wrong on purpose: an acknowledged step that the receiver could
/// not flush is never sent again, and one that the receiver has but whose acknowledgement was lost
/// is sent twice. Either way the ends wait for different steps. Tests use it to show that they
/// notice.
///
/// State: none.
/// Hot path: not on it (failover only).
/// Thread safety: pure function.
/// Use when a test needs its negative control, and for nothing else.
struct SenderDone {
  /// The same classes as with ReceiverPosition, so that only resume() tells them apart.
  template <class Op>
  static constexpr bool replays =
      std::is_same_v<Op, OrderedNotify> || std::is_same_v<Op, Idempotent>;

  [[nodiscard]] static constexpr Step resume(Step /*receiver*/, Step sender) noexcept {
    return sender;
  }
};

static_assert(Rollback<SenderDone>);
static_assert(std::is_empty_v<SenderDone>);

}  // namespace vccl::rollback
