// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A set of fingerprints, each with the one it came from, that several threads fill.

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace vccl::model {

/// Open addressing. 64 bits tell n states apart with a probability of error of n^2 / 2^65: for 100
/// million states 3 in 10000. Grows between levels only, while nobody inserts.
class Fingerprints {
 public:
  /// Whether to remember for each where it came from.
  enum class Links : std::uint8_t { no, yes };

  explicit Fingerprints(Links links) : links_{links} { allocate(1u << 16); }

  /// True when it was not in there yet.
  bool insert(std::uint64_t f, std::uint64_t from = 0) {
    for (std::size_t i = f & mask_;; i = (i + 1) & mask_) {
      std::uint64_t seen = keys_[i].load(std::memory_order_relaxed);
      if (seen == 0 && keys_[i].compare_exchange_strong(seen, f, std::memory_order_relaxed)) {
        if (links_ == Links::yes) from_[i] = from;
        if (count_.fetch_add(1, std::memory_order_relaxed) >= mask_ - mask_ / 8)
          throw std::length_error("set is full");
        return true;
      }
      if (seen == f) return false;
    }
  }
  /// Says that `f` will be inserted soon.
  void prefetch(std::uint64_t f) const { __builtin_prefetch(&keys_[f & mask_], 1); }
  [[nodiscard]] bool contains(std::uint64_t f) const {
    for (std::size_t i = f & mask_;; i = (i + 1) & mask_) {
      std::uint64_t const seen = keys_[i].load(std::memory_order_relaxed);
      if (seen == f) return true;
      if (seen == 0) return false;
    }
  }
  [[nodiscard]] std::uint64_t from(std::uint64_t f) const {
    for (std::size_t i = f & mask_;; i = (i + 1) & mask_) {
      if (keys_[i].load(std::memory_order_relaxed) == f) return from_[i];
    }
  }
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_relaxed); }

  /// Makes room for `more` beyond what is in there.
  void reserve(std::size_t more) {
    std::size_t const want = (size() + more) * 4 / 3;
    if (want <= mask_) return;
    auto const old = std::move(keys_);
    auto const old_from = std::move(from_);
    std::size_t const old_slots = mask_ + 1;
    std::size_t slots = old_slots;
    while (slots <= want) slots *= 2;
    allocate(slots);
    for (std::size_t i = 0; i < old_slots; ++i) {
      std::uint64_t const f = old[i].load(std::memory_order_relaxed);
      if (f != 0) insert(f, links_ == Links::yes ? old_from[i] : 0);
    }
  }

 private:
  void allocate(std::size_t slots) {
    keys_ = std::make_unique<std::atomic<std::uint64_t>[]>(slots);
    if (links_ == Links::yes) from_ = std::make_unique<std::uint64_t[]>(slots);
    mask_ = slots - 1;
    count_.store(0, std::memory_order_relaxed);
  }
  Links links_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> keys_;
  std::unique_ptr<std::uint64_t[]> from_;
  std::size_t mask_ = 0;
  std::atomic<std::size_t> count_{0};
};

}  // namespace vccl::model
