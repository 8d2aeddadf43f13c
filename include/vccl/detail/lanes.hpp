// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// In-place storage for the one to four lanes of a path.

#include <vccl/op.hpp>

#include <cstddef>
#include <new>

namespace vccl::detail {

/// False when a lane knows that its own address is gone although its port is active. The kernel of
/// a RoCE port fails sends with local_qp_operation then.
template <class T>
[[nodiscard]] bool address_stands(T& lane) noexcept {
  if constexpr (requires { lane.address_stands(); }) {
    return lane.address_stands();
  } else {
    return true;
  }
}

/// Holds up to max_lanes objects where it stands; no allocation, no indirection, not movable.
template <class T>
class Lanes {
 public:
  Lanes() noexcept {}  // NOLINT(modernize-use-equals-default): the union has none.
  Lanes(Lanes const&) = delete;
  Lanes& operator=(Lanes const&) = delete;
  ~Lanes() { clear(); }

  template <class... Args>
  T& emplace(Args&&... args) {
    T* t = ::new (static_cast<void*>(&items_[count_])) T(static_cast<Args&&>(args)...);
    ++count_;
    return *t;
  }

  void clear() noexcept {
    while (count_ > 0) (*this)[--count_].~T();
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[i]; }
  [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return items_[i]; }
  [[nodiscard]] T* begin() noexcept { return items_; }
  [[nodiscard]] T* end() noexcept { return begin() + count_; }

 private:
  // A union: nothing is made before emplace(), and a lane is reached as a member is, which raw
  // bytes with std::launder are not (tests/codegen/thin_calls.cpp).
  union {
    T items_[max_lanes];
  };
  std::size_t count_ = 0;
};

}  // namespace vccl::detail
