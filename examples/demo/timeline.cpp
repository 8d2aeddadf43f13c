// SPDX-License-Identifier: Apache-2.0
#include <demo/timeline.hpp>

#include <demo/progress.hpp>
#include <demo/series.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

namespace demo {
namespace {

constexpr double width = 1000;
constexpr double left = 84, right = 972;  // of the plot
constexpr double first_row = 84, row_height = 19, plot_height = 250;
constexpr std::size_t most_rows = 8;
constexpr std::array path_colours{"#2563eb", "#ea580c"};

struct Label {
  double at;
  std::string_view colour;
  std::string text;
  std::size_t row = 0;  ///< Counted upwards from the plot.
  bool turned = false;  ///< Stands left of its line.
};

/// 1, 2 or 5 times a power of ten, such that about `parts` of them fill `whole`.
double nice_step(double whole, double parts) {
  double const power = std::pow(10, std::floor(std::log10(whole / parts)));
  for (double const f : {1.0, 2.0, 5.0}) {
    if (whole / (f * power) <= parts) return f * power;
  }
  return 10 * power;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (static_cast<unsigned char>(c) >= ' ')
      out += c;
  }
  return out;
}

class Picture {
 public:
  explicit Picture(Report const& report)
      : report_{report}, pieces_{bandwidth_pieces(report)}, end_{std::max(report.watched, 0.1)} {
    double peak = 1;
    for (Piece const& piece : pieces_) {
      for (Piece::Point const& p : piece.points) peak = std::max(peak, p.rate);
    }
    step_y_ = nice_step(peak, 4);
    highest_ = step_y_ * std::max(1.0, std::ceil(peak * 1.02 / step_y_));
    find_labels();
    place_labels();
  }

  std::string draw() {
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" )"
        R"(font-family="Helvetica, Arial, sans-serif" font-size="13">)"
        "\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width, height_, width, height_);
    title();
    bands();
    axes();
    curve();
    marks();
    legend();
    put("</svg>\n");
    return std::move(svg_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  [[nodiscard]] double x(double seconds) const {
    return left + (right - left) * std::clamp(seconds / end_, 0.0, 1.0);
  }
  [[nodiscard]] double y(double rate) const { return bottom_ - (bottom_ - top_) * rate / highest_; }
  static const char* colour(unsigned path) { return path_colours[path != 0 ? 1 : 0]; }

  void add_label(Label l) {
    labels_.insert(std::ranges::upper_bound(labels_, l.at, {}, &Label::at), std::move(l));
  }
  void find_labels() {
    for (Mark const& m : report_.marks) {
      add_label({m.at, m.kind == Mark::Kind::harm ? "#dc2626" : "#15803d", m.what});
    }
    for (std::size_t i = 1; i < pieces_.size(); ++i) {
      bool const returned = pieces_[i].path < pieces_[i - 1].path;
      add_label({pieces_[i].from, colour(pieces_[i].path),
                 fmt::format("{} to the {}", returned ? "failback" : "switch",
                             path_name(pieces_[i].path))});
    }
    if (report_.watched - report_.seconds > 0.05 && report_.failure.empty())
      add_label({report_.seconds, "#6b7280", "all bytes are there"});
  }

  void title() {
    std::string_view name = report_.file;
    name = name.substr(name.rfind('/') + 1);
    put(R"(<text x="{}" y="32" font-size="18" font-weight="bold" fill="#111827">{}, {} in {:.1f} s)"
        "</text>\n",
        left, escaped(name.substr(0, 60)), bytes_text(static_cast<double>(report_.bytes)),
        report_.seconds);
    Side const& s = report_.sender();
    std::string what = report_.failure;
    if (what.empty()) {
      what = fmt::format(
          "switches {}, failbacks {}, longest time without a step {:.0f} ms, {} resent",
          s.status.counters.failovers, s.status.counters.failbacks, 1e3 * report_.longest_gap,
          bytes_text(static_cast<double>(s.status.counters.resent_bytes)));
    }
    put("<text x=\"{}\" y=\"53\" fill=\"{}\">{}</text>\n", left,
        report_.failure.empty() ? "#4b5563" : "#dc2626", escaped(what));
  }

  /// Each period on a path, as a faint background.
  void bands() {
    for (Piece const& p : pieces_) {
      put(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}" opacity="0.06"/>)"
          "\n",
          x(p.from), top_, std::max(0.0, x(p.to) - x(p.from)), bottom_ - top_, colour(p.path));
    }
  }

  void axes() {
    for (double v = 0; v <= highest_ * 1.001; v += step_y_) {
      put(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="#d1d5db"/>)", left, y(v), right,
          y(v));
      put(R"(<text x="{}" y="{:.1f}" text-anchor="end" fill="#4b5563">{}</text>)"
          "\n",
          left - 8, y(v) + 4.5, v > 0 ? bytes_text(v) + "/s" : "0");
    }
    double const step = nice_step(end_, 10);
    for (int i = 0; i * step <= end_ * 1.001; ++i) {
      double const at = i * step;
      put(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#6b7280"/>)", x(at), bottom_,
          bottom_ + 5);
      put(R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#4b5563">{:g} s</text>)"
          "\n",
          x(at), bottom_ + 21, at);
    }
    put(R"(<line x1="{0}" y1="{2}" x2="{1}" y2="{2}" stroke="#6b7280"/>)"
        "\n",
        left, right, bottom_);
  }

