// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What an exploration covers, and which rule it breaks on purpose.

#include <cstdint>
#include <string_view>

namespace vccl::model {

inline constexpr int most_paths = 3;
inline constexpr int most_steps = 3;

/// A rule broken around the shipped machines: in what they are told, or in what is done with their
/// actions. The machines themselves are always the shipped ones.
enum class Mutant : std::uint8_t {
  none,
  no_fence,
  fence_announced_early,
  position_before_drain,
  release_on_ack,
  sender_done,
  forgotten_incarnation,
  reused_epoch,
  one_cts_ring,
  no_new_psn,
  unnumbered_answers,
  unnumbered_and_unprobed,  ///< The same, and whatever is connected counts as probed.
  no_drain,
  switch_sent_once,
  receives_tied_to_steps,
};

struct Config {
  std::string_view name;
  std::uint8_t paths = 2;
  std::uint8_t steps = 2;
  std::uint8_t window = 2;       ///< Steps with a CTS beyond the received ones.
  std::uint8_t faults = 1;       ///< Links that go down, and suspicions of a path that works.
  std::uint8_t repairs = 1;      ///< Attempts to arm a path.
  std::uint8_t ends = 0;         ///< Closes, fatal faults, outage deadlines, fences that fail.
  std::uint8_t up = 0b111;       ///< Paths armed at the start.
  std::uint8_t flushed = 0b010;  ///< Steps whose memory needs a flush, so a confirmation.
  std::uint8_t remembered = 3;   ///< Different messages that can be under way, per direction.
  bool out_of_band = true;       ///< Else messages need a path.
  bool rings = false;            ///< CTS records land one by one; else landing and use are one.
  bool lingers = false;          ///< The linger deadline may pass.
  bool behind_must_end = false;  ///< A position behind is none if both ends then end with an error.
  Mutant mutant = Mutant::none;
  unsigned depth = 0;  ///< 0: until nothing new is found.
};

}  // namespace vccl::model
