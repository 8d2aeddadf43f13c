// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The numbers of a copy as text.

#include <demo/director.hpp>

namespace demo {

void print_table(Report const& report);

/// "switched to the backup", for a person.
[[nodiscard]] std::string event_text(vccl::Event const& e);

}  // namespace demo