  /// A stroke and the area below it, for each period.
  void curve() {
    for (Piece const& piece : pieces_) {
      if (piece.points.empty()) continue;
      std::string line;
      for (Piece::Point const& p : piece.points)
        line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "M" : " L", x(p.at), y(p.rate));
      put(R"(<path d="{} L{:.1f},{} L{:.1f},{} Z" fill="{}" opacity="0.15"/>)"
          "\n",
          line, x(piece.points.back().at), bottom_, x(piece.points.front().at), bottom_,
          colour(piece.path));
      put(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round"/>)"
          "\n",
          line, colour(piece.path));
    }
  }

  /// As many rows as keep the labels apart; what finds no room keeps only its line.
  void place_labels() {
    std::vector<double> taken(2);  // to where a row is full
    for (Label& l : labels_) {
      double const wide = 6.8 * static_cast<double>(l.text.size()) + 16;
      l.turned = x(l.at) + wide > width;
      double const from = l.turned ? x(l.at) - wide : x(l.at);
      while (l.row < taken.size() && taken[l.row] > from) ++l.row;
      if (l.row == most_rows) {
        l.row = 0;
        l.text.clear();
        continue;
      }
      if (l.row == taken.size()) taken.emplace_back();
      taken[l.row] = from + wide;
    }
    top_ = first_row + row_height * static_cast<double>(taken.size()) + 3;
    bottom_ = top_ + plot_height;
    height_ = bottom_ + 68;
  }

  void marks() {
    std::string texts;  // on top_ of all lines
    for (Label const& l : labels_) {
      double const at = x(l.at);
      double const baseline = top_ - 9 - row_height * static_cast<double>(l.row);
      put(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2}" stroke="{3}" )"
          R"(stroke-width="1.5" stroke-dasharray="4 3"/>)"
          "\n",
          at, baseline - 11, bottom_, l.colour);
      texts +=
          fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}" stroke="#ffffff" )"
                      R"(stroke-width="4" stroke-linejoin="round" paint-order="stroke">{}</text>)"
                      "\n",
                      l.turned ? at - 5 : at + 5, baseline, l.turned ? "end" : "start", l.colour,
                      escaped(l.text));
    }
    svg_ += texts;
  }

  void legend() {
    double at = left;
    double const baseline = height_ - 18;
    auto entry = [&](std::string_view colour, std::string_view text, bool dashed) {
      put(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"{}/>)", at,
          baseline - 4, at + 26, baseline - 4, colour, dashed ? 1.5 : 3,
          dashed ? R"( stroke-dasharray="4 3")" : "");
      put("<text x=\"{}\" y=\"{}\" fill=\"#374151\">{}</text>\n", at + 33, baseline, text);
      at += 33 + 7.0 * static_cast<double>(text.size()) + 22;
    };
    entry(path_colours[0], "received over the primary", false);
    entry(path_colours[1], "received over the backup", false);
    entry("#dc2626", "something breaks", true);
    entry("#15803d", "something is repaired", true);
  }

  Report const& report_;
  std::vector<Piece> pieces_;
  double end_;
  double top_ = 0, bottom_ = 0, height_ = 0;
  double highest_ = 1;
  double step_y_ = 1;
  std::vector<Label> labels_;
  std::string svg_;
};

}  // namespace

std::string timeline_svg(Report const& report) { return Picture{report}.draw(); }

}  // namespace demo
