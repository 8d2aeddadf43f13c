// SPDX-License-Identifier: Apache-2.0
#include <programs/report.hpp>

#include <vccl/error.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace worker {
namespace {

std::string_view name(vccl::Event::Kind k) {
  using Kind = vccl::Event::Kind;
  switch (k) {
    case Kind::ready:
      return "ready";
    case Kind::path_lost:
      return "path_lost";
    case Kind::fenced:
      return "fenced";
    case Kind::switched:
      return "switched";
    case Kind::rearmed:
      return "rearmed";
    case Kind::probe_failed:
      return "probe_failed";
    case Kind::returned:
      return "returned";
    case Kind::aborted:
      return "aborted";
    case Kind::closed:
      return "closed";
  }
  return "unknown";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string members(Tally const& t, vccl::ConnectionStatus const& s) {
  vccl::Counters const& c = s.counters;
  std::string out = fmt::format(
      R"(, "messages": {}, "bytes": {}, "failed": {}, "failed_yes": {}, "failed_no": {})",
      t.messages, t.bytes, t.failed, t.failed_yes, t.failed_no);
  out += fmt::format(
      R"(, "path": {}, "usable": {}, "epoch": {}, "ended": {}, "has_backup": {}, "cause": {})",
      s.active_path, s.usable_paths, s.epoch, s.ended, s.has_backup, quoted(text(s.cause)));
  out += fmt::format(R"(, "causes": [{}, {}], "outage_ms": {}, "on_backup_ms": {})",
                     quoted(text(s.path_causes[0])), quoted(text(s.path_causes[1])),
                     s.outage.ns / 1'000'000, s.on_backup.ns / 1'000'000);
  out += fmt::format(
      R"(, "failovers": {}, "failbacks": {}, "path_faults": {}, "rearms": {}, "arm_attempts": {})",
      c.failovers, c.failbacks, c.path_faults, c.rearms, c.arm_attempts);
  out += fmt::format(
      R"(, "probes": {}, "steps": {}, "resent_steps": {}, "resent_bytes": {}, "stale": {})",
      c.probes, c.steps, c.resent_steps, c.resent_bytes, c.stale);
  return out;
}

}  // namespace

void Report::line(std::string_view event, vccl::Time t, std::string_view more) const {
  fmt::print("{{\"end\": \"{}\", \"t\": {:.6f}, \"event\": \"{}\"{}}}\n",
             end_ == vccl::End::sender ? "sender" : "receiver", static_cast<double>(t.ns) / 1e9,
             event, more);
  std::fflush(stdout);
}

void Report::event(vccl::Event const& e) const {
  line(name(e.kind), e.at,
       fmt::format(R"(, "path": {}, "cause": {}, "epoch": {}, "position": {})", e.path,
                   quoted(text(e.cause)), e.epoch, e.position));
}

void Report::position(vccl::Time t, Tally const& tally, vccl::ConnectionStatus const& s) const {
  line("position", t, members(tally, s));
}

void Report::final(vccl::Time t, Tally const& tally, vccl::ConnectionStatus const& s,
                   std::string_view problem) const {
  line("final", t,
       fmt::format(R"({}, "ok": {}, "problem": {})", members(tally, s), problem.empty(),
                   quoted(problem)));
}

}  // namespace worker
