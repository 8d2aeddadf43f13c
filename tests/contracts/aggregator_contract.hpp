// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Aggregator must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <string_view>

namespace vccl::contracts {

/// The first sentence that A breaks, or nothing.
template <Aggregator A>
std::string_view aggregator() {
  constexpr ProxyOp ops[] = {{.op_count = 2, .peer = 0, .connection = 0},
                             {.op_count = 2, .peer = 1, .connection = 1},
                             {.op_count = 3, .peer = 0, .connection = 0},
                             {.op_count = 3, .peer = 1, .connection = 1},
                             {.op_count = 4, .peer = 0, .connection = 0},
                             {.op_count = ~0ULL, .peer = ~0U, .connection = ~0U}};
  for (ProxyOp const& last : ops) {
    for (ProxyOp const& op : ops) {
      for (std::size_t const count : {std::size_t{1}, std::size_t{8}, ~std::size_t{0}}) {
        bool const joins = A::may_join(last, count, op);
        if (joins != A::may_join(last, count, op)) return "the same ops join each time or never";
        if (joins && count == ~std::size_t{0}) return "args do not grow without end";
      }
    }
  }
  return {};
}

}  // namespace vccl::contracts
