// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// failback::Never: a path that was left is not used again.

#include <vccl/concepts.hpp>

#include <cstdint>
#include <type_traits>

namespace vccl::failback {

/// Stays where a failure has led. When every path has been left, the outage deadline ends the
/// connection.
///
/// State: none.
/// Hot path: not on it.
/// Thread safety: pure functions.
/// Use when there is no backup, or an operator decides when a repaired port is used again.
struct Never {
  [[nodiscard]] static constexpr bool returns() noexcept { return false; }

  /// Never asked, as returns() is false: 30 years, which any clock can add without overflow.
  [[nodiscard]] static constexpr Duration probe_after(std::uint32_t /*attempt*/,
                                                      std::uint32_t /*random*/) noexcept {
    return 946'080'000_s;
  }

  [[nodiscard]] static constexpr Duration good_for() noexcept { return {}; }
};

static_assert(Failback<Never>);
static_assert(std::is_empty_v<Never>);

}  // namespace vccl::failback
