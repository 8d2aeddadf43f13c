// SPDX-License-Identifier: Apache-2.0
#include <demo/side_file.hpp>

#include <demo/options.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace demo {
namespace {

using nlohmann::json;

json events_of(Report const& report, Side const& side) {
  json all = json::array();
  for (vccl::Event const& e : side.events) {
    all.push_back({{"kind", static_cast<unsigned>(e.kind)},
                   {"end", static_cast<unsigned>(e.end)},
                   {"path", e.path},
                   {"cause", static_cast<unsigned>(e.cause)},
                   {"epoch", e.epoch},
                   {"position", e.position},
                   {"at", (e.at - report.start).ns}});
  }
  return all;
}

vccl::Event event_of(json const& j) {
  vccl::Event e;
  e.kind = static_cast<vccl::Event::Kind>(j.at("kind").get<unsigned>());
  e.end = static_cast<vccl::End>(j.at("end").get<unsigned>());
  e.path = j.at("path");
  e.cause = static_cast<vccl::Cause>(j.at("cause").get<unsigned>());
  e.epoch = j.at("epoch");
  e.position = j.at("position");
  e.at = {j.at("at").get<std::int64_t>()};
  return e;
}

Side side_of(json const& j) {
  Side s;
  s.status.cause = static_cast<vccl::Cause>(j.at("cause").get<unsigned>());
  s.status.counters.failovers = j.at("failovers");
  s.status.counters.failbacks = j.at("failbacks");
  s.status.counters.resent_bytes = j.at("resent_bytes");
  s.status.on_backup.ns = j.at("on_backup");
  s.outage.ns = j.at("outage");
  s.steps = j.at("steps");
  s.bytes = j.at("side_bytes");
  s.sha256 = j.at("sha256");
  for (json const& e : j.at("events")) s.events.push_back(event_of(e));
  return s;
}

json read(std::string const& file) {
  std::ifstream in{file};
  return in ? json::parse(in) : json{};
}

}  // namespace

void write_side(std::string const& file, Report const& report, vccl::End which) {
  Side const& s = report.sides[static_cast<std::size_t>(which)];
  json marks = json::array();
  for (Mark const& m : report.marks)
    marks.push_back({{"at", m.at}, {"kind", static_cast<unsigned>(m.kind)}, {"what", m.what}});
  json const all{{"file", report.file},
                 {"bytes", report.bytes},
                 {"seconds", report.seconds},
                 {"watched", report.watched},
                 {"longest_gap", report.longest_gap},
                 {"marks", marks},
                 {"span", report.bandwidth.span()},
                 {"spans", report.bandwidth.bytes()},
                 {"failure", report.failure},
                 {"cause", static_cast<unsigned>(s.status.cause)},
                 {"failovers", s.status.counters.failovers},
                 {"failbacks", s.status.counters.failbacks},
                 {"resent_bytes", s.status.counters.resent_bytes},
                 {"on_backup", s.status.on_backup.ns},
                 {"outage", s.outage.ns},
                 {"steps", s.steps},
                 {"side_bytes", s.bytes},
                 {"sha256", s.sha256},
                 {"events", events_of(report, s)}};
  std::ofstream{file + ".new"} << all;
  std::filesystem::rename(file + ".new", file);
}

Report read_sides(std::string const& sender, std::string const& receiver) {
  try {
    json const s = read(sender), r = read(receiver);
    Report report;
    for (json const& j : {s, r}) {
      if (j.is_null()) {
        report.failure = "an end has not told how it stands";
        return report;
      }
    }
    report.file = r.at("file");
    report.bytes = r.at("bytes");
    report.seconds = r.at("seconds");
    report.watched = r.at("watched");
    report.longest_gap = r.at("longest_gap");
    report.bandwidth = {r.at("span").get<double>(),
                        r.at("spans").get<std::vector<std::uint64_t>>()};
    for (json const& m : r.at("marks")) {
      report.marks.push_back(
          {m.at("at"), static_cast<Mark::Kind>(m.at("kind").get<unsigned>()), m.at("what")});
    }
    for (json const& j : {s, r}) {
      if (report.failure.empty()) report.failure = j.at("failure");
    }
    report.sides = {side_of(s), side_of(r)};
    return report;
  } catch (json::exception const& e) {
    throw UsageError{e.what()};
  }
}

}  // namespace demo
