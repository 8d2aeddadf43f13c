// SPDX-License-Identifier: Apache-2.0
#include <demo/series.hpp>

#include <algorithm>
#include <cmath>

namespace demo {
namespace {

std::vector<Piece::Point> points_of(Report const& report) {
  // Fine enough to show an outage, coarse enough that a span holds some steps.
  Bandwidth b = report.bandwidth;
  double const steps = static_cast<double>(std::max<std::uint64_t>(1, report.receiver().steps));
  double const span = std::max({0.05, report.watched / 400, 3 * report.seconds / steps});
  b.merge(static_cast<std::size_t>(std::max(1.0, std::round(span / b.span()))));

  std::vector<Piece::Point> points;
  for (std::size_t i = 0; static_cast<double>(i) * b.span() < report.seconds; ++i) {
    double const from = static_cast<double>(i) * b.span();
    double const covered = std::min(b.span(), report.seconds - from);
    if (covered < b.span() / 2) continue;  // the last one is too short to tell
    std::uint64_t const bytes = i < b.bytes().size() ? b.bytes()[i] : 0;
    double const rate = static_cast<double>(bytes) / covered;
    if (i == 0) points.push_back({0, rate});
    points.push_back({from + covered / 2, rate});
  }
  if (report.failure.empty() && !points.empty())
    points.push_back({report.seconds, points.back().rate});
  points.push_back({report.seconds, 0});
  points.push_back({std::max(report.watched, report.seconds), 0});
  return points;
}

std::vector<Piece> periods_of(Report const& report) {
  std::vector<Piece> pieces(1);
  for (vccl::Event const& e : report.receiver().events) {
    if (e.kind != vccl::Event::Kind::switched && e.kind != vccl::Event::Kind::returned) continue;
    double const at = report.since_start(e.at);
    pieces.back().to = at;
    pieces.push_back({.from = at, .to = at, .path = e.path, .points = {}});
  }
  pieces.back().to = std::max(report.watched, report.seconds);
  return pieces;
}

}  // namespace

std::vector<Piece> bandwidth_pieces(Report const& report) {
  std::vector<Piece::Point> const points = points_of(report);
  std::vector<Piece> pieces = periods_of(report);
  auto piece = pieces.begin();
  Piece::Point last = points.front();
  for (Piece::Point const& p : points) {
    while (piece + 1 != pieces.end() && piece->to <= p.at) {
      double const part = p.at > last.at ? (piece->to - last.at) / (p.at - last.at) : 1;
      Piece::Point const cut{piece->to, last.rate + (p.rate - last.rate) * part};
      piece->points.push_back(cut);
      (++piece)->points.push_back(cut);
    }
    piece->points.push_back(p);
    last = p;
  }
  return pieces;
}

}  // namespace demo
