// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What the two ends of the copy and the director who watches them tell each other.

#include <demo/bandwidth.hpp>
#include <vccl/connection.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/status.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace demo {

/// What is known of one end.
struct Side {
  vccl::ConnectionStatus status;
  vccl::Duration outage{};  ///< The longest so far: from the fault to the first new step.
  std::uint64_t steps = 0;  ///< Done.
  std::uint64_t bytes = 0;
  std::string sha256;  ///< Once all steps are done.
  std::vector<vccl::Event> events;
};

/// Thread safety: any thread.
class Board {
 public:
  /// What the director has said, in this order.
  enum class Phase : std::uint8_t { set_up, copy, close };

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  void enter(Phase p) noexcept { phase_ = p; }
  /// Set before Phase::copy.
  vccl::Time start{};

  /// The first failure counts; it ends the copy at both ends.
  void fail(std::string why) {
    std::scoped_lock const lock{mutex_};
    if (failure_.empty()) failure_ = std::move(why);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::string failure() const {
    std::scoped_lock const lock{mutex_};
    return failure_;
  }

  void offer(vccl::Handle const& h) {
    std::scoped_lock const lock{mutex_};
    handle_ = h;
  }
  [[nodiscard]] std::optional<vccl::Handle> handle() const {
    std::scoped_lock const lock{mutex_};
    return handle_;
  }

  template <class Change>
  void update(vccl::End end, Change change) {
    std::scoped_lock const lock{mutex_};
    change(sides_[static_cast<std::size_t>(end)]);
  }
  /// Without its events.
  [[nodiscard]] Side side(vccl::End end) const {
    std::scoped_lock const lock{mutex_};
    return sides_[static_cast<std::size_t>(end)];
  }

  void received(double at, std::uint64_t bytes) {
    std::scoped_lock const lock{mutex_};
    bandwidth_.add(at, bytes);
    if (last_at_ > 0) gap_ = std::max(gap_, at - last_at_);
    last_at_ = at;
  }
  /// Between two steps, in seconds.
  [[nodiscard]] double longest_gap() const {
    std::scoped_lock const lock{mutex_};
    return gap_;
  }
  [[nodiscard]] Bandwidth bandwidth() const {
    std::scoped_lock const lock{mutex_};
    return bandwidth_;
  }

 private:
  std::atomic<Phase> phase_{Phase::set_up};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string failure_;
  std::optional<vccl::Handle> handle_;
  std::array<Side, 2> sides_;
  Bandwidth bandwidth_;
  double last_at_ = 0;
  double gap_ = 0;
};

}  // namespace demo
