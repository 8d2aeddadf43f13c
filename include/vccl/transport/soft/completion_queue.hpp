// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The completion queue of a lane: fixed depth; when it overruns it is broken until the next RESET.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vccl::soft {

/// A completion and what polling it gives back to the queue that it came from.
struct CompletionEntry {
  Completion what;
  std::uint32_t qp = 0;  ///< Slot of the QP.
  bool of_receive = false;
  std::uint64_t retires =
      0;  ///< The queue's entries before this number are free once it is polled.
};

/// Overwrites what a failed completion does not say (IBTA vol. 1, 11.4.2.1; man ibv_poll_cq: "not
/// all wc attributes are valid" unless status is success) with noise.
inline void spoil(Completion& c, Random& noise) noexcept {
  std::uint64_t const v = noise.next();
  c.kind = static_cast<Completion::Kind>(v % 3);
  c.immediate = static_cast<std::uint32_t>(v >> 8);
  c.bytes = static_cast<std::uint32_t>(noise.next());
}

/// A ring of at most `depth` completions.
class CompletionQueue {
 public:
  void set_depth(std::uint32_t depth) noexcept { depth_ = depth; }
  /// False when it is full: the completion is lost (IBTA vol. 1, 11.6.3.3: CQ error).
  [[nodiscard]] bool push(CompletionEntry const& e) {
    if (count_ == depth_) return false;
    if (count_ == ring_.size()) grow();
    ring_[(head_ + count_++) % ring_.size()] = e;
    return true;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  CompletionEntry const& pop() noexcept {
    CompletionEntry const& e = ring_[head_];
    head_ = head_ + 1 == ring_.size() ? 0 : head_ + 1;
    --count_;
    return e;
  }
  void clear() noexcept { head_ = count_ = 0; }

 private:
  void grow() {
    std::size_t const wanted = std::max<std::size_t>(16, ring_.size() * 2);
    std::vector<CompletionEntry> wider(std::min<std::size_t>(depth_, wanted));
    for (std::uint32_t i = 0; i < count_; ++i) wider[i] = ring_[(head_ + i) % ring_.size()];
    ring_ = std::move(wider);
    head_ = 0;
  }

  std::vector<CompletionEntry> ring_;
  std::uint32_t depth_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace vccl::soft
