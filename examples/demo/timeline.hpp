// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The copy as a picture: bandwidth over time, coloured by the path in use.

#include <demo/director.hpp>

#include <string>

namespace demo {

/// An SVG document.
[[nodiscard]] std::string timeline_svg(Report const& report);

}  // namespace demo
