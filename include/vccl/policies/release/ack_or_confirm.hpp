// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// release::AckOrConfirm: a send is complete as the receiver's CTS says, step by step.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::release {

/// Completes a send on the NIC's acknowledgement where the receiver's memory needs no flush, and on
/// the receiver's confirmed position where it does.
///
/// State: none.
/// Hot path: one flag of the CTS.
/// Thread safety: pure function.
/// Use when there is a backup: as early as OnAck where that is safe, and only there.
struct AckOrConfirm {
  [[nodiscard]] static constexpr bool on_acknowledgement(bool needs_confirm) noexcept {
    return !needs_confirm;
  }
};

static_assert(Release<AckOrConfirm>);
static_assert(std::is_empty_v<AckOrConfirm>);

}  // namespace vccl::release
