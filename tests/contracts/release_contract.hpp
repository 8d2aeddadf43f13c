// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Release must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <string_view>

namespace vccl::contracts {

/// The first sentence that R breaks, or nothing.
template <Release R>
std::string_view release() {
  for (bool const needs_confirm : {false, true}) {
    if (R::on_acknowledgement(needs_confirm) != R::on_acknowledgement(needs_confirm)) {
      return "the same CTS means the same each time";
    }
  }
  if (R::on_acknowledgement(true) && !R::on_acknowledgement(false)) {
    return "memory that needs a flush is not released more easily";
  }
  return {};
}

}  // namespace vccl::contracts
