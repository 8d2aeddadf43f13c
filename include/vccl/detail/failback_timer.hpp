// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// When to try each lost path again, and when a repaired one has been good for long enough.

#include <vccl/concepts.hpp>

#include <array>
#include <cstdint>

namespace vccl::detail {

/// Timers of one connection's paths, by the bundle's Failback. The clock is the caller's.
///
/// An attempt counts, and so grows the delay, only when both ends took part in it, and another
/// path was in use.
template <Failback Policy>
class FailbackTimer {
 public:
  /// An attempt that has not come up after this is given up: enough for three round trips of 100
  /// ms.
  static constexpr Duration attempt_limit{1'000'000'000};

  void lost(PathId q, Time now, std::uint32_t random) noexcept {
    Entry& e = entries_[q];
    if (e.up) e.attempts = 0;
    e.up = false;
    e.retry_at = now + Policy::probe_after(e.attempts, random);
    e.lost_at = now;
  }
  void armed(PathId q, Time now) noexcept {
    entries_[q].up = true;
    entries_[q].good_since = now;
    entries_[q].probe_at = now + Policy::good_for() / 4;
  }
  /// What is known of the path's local port. While it is down no attempt is due; when it comes up
  /// the delay starts over.
  void port(PathId q, bool down, Time now, std::uint32_t random) noexcept {
    Entry& e = entries_[q];
    if (e.port_down && !down) {
      e.attempts = 0;
      e.lost_at = now;
      e.retry_at = now + Policy::probe_after(0, random);
    }
    e.port_down = down;
  }
  /// True when it is time for another attempt. While stranded every path is tried at `soon`.
  [[nodiscard]] bool due(PathId q, Time now, bool stranded, Duration soon) const noexcept {
    Entry const& e = entries_[q];
    if (e.up || e.port_down) return false;
    if (stranded) return now >= (e.retry_at < e.lost_at + soon ? e.retry_at : e.lost_at + soon);
    return Policy::returns() && now >= e.retry_at;
  }
  void begin(PathId q, Time now, std::uint32_t random) noexcept {
    Entry& e = entries_[q];
    ++made_;
    e.counted = false;
    e.began = now;
    e.retry_at = now + Policy::probe_after(e.attempts, random);
  }
  void count_attempt(PathId q) noexcept {
    Entry& e = entries_[q];
    if (!e.counted && e.attempts != 0xffff'ffff) ++e.attempts;
    e.counted = true;
  }
  /// When the last attempt began; the epoch of the clock when there was none.
  [[nodiscard]] Time tried_at(PathId q) const noexcept { return entries_[q].began; }
  [[nodiscard]] bool too_long(PathId q, Time now) const noexcept {
    return now - entries_[q].began >= attempt_limit;
  }

  /// While it must prove itself, a repaired path is probed four times.
  [[nodiscard]] bool wants_probe(PathId q, Time now) noexcept {
    Entry& e = entries_[q];
    if (!e.up || now < e.probe_at) return false;
    e.probe_at = now + Policy::good_for() / 4;
    return true;
  }
  [[nodiscard]] bool trusted(PathId q, Time now) const noexcept {
    Entry const& e = entries_[q];
    return Policy::returns() && e.up && now - e.good_since >= Policy::good_for();
  }
  [[nodiscard]] std::uint64_t attempts_made() const noexcept { return made_; }

 private:
  struct Entry {
    bool up = false;
    bool counted = false;
    bool port_down = false;
    std::uint32_t attempts = 0;
    Time retry_at, lost_at, began, good_since, probe_at;
  };
  std::array<Entry, max_paths> entries_{};
  std::uint64_t made_ = 0;
};

}  // namespace vccl::detail
