// SPDX-License-Identifier: Apache-2.0
#include <demo/conclusion.hpp>

#include <demo/table.hpp>
#include <demo/timeline.hpp>

#include <fmt/format.h>

#include <span>

namespace demo {
namespace {

/// What is wrong with a copy that came to its end; empty when nothing is.
std::string why_not_ok(Options const& options, Report const& report) {
  if (!report.failure.empty()) {
    bool const alone = options.bundle == Bundle::no_backup && !report.interrupted;
    return report.failure + (alone ? "; bundle no-backup has no other path to go on with" : "");
  }
  Side const& s = report.sender();
  Side const& r = report.receiver();
  if (s.sha256 != r.sha256)
    return fmt::format("sent sha256={}, received sha256={}", s.sha256, r.sha256);
  auto const& sent = s.status.counters;
  auto const& got = r.status.counters;
  if (sent.failovers != got.failovers || sent.failbacks != got.failbacks)
    return fmt::format("the ends disagree: sender failovers={} failbacks={}, receiver {} and {}",
                       sent.failovers, sent.failbacks, got.failovers, got.failbacks);
  if (options.faults) return {};  // who writes the script knows what to expect
  if (options.bundle != Bundle::no_backup && sent.failovers == 0)
    return "the cable was pulled, and the connection did not fail over";
  if (options.bundle == Bundle::resilient && sent.failbacks == 0)
    return "the cable was plugged in again, and the connection did not fail back";
  return {};
}

}  // namespace

int conclude(Options const& options, Report report, File const& svg) {
  std::string why = why_not_ok(options, report);
  report.failure = why;
  std::string const picture = timeline_svg(report);
  bool const drawn = svg.make_empty() && svg.write(std::as_bytes(std::span{picture}));
  if (!drawn && why.empty()) why = fmt::format("{} cannot be written", options.svg);
  if (!options.quiet) {
    print_table(report);
    fmt::print("timeline: {}\n", options.svg);
  }
  if (!why.empty()) {
    fmt::print("demo: FAILED {}\n", why);
    return report.interrupted ? 130 : 1;
  }
  auto const& counters = report.sender().status.counters;
  fmt::print("demo: OK sha256={} failovers={} failbacks={}\n", report.sender().sha256,
             counters.failovers, counters.failbacks);
  return 0;
}

}  // namespace demo
