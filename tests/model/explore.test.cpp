// SPDX-License-Identifier: Apache-2.0
// Two machines of the shipped code in every order of events, and what catches each broken rule.
#include <doctest/doctest.h>
#include <model/explorer.hpp>

#include <cstdio>
#include <string>

namespace {

using namespace vccl::model;

struct Totals {
  std::size_t states = 0;
  unsigned violations = 0;
  unsigned controls = 0;
  unsigned caught = 0;
};
Totals totals;

void print_trace(Outcome const& out) {
  std::size_t n = 0;
  for (std::string const& line : out.trace) std::printf("    %2zu  %s\n", ++n, line.c_str());
}

/// Nothing is violated, and all that the bounds allow has been seen.
void explore(Config const& c) {
  Outcome const out = Explorer{c}.run();
  std::printf("  %-62.*s %10zu states, %2u levels, %6.1f s, %s\n", static_cast<int>(c.name.size()),
              c.name.data(), out.states, out.levels, out.seconds,
              out.closed                                ? "closed"
              : c.depth != 0 && out.violated == nullptr ? "to this depth"
                                                        : "NOT CLOSED");
  std::fflush(stdout);  // Seen while the next one runs.
  totals.states += out.states;
  if (out.violated != nullptr) {
    ++totals.violations;
    std::printf("  VIOLATION: %s\n", out.violated);
    print_trace(out);
  }
  CHECK(out.violated == nullptr);
  CHECK(out.closed == (c.depth == 0));
}

/// The broken rule is found out, as a violation whose text begins so.
void control(Config const& c, std::string_view violates) {
  Outcome const out = Explorer{c}.run();
  std::string const found = out.violated == nullptr ? "nothing" : out.violated;
  std::printf("  control: %.*s\n    after %zu states: %s\n", static_cast<int>(c.name.size()),
              c.name.data(), out.states, found.c_str());
  print_trace(out);
  ++totals.controls;
  if (found.starts_with(violates)) ++totals.caught;
  CHECK_MESSAGE(found.starts_with(violates), found);
}

TEST_CASE("nothing is violated: two paths, all events") {
  explore({.name = "1 fault, 2 repairs", .faults = 1, .repairs = 2});
  explore({.name = "3 steps, 1 fault, 1 repair", .steps = 3, .faults = 1, .repairs = 1});
  explore({.name = "all memory needs a flush", .faults = 1, .repairs = 1, .flushed = 0b111});
  explore({.name = "no memory needs a flush", .faults = 1, .repairs = 1, .flushed = 0});
  explore({.name = "CTS records land one by one", .faults = 1, .repairs = 1, .rings = true});
}

TEST_CASE("nothing is violated: other starts and channels") {
  explore({.name = "one path, 2 faults, 2 repairs", .paths = 1, .faults = 2, .repairs = 2});
  explore({.name = "primary down at the start", .faults = 1, .repairs = 1, .up = 0b10});
  explore({.name = "no path at the start, 1 repair",
           .faults = 1,
           .repairs = 1,
           .up = 0,
           .remembered = 2});
  explore({.name = "messages in band only", .faults = 1, .repairs = 2, .out_of_band = false});
}

TEST_CASE("nothing is violated: the end") {
  explore({.name = "two ends at once: close, fatal, fence that fails",
           .faults = 0,
           .repairs = 0,
           .ends = 2});
  explore({.name = "two ends at once, linger deadlines",
           .faults = 0,
           .repairs = 0,
           .ends = 2,
           .lingers = true});
  explore({.name = "released on acknowledgement, behind after a flush that fails: both end",
           .faults = 1,
           .repairs = 0,
           .ends = 1,
           .behind_must_end = true,
           .mutant = Mutant::release_on_ack});
  explore({.name = "an end in every state of 1 fault",
           .faults = 1,
           .repairs = 0,
           .ends = 1,
           .lingers = true});
}

TEST_CASE("large: nothing is violated with more of everything") {
  explore({.name = "2 paths, 3 steps, 2 faults, 2 repairs",
           .steps = 3,
           .faults = 2,
           .repairs = 2,
           .remembered = 2});
  explore({.name = "no path at the start, 2 repairs",
           .faults = 1,
           .repairs = 2,
           .up = 0,
           .remembered = 2});
  explore({.name = "2 faults, 1 repair, 3 messages under way each way", .faults = 2, .repairs = 1});
  explore({.name = "2 faults, 1 repair, messages in band only",
           .faults = 2,
           .repairs = 1,
           .remembered = 2,
           .out_of_band = false});
  explore(
      {.name = "an end in every state of 1 fault, 1 repair", .faults = 1, .repairs = 1, .ends = 1});
  explore({.name = "two ends in every state of 1 fault", .faults = 1, .repairs = 0, .ends = 2});
  explore({.name = "3 paths, 2 faults, 1 repair",
           .paths = 3,
           .faults = 2,
           .repairs = 1,
           .remembered = 2});
  explore({.name = "3 paths, 3 steps, 3 faults, 2 repairs, to depth 11",
           .paths = 3,
           .steps = 3,
           .faults = 3,
           .repairs = 2,
           .remembered = 2,
           .depth = 11});
}

TEST_CASE("each broken rule is caught") {
  control({.name = "nothing is fenced", .mutant = Mutant::no_fence}, "V2");
  control({.name = "the receiver announces its fence before it is done",
           .mutant = Mutant::fence_announced_early},
          "V2");
  control(
      {.name = "the position is taken before the drain", .mutant = Mutant::position_before_drain},
      "V3");
  control({.name = "sends are released on acknowledgement although the flush may fail",
           .mutant = Mutant::release_on_ack},
          "V3");
  control(
      {.name = "the sender resumes where its own completions end", .mutant = Mutant::sender_done},
      "V2");
  control({.name = "messages of another incarnation are followed",
           .mutant = Mutant::forgotten_incarnation},
          "V3");
  control({.name = "epochs are used again: 1, 2, 1, 2", .mutant = Mutant::reused_epoch}, "V4");
  control({.name = "one CTS ring for all paths", .rings = true, .mutant = Mutant::one_cts_ring},
          "V4");
  control({.name = "no new packet numbers on re-arm", .mutant = Mutant::no_new_psn}, "V2");
  control({.name = "re-arm answers without a number, and without probes",
           .repairs = 2,
           .mutant = Mutant::unnumbered_and_unprobed},
          "V4");
  control({.name = "a planned switch without draining", .mutant = Mutant::no_drain}, "V3");
  control({.name = "SWITCH is sent once and never repeated", .mutant = Mutant::switch_sent_once},
          "V4");
  control({.name = "receives belong to steps, not to queue pairs",
           .mutant = Mutant::receives_tied_to_steps},
          "V4");
}

TEST_CASE("re-arm answers without a number are harmless while probes are needed") {
  // The receiver connects to the queue pairs of an older attempt. A path counts as armed only when
  // the probes of both ends came through, and no probe passes between queue pairs that do not fit:
  // the attempt fails, and the next one has the right numbers.
  explore({.name = "harmless: re-arm answers without a number, probes as ever",
           .repairs = 2,
           .mutant = Mutant::unnumbered_answers});
}

TEST_CASE("summary of what ran") {
  std::printf("model: %zu states, %u violations, %u of %u controls caught\n", totals.states,
              totals.violations, totals.caught, totals.controls);
  CHECK(totals.violations == 0);
  CHECK(totals.caught == totals.controls);
}

}  // namespace
