// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// In-place storage for the one to four lanes of a path.

#include <vccl/op.hpp>

#include <cstddef>
#include <new>

namespace vccl::detail {

/// Holds up to max_lanes objects where it stands; no allocation, no indirection, not movable.
template <class T>
class Lanes {
 public:
  Lanes() = default;
  Lanes(Lanes const&) = delete;
  Lanes& operator=(Lanes const&) = delete;
  ~Lanes() { clear(); }

  template <class... Args>
  T& emplace(Args&&... args) {
    T* t = ::new (static_cast<void*>(raw_ + count_ * sizeof(T))) T(static_cast<Args&&>(args)...);
    ++count_;
    return *t;
  }

  void clear() noexcept {
    while (count_ > 0) (*this)[--count_].~T();
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept {
    return *std::launder(reinterpret_cast<T*>(raw_ + i * sizeof(T)));
  }
  [[nodiscard]] T const& operator[](std::size_t i) const noexcept {
    return *std::launder(reinterpret_cast<T const*>(raw_ + i * sizeof(T)));
  }
  [[nodiscard]] T* begin() noexcept { return &(*this)[0]; }
  [[nodiscard]] T* end() noexcept { return begin() + count_; }

 private:
  alignas(T) std::byte raw_[max_lanes * sizeof(T)];
  std::size_t count_ = 0;
};

}  // namespace vccl::detail
