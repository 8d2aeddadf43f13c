// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// How long an outage lasts: for the abort deadline, and for what status() tells.

#include <vccl/op.hpp>

#include <cstdint>
#include <utility>

namespace vccl::detail {

/// Clocks of one connection's outages. The caller brings the time and the progress mark: a number
/// that grows with every step.
class OutageMeter {
 public:
  /// Data stopped: the path in use was left.
  void stopped(Time now) noexcept {
    if (stopped_at_.ns == 0) stopped_at_ = now;
    if (trouble_since_.ns == 0) trouble_since_ = now;
    lost_ = true;
  }
  /// Data may go on: the outage is over once a step beyond `mark` is done. A planned switch is
  /// none.
  void resumed(std::uint64_t mark, bool planned) noexcept {
    if (planned) stopped_at_ = {};
    if (stopped_at_.ns != 0) first_mark_ = mark + 1;
  }
  /// The path in use carries what is asked of it, and the peer is what is waited for.
  void alive() noexcept { trouble_since_ = {}; }

  /// Called now and then. When there is no usable path, or the one in use was just lost: how long
  /// no path has been any good, since the last new step. Paths that come up and are lost again
  /// before they have carried a step do not end that.
  Duration update(Time now, std::uint64_t mark, bool usable, bool waits, PathId path) noexcept {
    if (updated_at_.ns != 0 && path != 0) on_backup_ = on_backup_ + (now - updated_at_);
    updated_at_ = now;
    if (first_mark_ != 0 && mark >= first_mark_) {
      last_ = now - stopped_at_;
      stopped_at_ = {};
      first_mark_ = 0;
    }
    if (mark != last_mark_ || (usable && !waits)) trouble_since_ = {};
    last_mark_ = mark;
    bool const lost = std::exchange(lost_, false);
    if (usable && (trouble_since_.ns == 0 || !lost)) return {};
    if (trouble_since_.ns == 0) trouble_since_ = now;
    return now - trouble_since_;
  }

  /// The last outage that is over: from the stop to the first new step.
  [[nodiscard]] Duration last() const noexcept { return last_; }
  /// Time spent on a path other than the primary.
  [[nodiscard]] Duration on_backup() const noexcept { return on_backup_; }

 private:
  Time stopped_at_, trouble_since_, updated_at_;
  Duration last_, on_backup_;
  std::uint64_t first_mark_ = 0;
  std::uint64_t last_mark_ = 0;
  bool lost_ = false;  ///< Since the last update.
};

/// Repeats with back-off: after `first`, then twice as long each time, at most `cap`.
class Repeater {
 public:
  void reset() noexcept { wait_ = {}; }
  [[nodiscard]] bool due(Time now, Duration first, Duration cap) noexcept {
    if (wait_.ns == 0) {
      wait_ = first;
      next_ = now + wait_;
      return false;
    }
    if (now < next_) return false;
    wait_ = wait_ * 2 < cap ? wait_ * 2 : cap;
    next_ = now + wait_;
    return true;
  }

 private:
  Duration wait_;
  Time next_;
};

}  // namespace vccl::detail
