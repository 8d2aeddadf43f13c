// SPDX-License-Identifier: Apache-2.0
#include <demo/table.hpp>

#include <demo/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace demo {
namespace {

std::string milliseconds(vccl::Duration d) {
  return d.ns == 0 ? "none" : fmt::format("{:.1f} ms", static_cast<double>(d.ns) / 1e6);
}

struct Line {
  double at;
  std::string who;
  std::string what;
};

std::vector<Line> lines_of(Report const& report) {
  std::vector<Line> lines;
  auto add = [&](Line l) {
    lines.insert(std::ranges::upper_bound(lines, l.at, {}, &Line::at), std::move(l));
  };
  for (Mark const& m : report.marks) add({m.at, "network", m.what});
  for (Side const& side : report.sides) {
    for (vccl::Event const& e : side.events) {
      // Closing quiets each path; that is worth one line in all.
      if (e.kind == vccl::Event::Kind::path_lost && !vccl::is_path_cause(e.cause)) break;
      add({report.since_start(e.at), e.end == vccl::End::sender ? "sender" : "receiver",
           fmt::format("{}, epoch {}, step {}", event_text(e), e.epoch, e.position)});
    }
  }
  return lines;
}

}  // namespace

std::string event_text(vccl::Event const& e) {
  std::string_view const path = path_name(e.path);
  switch (e.kind) {
    case vccl::Event::Kind::ready:
      return fmt::format("ready on the {}", path);
    case vccl::Event::Kind::path_lost:
      return fmt::format("left the {}: {}", path, vccl::text(e.cause));
    case vccl::Event::Kind::fenced:
      return e.cause == vccl::Cause::none ? fmt::format("{} is quiet", path)
                                          : fmt::format("{}: {}", path, vccl::text(e.cause));
    case vccl::Event::Kind::switched:
      return fmt::format("switched to the {}", path);
    case vccl::Event::Kind::rearmed:
      return fmt::format("{} is up again", path);
    case vccl::Event::Kind::probe_failed:
      return fmt::format("probe of the {} failed", path);
    case vccl::Event::Kind::returned:
      return fmt::format("returned to the {}", path);
    case vccl::Event::Kind::aborted:
    case vccl::Event::Kind::closed:
      return fmt::format("ended: {}", vccl::text(e.cause));
  }
  return "unknown";
}

void print_table(Report const& report) {
  Side const& s = report.sender();
  Side const& r = report.receiver();
  auto row = [](std::string_view name, auto const& a, auto const& b) {
    fmt::print("{:<18}{:<30}{}\n", name, a, b);
  };
  auto hash = [](Side const& side) { return side.sha256.empty() ? "(not whole)" : side.sha256; };
  auto const& sent = s.status.counters;
  auto const& got = r.status.counters;
  fmt::print("\n{}\n", report.file);
  row("", "sender", "receiver");
  row("bytes", s.bytes, r.bytes);
  row("steps", s.steps, r.steps);
  row("switches", sent.failovers, got.failovers);
  row("failbacks", sent.failbacks, got.failbacks);
  row("bytes resent", sent.resent_bytes, "");
  row("longest gap", "", fmt::format("{:.1f} ms between two steps", 1e3 * report.longest_gap));
  row("longest switch", milliseconds(s.outage), milliseconds(r.outage));
  row("time on backup", milliseconds(s.status.on_backup), milliseconds(r.status.on_backup));
  row("connection", vccl::text(s.status.cause), vccl::text(r.status.cause));
  fmt::print("{:<18}{} sender\n{:<18}{} receiver\n\n", "sha256", hash(s), "", hash(r));
  for (Line const& l : lines_of(report)) fmt::print("{:8.3f} s  {:<9} {}\n", l.at, l.who, l.what);
  fmt::print("\n");
}

}  // namespace demo
