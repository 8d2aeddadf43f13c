// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What the id of a work request says, and so its completion.

#include <vccl/op.hpp>

#include <cstdint>

namespace vccl::detail {

/// Which work a completion belongs to. Travels in the work request's id. What is above flush stands
/// in the account of a send queue.
enum class Work : std::uint8_t { receive, flush, data, chunk, cts, control, probe };

/// [step 32, sequence 16, queue 4, generation 9, work 3]. The sequence counts what was posted on
/// that send queue, so a completion retires all earlier work, signaled or not.
struct WorkId {
  Work work = Work::receive;
  std::uint16_t generation = 0;
  std::uint8_t queue = 0;
  std::uint16_t sequence = 0;
  std::uint32_t step = 0;
};
inline constexpr std::uint16_t generation_mask = 0x1ff;
inline constexpr std::uint64_t life_mask = 0xfff8;  ///< Queue and generation.
inline constexpr std::uint64_t no_life = 1;         ///< Not in the mask: in no life of any queue.

[[nodiscard]] constexpr std::uint64_t pack(WorkId w) noexcept {
  return std::uint64_t{w.step} << 32 | std::uint64_t{w.sequence} << 16 |
         std::uint64_t{w.queue} << 12 | std::uint64_t{w.generation} << 3 |
         static_cast<std::uint64_t>(w.work);
}
[[nodiscard]] constexpr WorkId unpack_work(std::uint64_t v) noexcept {
  return {static_cast<Work>(v & 7), static_cast<std::uint16_t>(v >> 3 & generation_mask),
          static_cast<std::uint8_t>(v >> 12 & 15), static_cast<std::uint16_t>(v >> 16),
          static_cast<std::uint32_t>(v >> 32)};
}

/// A completion, sorted: what it was for, and how it went.
struct Arrival {
  WorkId id;
  Status status = Status::success;
  std::uint32_t immediate = 0;
};

}  // namespace vccl::detail
