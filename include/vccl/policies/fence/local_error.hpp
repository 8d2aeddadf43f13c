// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// fence::LocalError: only the sender makes its side of the old path quiet.

#include <vccl/concepts.hpp>
#include <vccl/policies/fence/both_ends_error.hpp>

#include <type_traits>

namespace vccl::fence {

/// Takes the sender's queue pairs to ERR and RESET, and leaves the receiver's as they are. The
/// sender sends nothing more, but what the network or the receiver's NIC still holds can land after
/// the replay, in a buffer that was handed to the consumer.
///
/// State: none.
/// Hot path: not on it (failover only).
/// Thread safety: pure functions.
/// Use when comparing designs. With a path selector whose paths share a switch, or any network that
/// can delay a packet longer than a failover takes, it is wrong: take BothEndsError.
template <Drain Parameters = Drain{}>
struct LocalError {
  static_assert(Parameters.deadline > Duration{}, "draining needs time");

  [[nodiscard]] static constexpr bool fences(End end) noexcept { return end == End::sender; }
  [[nodiscard]] static constexpr Duration deadline() noexcept { return Parameters.deadline; }
};

static_assert(Fence<LocalError<>>);
static_assert(std::is_empty_v<LocalError<>>);

}  // namespace vccl::fence
