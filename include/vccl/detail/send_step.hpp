// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A step as the sender keeps it: who meets what, where it goes, how far it has been posted.

#include <vccl/detail/records.hpp>
#include <vccl/op.hpp>

#include <array>
#include <cstdint>

namespace vccl::detail {

/// A step of the window. Its size is a power of two, so that its address is a shift.
struct alignas(32) SendSlot {
  std::array<std::uint16_t, max_receives> requests{};
  std::uint8_t filled = 0;  ///< Bit per receive that has met its send.
  std::uint8_t count = 0;
  std::uint8_t parts = 0;
  std::uint8_t acked = 0;
  std::uint8_t too_long = 0;
  /// What sets it apart from the common step, which is told by one compare.
  std::uint8_t special = 0;
  static constexpr std::uint8_t not_whole = 1;  ///< Several receives, or one that is too short.
  static constexpr std::uint8_t needs_confirm = 2;
};
static_assert(sizeof(SendSlot) == 32);

/// Where a receive wants its data, as its CTS says.
struct Target {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  LaneKeys keys{};
  Tag tag{};
};

/// How far the step that is being written has been posted.
struct Cursor {
  bool begun = false;
  bool sized = false;
  std::uint8_t part = 0;
  std::uint8_t receive = 0;
  std::uint64_t offset = 0;  ///< Within the part of that receive.
};

/// A part's share of the bytes of one receive.
struct Share {
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
};

[[nodiscard]] constexpr Share share_of(std::uint64_t all, std::uint8_t part,
                                       std::uint8_t parts) noexcept {
  if (parts == 1) return {0, all};
  std::uint64_t const stride = part_stride(all, parts);
  std::uint64_t const from = part * stride;
  if (from >= all) return {all, 0};
  return {from, all - from < stride ? all - from : stride};
}

}  // namespace vccl::detail
