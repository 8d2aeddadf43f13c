// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Rollback that is meant to be right must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <string_view>

namespace vccl::contracts {

/// The first sentence that R breaks, or nothing.
template <Rollback R>
std::string_view rollback() {
  constexpr Step last = ~Step{0};
  constexpr Step positions[] = {0,        1,   2, 7, 8, 0xffff, 0x1'0000, last / 2, last / 2 + 1,
                                last - 1, last};
  for (Step const receiver : positions) {
    for (Step const sender : positions) {
      if (R::resume(receiver, sender) != R::resume(receiver, sender)) {
        return "the same positions give the same step";
      }
      if (R::resume(receiver, sender) > receiver)
        return "no step that the receiver lacks is skipped";
    }
  }
  if (ReplayableBy<Atomic, R>) return "an atomic is not done twice";
  if (ReplayableBy<InlineFlag, R>) return "a flag inside the data is not written twice";
  return {};
}

}  // namespace vccl::contracts
