// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// fence::NoFence: nothing makes the old path quiet.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::fence {

/// Replays at once. Wrong on purpose: the old path can still write to a buffer that has been handed
/// to the consumer, and read one that has been released. Tests use it to show that they notice.
///
/// State: none.
/// Hot path: not on it.
/// Thread safety: pure functions.
/// Use when a test needs its negative control, and for nothing else.
struct NoFence {
  [[nodiscard]] static constexpr bool fences(End) noexcept { return false; }
  [[nodiscard]] static constexpr Duration deadline() noexcept { return {}; }
};

static_assert(Fence<NoFence>);
static_assert(std::is_empty_v<NoFence>);

}  // namespace vccl::fence
