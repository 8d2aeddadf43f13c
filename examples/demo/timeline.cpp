// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "progress.hpp"
#include "timeline.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

namespace demo {
namespace {

constexpr double width = 1000, height = 460;
constexpr double left = 84, right = 972, top = 148, bottom = 392;
constexpr std::array path_colours{"#2563eb", "#ea580c"};

struct Change {
  double at;
  unsigned path;
};
struct Label {
  double at;
  std::string_view colour;
  std::string text;
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
  explicit Picture(Report const& report) : report_{report}, bandwidth_{report.bandwidth} {
    end_ = std::max(report.watched, 0.1);
    // Fine enough to show an outage, coarse enough that a span holds some steps.
    double const steps = static_cast<double>(std::max<std::uint64_t>(1, report.receiver().steps));
    double const span = std::max({0.05, end_ / 400, 3 * end_ / steps});
    bandwidth_.merge(static_cast<std::size_t>(std::ceil(span / bandwidth_.span())));
    read_events();
    for (std::uint64_t const b : bandwidth_.bytes()) peak_ = std::max(peak_, rate(b));
    step_y_ = nice_step(std::max(peak_, 1.0), 4);
    highest_ = step_y_ * std::max(1.0, std::ceil(peak_ * 1.02 / step_y_));
  }

  std::string draw() {
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" )"
        R"(font-family="Helvetica, Arial, sans-serif" font-size="13">)"
        "\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width, height, width, height);
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
  [[nodiscard]] double y(double rate) const { return bottom - (bottom - top) * rate / highest_; }
  [[nodiscard]] double rate(std::uint64_t bytes) const {
    return static_cast<double>(bytes) / bandwidth_.span();
  }

  /// The receiver decides, so its journal says which path was in use when.
  void read_events() {
    changes_.push_back({0, 0});
    for (Mark const& m : report_.marks) {
      labels_.push_back({m.at, m.kind == Mark::Kind::harm ? "#dc2626" : "#15803d", m.what});
    }
    for (vccl::Event const& e : report_.receiver().events) {
      bool const returned = e.kind == vccl::Event::Kind::returned;
      if (!returned && e.kind != vccl::Event::Kind::switched) continue;
      double const at = report_.since_start(e.at);
      changes_.push_back({at, e.path});
      labels_.push_back(
          {at, path_colours[e.path != 0 ? 1 : 0],
           fmt::format("{} to the {}", returned ? "failback" : "switch", path_name(e.path))});
    }
    if (report_.watched - report_.seconds > 0.05 && report_.failure.empty())
      labels_.push_back({report_.seconds, "#6b7280", "all bytes are there"});
    std::ranges::stable_sort(labels_, {}, &Label::at);
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
      what = fmt::format("switches {}, failbacks {}, longest outage {:.0f} ms, {} sent again",
                         s.status.counters.failovers, s.status.counters.failbacks,
                         static_cast<double>(s.outage.ns) / 1e6,
                         bytes_text(static_cast<double>(s.status.counters.resent_bytes)));
    }
    put("<text x=\"{}\" y=\"53\" fill=\"{}\">{}</text>\n", left,
        report_.failure.empty() ? "#4b5563" : "#dc2626", escaped(what));
  }

