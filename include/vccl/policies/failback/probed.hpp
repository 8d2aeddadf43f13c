// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// failback::Probed: tries a lost path again and again, ever less often, and returns when it is
/// good.

#include <vccl/concepts.hpp>

#include <cstdint>
#include <type_traits>

namespace vccl::failback {

/// When a lost path is tried again, and when it counts as good.
struct Probe {
  Duration first = 200_ms;   ///< Before attempt 0; NCCL 2.29.7's port recovery starts there too.
  std::uint32_t growth = 2;  ///< Each wait is so many times the one before.
  Duration cap = 30_s;       ///< No wait is longer, jitter apart. Repairs take hours.
  std::uint32_t jitter_percent = 25;  ///< Each wait is longer or shorter by up to this.
  Duration good_for = 1_s;  ///< A repaired path must be good for so long before it is used.
};

/// Waits `first`, then `growth` times as long each time, up to `cap`, each wait made longer or
/// shorter by chance: connections that lost a path together must not all come back at once (the
/// Linux nvme-rdma driver dropped a connect timeout because reconnects after a flap starved each
/// other, commit 0525af711b66). There is no last attempt.
///
/// State: none; the attempt number is the connection's.
/// Hot path: not on it (a timer, while a path is out).
/// Thread safety: pure functions.
/// Use when paths come back, which is nearly always.
template <Probe Parameters = Probe{}>
struct Probed {
  static_assert(Parameters.first > Duration{}, "the first wait must be above zero");
  static_assert(Parameters.growth >= 1, "waits must not shrink");
  static_assert(Parameters.cap >= Parameters.first, "the cap must not be below the first wait");
  static_assert(Parameters.cap <= 86'400_s, "a cap above a day makes a repaired path useless");
  static_assert(Parameters.jitter_percent < 100, "a jitter of 100 % could wait for nothing");
  static_assert(Parameters.good_for >= Duration{}, "a path cannot be good for less than no time");

  [[nodiscard]] static constexpr bool returns() noexcept { return true; }

  /// Wait before attempt 0, 1, 2, ... `random`: 32 evenly distributed bits. The jitter comes after
  /// the cap, so waits stay apart for ever.
  [[nodiscard]] static constexpr Duration probe_after(std::uint32_t attempt,
                                                      std::uint32_t random) noexcept {
    // At most 86'400e9 ns x 99 % x 2 = 1.8e14 ns of swing: the product with 32 bits needs halves.
    std::int64_t const middle = without_jitter(attempt).ns;
    std::int64_t const most = middle * Parameters.jitter_percent / 100;
    auto const swing = static_cast<std::uint64_t>(2 * most + 1);
    std::uint64_t const low = (swing & 0xffff'ffff) * random >> 32;
    std::uint64_t const part = (swing >> 32) * random + low;  // 0 to swing - 1
    return Duration{middle - most + static_cast<std::int64_t>(part)};
  }

  [[nodiscard]] static constexpr Duration good_for() noexcept { return Parameters.good_for; }

 private:
  static constexpr Duration without_jitter(std::uint32_t attempt) noexcept {
    Duration wait = Parameters.first;
    if constexpr (Parameters.growth > 1) {
      for (; attempt > 0; --attempt) {  // At most 47 rounds: the cap is below 2^47 ns.
        if (wait > Parameters.cap / Parameters.growth) return Parameters.cap;
        wait = wait * Parameters.growth;
      }
    }
    return wait;
  }
};

static_assert(Failback<Probed<>>);
static_assert(std::is_empty_v<Probed<>>);

}  // namespace vccl::failback
