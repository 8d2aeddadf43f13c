// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Fence must keep, beyond its syntax, and what makes one safe to replay behind.

#include <vccl/concepts.hpp>

#include <string_view>

namespace vccl::contracts {

/// The first sentence that F breaks, or nothing.
template <Fence F>
std::string_view fence() {
  bool some = false;
  for (End const end : {End::sender, End::receiver}) {
    if (F::fences(end) != F::fences(end)) return "an end is fenced each time or never";
    some = some || F::fences(end);
  }
  if (F::deadline() < Duration{}) return "the deadline is not negative";
  if (some && F::deadline() == Duration{}) return "draining takes time";
  if (!some && F::deadline() != Duration{}) return "without a fence there is no deadline";
  return {};
}

/// The first reason why nothing may be replayed behind F, or nothing.
template <Fence F>
std::string_view safe_fence() {
  if (!F::fences(End::sender)) return "the sender's NIC may read a released buffer";
  if (!F::fences(End::receiver)) return "the old path may write a handed-over buffer";
  return {};
}

}  // namespace vccl::contracts
