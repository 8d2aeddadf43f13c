// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Telemetry must keep, beyond its syntax. Replaces operator new of the program that
/// includes it, so only one of its source files may.

#include <vccl/concepts.hpp>

#include <cstdlib>
#include <new>
#include <string_view>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)  // clang's
#define VCCL_OPERATOR_NEW_IS_TAKEN
#endif
#endif

namespace vccl::contracts {

inline std::size_t allocations = 0;

/// False where the run-time library of a sanitizer brings its own operator new and none beside it.
#ifdef VCCL_OPERATOR_NEW_IS_TAKEN
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
#endif

/// The first sentence that T breaks, or nothing.
template <Telemetry T>
std::string_view telemetry() {
  static T recorder{};  // May be large.
  std::size_t const before = allocations;
  for (unsigned i = 0; i < 10'000; ++i) {
    recorder.record({.kind = Event::Kind::switched, .epoch = i, .position = i, .at = Time{i}});
  }
  if (allocations != before) return "recording does not allocate";
  return {};
}

}  // namespace vccl::contracts

// The array forms come here too, as the standard library's call the single ones. Not inlined, or
// g++ takes malloc and operator delete, and operator new and free, for mismatched pairs.
#ifndef VCCL_OPERATOR_NEW_IS_TAKEN
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++vccl::contracts::allocations;
  if (void* const block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
#endif
