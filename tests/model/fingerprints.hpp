// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A set of fingerprints, each with the one it came from, that several threads fill.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace vccl::model {

/// Open addressing. 64 bits tell n states apart with a probability of error of n^2 / 2^65: for 100
/// million states 3 in 10000. Grows between levels only, while nobody inserts.
class Fingerprints {
 public:
  explicit Fingerprints(std::size_t slots = 1u << 16) { allocate(slots); }

  /// True when it was not in there yet.
  bool insert(std::uint64_t f, std::uint64_t from) {
    for (std::size_t i = f & mask_;; i = (i + 1) & mask_) {
      std::uint64_t seen = slots_[i].key.load(std::memory_order_relaxed);
      if (seen == 0 && slots_[i].key.compare_exchange_strong(seen, f, std::memory_order_relaxed)) {
        slots_[i].from = from;
        count_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      if (seen == f) return false;
    }
  }
  [[nodiscard]] bool contains(std::uint64_t f) const {
    for (std::size_t i = f & mask_;; i = (i + 1) & mask_) {
      std::uint64_t const seen = slots_[i].key.load(std::memory_order_relaxed);
      if (seen == f) return true;
      if (seen == 0) return false;
    }
  }
  [[nodiscard]] std::uint64_t from(std::uint64_t f) const {
    for (std::size_t i = f & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].key.load(std::memory_order_relaxed) == f) return slots_[i].from;
    }
  }
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_relaxed); }

  /// Makes room for `more` beyond what is in there.
  void reserve(std::size_t more) {
    std::size_t want = (size() + more) * 3 / 2;
    if (want <= mask_) return;
    auto old = std::move(slots_);
    std::size_t const old_slots = mask_ + 1;
    std::size_t slots = old_slots;
    while (slots <= want) slots *= 2;
    allocate(slots);
    for (std::size_t i = 0; i < old_slots; ++i) {
      std::uint64_t const f = old[i].key.load(std::memory_order_relaxed);
      if (f != 0) insert(f, old[i].from);
    }
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> key{0};
    std::uint64_t from = 0;
  };
  void allocate(std::size_t slots) {
    slots_ = std::make_unique<Slot[]>(slots);
    mask_ = slots - 1;
    count_.store(0, std::memory_order_relaxed);
  }
  std::unique_ptr<Slot[]> slots_;
  std::size_t mask_ = 0;
  std::atomic<std::size_t> count_{0};
};

}  // namespace vccl::model
