// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// release::OnConfirm: a send is complete when the receiver says that it has it.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::release {

/// Completes a send when the receiver's confirmed position, which travels in its CTS and control
/// records, covers it. Until then everything can be sent again.
///
/// State: none.
/// Hot path: a constant. Source buffers stay in use about one round trip longer than with OnAck.
/// Thread safety: pure function.
/// Use when every receive buffer needs a flush, or nothing may be lost even if the receiving NIC
/// acknowledges and then dies.
struct OnConfirm {
  [[nodiscard]] static constexpr bool on_acknowledgement(bool) noexcept { return false; }
};

static_assert(Release<OnConfirm>);
static_assert(std::is_empty_v<OnConfirm>);

}  // namespace vccl::release
