// SPDX-License-Identifier: Apache-2.0
// What was sent on a path that has been left comes after what was sent again on another.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

namespace {

/// Chunk n is held on the primary, sent again on the backup and consumed; its buffer serves chunk
/// n + 8; 500 ms after its signal on the backup the primary lets the old packets go.
std::string replayed(Switches::Fence fence) {
  World w{{.link = links::switched, .fabric = {.latency = 10_us}}};
  switches.fence = fence;
  REQUIRE(w.settle());
  Load load = Load::uniform(100, 4096);
  load.depth = 8;
  w.load(load);
  REQUIRE(w.run_until(20));
  w.inject("hold data host0.port0 for 1s");
  REQUIRE(
      w.until([&] { return w.receiver().counters.steps >= 28 && w.receiver().active_path == 1; },
              800_ms));  // Chunk 20 and those behind it are replayed, their places used again.
  CHECK(w.fired(soft::Action::hold) >= 8);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.sender().counters.resent_steps >= 8);
  w.sends_at_most = 60;
  w.run_until(60, 100_ms);
  w.idle(1_s);  // The old packets come.
  w.sends_at_most = World::none;
  w.run(2_s);
  if (fence == Switches::Fence::both_ends) CHECK(w.received() == 100);
  return w.problems();
}

}  // namespace

TEST_CASE("I3: no packet of the old path lands after its chunk was signaled on the new one") {
  CHECK(replayed(Switches::Fence::both_ends) == "");
}

TEST_CASE("I3: without a fence it does, and that is noticed") {
  CHECK(replayed(Switches::Fence::none) != "");
}

TEST_CASE("I3: a fence of the sender alone does not stop what the network holds") {
  CHECK(replayed(Switches::Fence::local) != "");
}

}  // namespace vccl::test
