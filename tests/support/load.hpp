// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What a test sends, and bytes that tell whose they are.

#include <vccl/op.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vccl::test {

/// A send and the receive that it is meant for.
struct Piece {
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
};

/// A time in which the application of an end does nothing: it neither posts nor polls.
struct Absence {
  End end = End::sender;
  Duration from{};  ///< After load().
  Duration until{};
};

/// A workload: pieces per step, at most 8. Piece r of a step has tag r.
struct Load {
  std::vector<std::vector<Piece>> steps;
  std::size_t depth = 16;              ///< Steps under way at the receiver, at most 64.
  std::size_t ahead = 0;               ///< Steps under way at the sender; 0: as many.
  MemoryKind kind = MemoryKind::host;  ///< Of the receiver's memory.
  Duration pause{};                    ///< Between posting one step and the next.
  std::vector<Absence> absences;

  static Load uniform(std::size_t steps, std::uint64_t bytes, std::size_t receives = 1);
  /// Sizes by chance up to `bytes`, also empty; sends no longer than their receives.
  static Load random(std::uint64_t seed, std::size_t steps, std::uint64_t bytes);
};

/// Whose bytes stand somewhere.
enum class Owner : std::uint64_t { sent = 1, fresh, consumed, garbage };

/// Where a piece begins in its step's place, in words: pieces are a cache line apart.
[[nodiscard]] std::size_t offset_of(std::vector<Piece> const& pieces, std::size_t r, bool source);

/// Writes the owner's bytes of a piece to the place at word `at`.
void fill(std::vector<std::uint64_t>& to, std::size_t at, std::uint64_t bytes, Owner owner,
          std::size_t step, std::size_t piece);

/// Bytes [from, to) of the place at word `at` that are not the owner's.
[[nodiscard]] std::uint64_t wrong(std::vector<std::uint64_t> const& in, std::size_t at,
                                  std::uint64_t from, std::uint64_t to, Owner owner,
                                  std::size_t step, std::size_t piece);

}  // namespace vccl::test
