// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What one end knows of the copy, in a file: for hosts that share a folder and no memory.

#include <demo/director.hpp>
#include <vccl/op.hpp>

#include <string>

namespace demo {

/// Writes what this end's part of a report says; the rest of it does not count. Times travel as
/// those since its own start, as clocks of two hosts have nothing in common.
void write_side(std::string const& file, Report const& report, vccl::End which);

/// One report of both files. Where a file is missing the end has failed. Throws UsageError when one
/// cannot be read.
[[nodiscard]] Report read_sides(std::string const& sender, std::string const& receiver);

}  // namespace demo
