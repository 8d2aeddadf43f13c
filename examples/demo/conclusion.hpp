// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Whether a copy is as it should be, and what is shown of it.

#include <demo/director.hpp>
#include <demo/files.hpp>
#include <demo/options.hpp>

namespace demo {

/// Draws the timeline into `svg`, prints the table and the last line. The exit status.
[[nodiscard]] int conclude(Options const& options, Report report, File const& svg);

}  // namespace demo
