// SPDX-License-Identifier: Apache-2.0
// Simulates the whole stack under faults by chance: see --help.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <sim/plan.hpp>
#include <sim/run.hpp>
#include <sim/workers.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace vccl::sim;

struct Options {
  std::uint64_t seeds = 1000;
  double seconds = 0;
  std::uint64_t first = 1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> again;
  std::uint64_t control_seeds = 1000;
  bool controls = false;
  bool coverage = false;
  std::string mutant = "none";
  Cut cut;
};

std::string replay_line(std::uint64_t seed, Mutant mutant, Cut const& cut) {
  std::string line = fmt::format("--seed {}", seed);
  if (mutant != Mutant::none)
    line += fmt::format(" --mutant {}", mutant_names[static_cast<std::size_t>(mutant)]);
  if (!cut.without.empty()) {
    line += " --without ";
    for (std::size_t i : cut.without) line += fmt::format("{},", i);
    line.pop_back();
  }
  if (cut.steps != ~std::size_t{0}) line += fmt::format(" --steps {}", cut.steps);
  if (cut.simple) line += " --simple";
  return line;
}

/// One seed, told. 0 when nothing is wrong.
int replay(std::uint64_t seed, Mutant mutant, Cut const& cut) {
  Coverage coverage;
  watch.coverage = &coverage;
  watch.mutant = mutant;
  watch.tell = [](std::string_view line) { fmt::print("{}\n", line); };
  Plan const plan = make_plan(seed, mutant, cut);
  fmt::print("{}", describe(plan));
  std::string const problems = run(plan);
  fmt::print("{}", problems.empty() ? "nothing is wrong\n" : "WRONG:\n" + problems);
  return problems.empty() ? 0 : 1;
}

void show(Failure const& f, Mutant mutant) {
  fmt::print("seed {} FAILED\n{}", f.seed, f.problems);
  std::fflush(stdout);
  Coverage ignored;
  watch.coverage = &ignored;
  watch.mutant = mutant;
  if (f.problems.starts_with("crashed") || f.problems.starts_with("exited")) return;
  Cut const cut = shrink(f.seed, mutant);
  fmt::print("  smallest: {}\n{}", replay_line(f.seed, mutant, cut),
             describe(make_plan(f.seed, mutant, cut)));
  std::fflush(stdout);
}

/// Seeds that have found something. 0 when nothing is wrong with any.
int again(std::vector<std::uint64_t> const& seeds) {
  std::size_t failed = 0;
  Coverage coverage;
  for (std::uint64_t const seed : seeds) {
    watch.coverage = &coverage;
    std::string const problems = run(make_plan(seed, Mutant::none, {}));
    if (problems.empty()) continue;
    ++failed;
    fmt::print("seed {} FAILED\n{}", seed, problems);
  }
  fmt::print("sim: {} seeds again, {} failures\n", seeds.size(), failed);
  return failed == 0 && coverage.seeds == seeds.size() ? 0 : 1;
}

/// Breaks one thing at a time. Returns how many were found out.
std::size_t controls(Options const& o) {
  std::size_t caught = 0;
  for (std::size_t m = 1; m < mutant_names.size(); ++m) {
    Found const found = simulate({.first = o.first,
                                  .count = o.control_seeds,
                                  .jobs = o.jobs,
                                  .mutant = static_cast<Mutant>(m),
                                  .stop_at_failure = true});
    if (found.failures.empty()) {
      fmt::print("control {}: NOT CAUGHT within {} seeds\n", mutant_names[m], o.control_seeds);
    } else {
      Failure const& f = found.failures.front();
      bool const crashed = f.problems.starts_with("crashed");
      fmt::print("control {}: {} by seed {}: {}\n", mutant_names[m], crashed ? "CRASHED" : "caught",
                 f.seed, f.problems.substr(0, f.problems.find('\n')));
      caught += crashed ? 0 : 1;
    }
    std::fflush(stdout);
  }
  return caught;
}

int explore(Options const& o, Mutant mutant) {
  auto const begin = std::chrono::steady_clock::now();
  Found const found = simulate({.first = o.first,
                                .count = o.seconds > 0 ? ~std::uint64_t{0} - o.first : o.seeds,
                                .seconds = o.seconds,
                                .jobs = o.jobs,
                                .mutant = mutant});
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  for (std::size_t i = 0; i < std::min<std::size_t>(found.failures.size(), 3); ++i)
    show(found.failures[i], mutant);
  for (std::size_t i = 3; i < found.failures.size(); ++i) {
    fmt::print("seed {} FAILED: {}\n", found.failures[i].seed,
               found.failures[i].problems.substr(0, found.failures[i].problems.find('\n')));
  }
  Report const r = report(found.coverage);
  bool const all_covered = !o.coverage || r.missing.empty();
  fmt::print("coverage\n{}{}", r.text, o.coverage ? r.missing : "");
  std::fflush(stdout);
  std::size_t const caught = o.controls ? controls(o) : 0;
  std::size_t const all = o.controls ? mutant_names.size() - 1 : 0;
  fmt::print("sim: {} seeds, {} failures, {:.0f} seeds/s, {} of {} controls caught\n",
             found.coverage.seeds, found.failed,
             static_cast<double>(found.coverage.seeds) / took.count(), caught, all);
  return found.failed == 0 && all_covered && caught == all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Simulates connections on the software NIC, in virtual time, each seed with its own "
      "network, load and faults, and checks what docs/failure_model.md promises.",
      "vccl_sim"};
  app.add_option("--seeds", o.seeds, "How many seeds")->check(CLI::PositiveNumber);
  app.add_option("--seconds", o.seconds, "Instead of --seeds: as many as this time allows")
      ->check(CLI::PositiveNumber);
  app.add_option("--first", o.first, "The first seed")->check(CLI::PositiveNumber);
  app.add_option("--jobs", o.jobs, "Processes")->check(CLI::Range(1, 64));
  app.add_flag("--coverage", o.coverage,
               "Fail when a kind of fault or a transition never happened");
  app.add_flag("--controls", o.controls, "Break one thing at a time, and expect to see it");
  app.add_option("--control-seeds", o.control_seeds, "Within so many seeds");
  auto* const seed = app.add_option("--seed", o.seed, "Replay this one, with a trace");
  app.add_option("--again", o.again, "Only these, without a trace")->delimiter(',');
  app.add_option("--mutant", o.mutant, "Break this")
      ->check(CLI::IsMember(std::vector<std::string>(mutant_names.begin(), mutant_names.end())));
  app.add_option("--without", o.cut.without, "Replay: leave out these faults")
      ->delimiter(',')
      ->needs(seed);
  app.add_option("--steps", o.cut.steps, "Replay: at most so many steps")
      ->check(CLI::PositiveNumber)
      ->needs(seed);
  app.add_flag("--simple", o.cut.simple,
               "Replay: one QP a lane, single receives, host memory, nobody away")
      ->needs(seed);
  CLI11_PARSE(app, argc, argv);
  auto const mutant = static_cast<Mutant>(
      std::find(mutant_names.begin(), mutant_names.end(), o.mutant) - mutant_names.begin());
  if (seed->count() != 0) return replay(o.seed, mutant, o.cut);
  if (!o.again.empty()) return again(o.again);
  return explore(o, mutant);
}
