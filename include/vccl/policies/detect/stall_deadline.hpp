// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// detect::StallDeadline: an end that waits too long probes the path, and leaves it without an
/// answer.

#include <vccl/concepts.hpp>

#include <cstdint>
#include <type_traits>

namespace vccl::detect {

/// When waiting becomes suspicious.
struct Stall {
  Duration stall = 200_ms;   ///< No progress for so long: probe. Above the hold of PortEvent.
  Duration answer = 100_ms;  ///< A probe that takes so long has failed.
  /// Bytes per second that a working path moves at the very least. 10 MB/s is a twelfth of 1 Gbit/s
  /// Ethernet (125 MB/s), slower than any port that does RDMA, congestion included.
  std::uint64_t slowest = 10'000'000;
};

/// Asks a silent path whether it lives, and calls it failed when the answer does not come.
///
/// A receiver without data and a sender without a CTS cannot tell a slow peer from a dead path, so
/// silence only ever causes a probe. What is already outstanding must get through first, and may
/// honestly take long on a slow link: both deadlines grow by the time it takes at the slowest
/// speed.
///
/// State: none.
/// Hot path: a division and two comparisons, only while an end waits.
/// Thread safety: pure functions.
/// Use when a path can die without a sign: a switch behind a live port, a mute completion queue.
template <Stall Parameters = Stall{}>
struct StallDeadline {
  static_assert(Parameters.stall > Duration{}, "the stall must be above zero, which means never");
  static_assert(Parameters.answer > Duration{}, "a probe needs time to be answered");
  static_assert(Parameters.slowest > 0, "the slowest speed must be above zero bytes per second");

  [[nodiscard]] static constexpr Verdict on_completion(Status, bool) noexcept { return {}; }
  [[nodiscard]] static constexpr Verdict on_port(PortWatch const&) noexcept { return {}; }

  /// Each verdict from exactly its deadline on; at most one probe at a time.
  [[nodiscard]] static constexpr Verdict on_wait(Wait const& wait) noexcept {
    Duration const moving = time_to_move(wait.outstanding);
    if (wait.probing > Duration{}) {
      if (wait.probing < Parameters.answer + moving) return {};
      return {Verdict::Kind::path, Cause::stall};
    }
    if (wait.waiting < Parameters.stall + moving) return {};
    return {Verdict::Kind::probe, Cause::none};
  }

  [[nodiscard]] static constexpr Duration hold() noexcept { return {}; }
  [[nodiscard]] static constexpr Duration stall() noexcept { return Parameters.stall; }

  /// Time that `bytes` take at the slowest speed, rounded down to a microsecond (so that the
  /// remainder fits 64 bits for any speed below 18 TB/s) and at most 30 years.
  [[nodiscard]] static constexpr Duration time_to_move(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t most_seconds = 30ULL * 365 * 86'400;
    constexpr std::uint64_t us_per_second = 1'000'000;
    static_assert(Parameters.slowest < ~std::uint64_t{0} / us_per_second);
    std::uint64_t const seconds = bytes / Parameters.slowest;
    if (seconds >= most_seconds) return 1_s * static_cast<std::int64_t>(most_seconds);
    std::uint64_t const us = bytes % Parameters.slowest * us_per_second / Parameters.slowest;
    return 1_us * static_cast<std::int64_t>(seconds * us_per_second + us);
  }
};

static_assert(Detector<StallDeadline<>>);
static_assert(std::is_empty_v<StallDeadline<>>);

}  // namespace vccl::detect
