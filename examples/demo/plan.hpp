// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// How a file is cut into steps, and how fast the ports are.

#include <algorithm>
#include <cstdint>

namespace demo {

/// At least 64 steps whatever the size, of at most 1 MiB each, so memory stays bounded; a few
/// milliseconds each, so the picture has detail.
class Plan {
 public:
  static constexpr std::uint64_t least_steps = 64;
  static constexpr std::uint64_t largest_step = std::uint64_t{1} << 20;
  static constexpr std::uint64_t usual_step = 4096;       ///< No smaller, if there is enough data.
  static constexpr std::uint64_t least_rate = 1'000'000;  ///< Below, control messages would crawl.
  static constexpr std::size_t window = 16;  ///< Steps under way, each with its buffer.

  Plan(std::uint64_t bytes, double seconds) : bytes_{bytes}, seconds_{seconds} {
    auto const most = std::max(least_steps, static_cast<std::uint64_t>(512 * seconds));
    steps_ = std::clamp(bytes / usual_step, least_steps, most);
    if (bytes / steps_ >= largest_step) steps_ = bytes / largest_step + 1;
    rate_ = std::max(least_rate, static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds));
    paced_ = rate_ == least_rate;
  }
  /// For ports whose speed is as it is.
  [[nodiscard]] static Plan paced(std::uint64_t bytes, double seconds) {
    Plan plan{bytes, seconds};
    plan.paced_ = true;
    return plan;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// Of each port, bytes per second.
  [[nodiscard]] std::uint64_t rate() const noexcept { return rate_; }

  [[nodiscard]] std::uint64_t offset(std::uint64_t step) const noexcept {
    return bytes_ / steps_ * step + std::min(step, bytes_ % steps_);
  }
  [[nodiscard]] std::uint64_t length(std::uint64_t step) const noexcept {
    return offset(step + 1) - offset(step);
  }
  /// Of the longest step; at least 1, as no buffer is empty.
  [[nodiscard]] std::uint64_t longest() const noexcept {
    return std::max<std::uint64_t>(1, length(0));
  }

  /// When a step may start, in seconds after the first: a file too small to keep a port busy for
  /// that long comes as from a slow disk.
  [[nodiscard]] double earliest(std::uint64_t step) const noexcept {
    if (!paced_) return 0;
    return seconds_ * static_cast<double>(step) / static_cast<double>(steps_);
  }

 private:
  std::uint64_t bytes_;
  double seconds_;
  std::uint64_t steps_ = 0;
  std::uint64_t rate_ = 0;
  bool paced_ = false;
};

}  // namespace demo
