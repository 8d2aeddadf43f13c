// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Bandwidth over time, in pieces that each belong to one path.

#include <demo/director.hpp>

#include <vector>

namespace demo {

/// A period in which one path was in use.
struct Piece {
  struct Point {
    double at;    ///< Seconds.
    double rate;  ///< Bytes per second.
  };
  double from = 0;
  double to = 0;
  unsigned path = 0;
  std::vector<Point> points;  ///< In order of time; neighbouring pieces meet in one point.
};

/// The receiver decides on the path, so its journal says which one was in use when.
[[nodiscard]] std::vector<Piece> bandwidth_pieces(Report const& report);

}  // namespace demo
