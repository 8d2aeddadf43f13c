// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Lets a test case say that this machine cannot run it.

#include <string>
#include <string_view>

namespace vccl::test {

inline std::string skip_reason;

/// Reports the whole program as skipped, with the reason, unless a check fails; return after it.
/// For what the machine lacks (a driver, a GPU), never for what is not written yet.
inline void skip(std::string_view reason) { skip_reason = reason; }

}  // namespace vccl::test
