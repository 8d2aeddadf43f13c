// SPDX-License-Identifier: Apache-2.0
// One direction of a path is lost.
#include <support/world.hpp>

#include <doctest/doctest.h>

namespace vccl::test {

TEST_CASE("B1: acknowledgements lost from chunk 9 on, chunks received until 12: it resumes at 13") {
  World w;
  REQUIRE(w.settle());
  w.load(Load::uniform(16, 4096));
  w.inject("after packet 8 drop ack host1.port0");
  w.sends_at_most = 12;
  REQUIRE(w.run_until(12, 100_ms));
  w.idle(1_ms);
  CHECK(w.sender().counters.steps == 8);
  CHECK(w.receiver().counters.steps == 12);
  REQUIRE(w.until([&] { return w.sender().active_path == 1; }, 2_s));
  w.sends_at_most = World::none;
  REQUIRE(w.run());
  CHECK(w.fired(soft::Action::drop) >= 4);
  CHECK(w.received() == 16);
  CHECK(w.problems() == "");

  ConnectionStatus const s = w.sender();
  ConnectionStatus const r = w.receiver();
  CHECK(s.counters.failovers == 1);
  CHECK(r.counters.failovers == 1);
  CHECK(s.counters.resent_steps == 0);  // 9 to 12 are not sent again.
  CHECK(s.path_causes[0] == Cause::stall);
  CHECK(r.path_causes[0] == Cause::stall);  // As the sender told it.
  for (Event const& e : w.ends->events(End::receiver)) {
    if (e.kind == Event::Kind::switched) CHECK(e.position == 12);
  }
  CHECK(w.data_bytes(0, 1) == 4 * 4096);
}

}  // namespace vccl::test
