// SPDX-License-Identifier: Apache-2.0
// Ports that go down and come up again and again, and what such a test must show.
#include <support/proof.hpp>
#include <support/soak.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

TEST_CASE(
    "C7: through many flaps of the primary, and some of the backup, nothing is lost or leaks") {
  std::size_t const cycles = soak_count(20, 200);
  World w{{.link = links::quick, .fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(cycles * 800, 2048);
  load.depth = 8;
  load.pause = 1_ms;
  w.load(load);
  REQUIRE(w.run_until(20));
  std::size_t const qps = w.queue_pairs();
  std::size_t const registrations = w.registrations();
  Proof proof{w, soft::Action::link_down};
  for (std::size_t n = 1; n <= cycles; ++n) {
    CAPTURE(n);
    std::string script = "link host" + std::to_string(n % 2) + ".port0 down for 300ms";
    // The backup flaps too: while it is in use, or while it is not.
    if (n % 20 == 10) script += "\nat 120ms link host0.port1 down for 80ms";
    if (n % 20 == 0) script += "\nat 450ms link host1.port1 down for 80ms";
    w.inject(script);
    w.until([] { return false; }, 600_ms);
    for (End const end : {End::sender, End::receiver}) {
      ConnectionStatus const s = w.ends->status(end);
      CHECK(s.active_path == 0);
      CHECK(s.counters.failovers == n);
      CHECK(s.counters.failbacks == n);
    }
    CHECK(w.queue_pairs() == qps);
    CHECK(w.registrations() == registrations);
  }
  CHECK(w.fired(soft::Action::link_down) == cycles + cycles / 10);
  proof.returned();
  w.until([] { return false; }, 50_ms);
  w.wind_up();
  CHECK(w.run());
  // Probes and control records have come through all the time, and count as no step.
  CHECK(w.sender().counters.probes >= cycles);
  CHECK(w.receiver().counters.probes >= cycles);
  CHECK(w.sender().counters.steps == w.sent());
  CHECK(w.receiver().counters.steps == w.received());
  CHECK(w.received() == w.sent());
  CHECK(proof.lacks() == "");
  CHECK(w.problems() == "");
}

namespace {

/// A test of a fault in small. Gives what it did not show.
std::string flap(bool injects, bool heals, bool goes_on) {
  World w{{.link = links::quick, .fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(400, 2048);
  load.pause = 1_ms;
  w.load(load);
  REQUIRE(w.run_until(20));
  Proof proof{w, soft::Action::link_down};
  if (injects) w.inject(std::string{"link host0.port0 down"} + (heals ? " for 60ms" : ""));
  w.until([] { return false; }, 300_ms);
  proof.returned();
  if (!goes_on) return proof.lacks();
  CHECK(w.run());
  CHECK(w.problems() == "");
  return proof.lacks();
}

}  // namespace

TEST_CASE("C9: a test whose fault does not happen, or is not survived and returned from, fails") {
  CHECK(flap(true, true, true) == "");
  CHECK(flap(false, true, true) == "the fault did not strike\nno failover\nno failback\n");
  CHECK(flap(true, false, true) ==
        "no failback\nthe primary's QP carried nothing after the failback\n");
  CHECK(flap(true, true, false) == "the primary's QP carried nothing after the failback\n");
}

}  // namespace vccl::test