  /// Each period on a path, as a faint background.
  void bands() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      double const from = x(changes_[i].at);
      double const to = i + 1 < changes_.size() ? x(changes_[i + 1].at) : right;
      put(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}" opacity="0.06"/>)"
          "\n",
          from, top, std::max(0.0, to - from), bottom - top,
          path_colours[changes_[i].path != 0 ? 1 : 0]);
    }
  }

  void axes() {
    for (double v = 0; v <= highest_ * 1.001; v += step_y_) {
      put(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="#d1d5db"/>)", left, y(v), right,
          y(v));
      put(R"(<text x="{}" y="{:.1f}" text-anchor="end" fill="#4b5563">{}/s</text>)"
          "\n",
          left - 8, y(v) + 4.5, bytes_text(v));
    }
    double const step = nice_step(end_, 10);
    for (int i = 0; i * step <= end_ * 1.001; ++i) {
      double const at = i * step;
      put(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#6b7280"/>)", x(at), bottom,
          bottom + 5);
      put(R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#4b5563">{:g} s</text>)"
          "\n",
          x(at), bottom + 21, at);
    }
    put(R"(<line x1="{0}" y1="{2}" x2="{1}" y2="{2}" stroke="#6b7280"/>)"
        "\n",
        left, right, bottom);
  }

  /// One stroke per path period, cut where the path changes; the area below is filled.
  void curve() {
    auto const& spans = bandwidth_.bytes();
    std::vector<Change> points;  // reused as (time, -): rates are beside them
    std::vector<double> rates;
    auto add = [&](double at, double r) {
      points.push_back({at, 0});
      rates.push_back(r);
    };
    if (!spans.empty()) add(0, rate(spans[0]));
    for (std::size_t i = 0; i < spans.size(); ++i) {
      double const from = static_cast<double>(i) * bandwidth_.span();
      double const covered = std::min(bandwidth_.span(), report_.seconds - from);
      if (covered < bandwidth_.span() / 2) continue;  // the last one is too short to tell
      add(from + covered / 2, static_cast<double>(spans[i]) / covered);
    }
    if (!rates.empty()) add(report_.seconds, rates.back());
    if (report_.watched > report_.seconds) {
      add(report_.seconds, 0);
      add(report_.watched, 0);
    }
    std::size_t change = 0;
    std::string line;
    double from = 0, last_at = 0, last_rate = 0;
    auto flush = [&] {
      if (line.empty()) return;
      std::string_view const colour = path_colours[changes_[change].path != 0 ? 1 : 0];
      put(R"(<path d="M{:.1f},{}{} L{:.1f},{} Z" fill="{}" opacity="0.15"/>)", x(from), bottom,
          line, x(last_at), bottom, colour);
      line[1] = 'M';
      put(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round"/>)"
          "\n",
          line, colour);
      line.clear();
    };
    auto to = [&](double at, double r) {
      if (line.empty()) from = at;
      fmt::format_to(std::back_inserter(line), " L{:.1f},{:.1f}", x(at), y(r));
      last_at = at;
      last_rate = r;
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      while (change + 1 < changes_.size() && changes_[change + 1].at <= points[i].at && i != 0) {
        double const at = changes_[change + 1].at;
        double const whole = points[i].at - last_at;
        double const r =
            whole <= 0 ? last_rate : last_rate + (rates[i] - last_rate) * (at - last_at) / whole;
        to(at, r);
        flush();
        ++change;
        to(at, r);
      }
      to(points[i].at, rates[i]);
    }
    flush();
  }

  /// Vertical lines; their labels stand in as many rows above as keep them apart.
  void marks() {
    std::array<double, 4> taken{};  // to where a row is full
    for (Label const& l : labels_) {
      double const at = x(l.at);
      double const wide = 7.0 * static_cast<double>(l.text.size()) + 14;
      bool const before = at + wide > right;
      double const from = before ? at - wide : at;
      std::size_t row = 0;
      while (row + 1 < taken.size() && taken[row] > from) ++row;
      taken[row] = from + wide;
      double const baseline = top - 9 - 19 * static_cast<double>(row);
      put(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2}" stroke="{3}" )"
          R"(stroke-width="1.5" stroke-dasharray="4 3"/>)",
          at, baseline - 11, bottom, l.colour);
      put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}">{}</text>)"
          "\n",
          before ? at - 5 : at + 5, baseline, before ? "end" : "start", l.colour, escaped(l.text));
    }
  }

  void legend() {
    double at = left;
    double const baseline = height - 18;
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
  Bandwidth bandwidth_;
  double end_ = 0;
  double peak_ = 0;
  double highest_ = 1;
  double step_y_ = 1;
  std::vector<Change> changes_;
  std::vector<Label> labels_;
  std::string svg_;
};

}  // namespace

std::string timeline_svg(Report const& report) { return Picture{report}.draw(); }

}  // namespace demo
