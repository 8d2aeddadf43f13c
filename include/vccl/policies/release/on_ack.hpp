// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// release::OnAck: a send is complete when the NIC acknowledges it.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::release {

/// Completes a send when the peer's NIC has acknowledged its last packet. For memory that needs a
/// flush that is early: the flush may fail on a dying NIC after the source buffer is gone, and then
/// the connection must end at both ends (Cause::position_behind).
///
/// State: none.
/// Hot path: a constant.
/// Thread safety: pure function.
/// Use when there is no backup, or all receive buffers are host memory.
struct OnAck {
  [[nodiscard]] static constexpr bool on_acknowledgement(bool) noexcept { return true; }
};

static_assert(Release<OnAck>);
static_assert(std::is_empty_v<OnAck>);

}  // namespace vccl::release
