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

TEST_CASE("B2: completions that never come are not waited for, though the path answers probes") {
  for (auto const kind : {MemoryKind::host, MemoryKind::device}) {
    for (std::uint64_t const bytes : {0u, 4096u}) {
      World w{{.fabric = {.latency = 5_us}}};
      REQUIRE(w.settle());
      Load load = Load::uniform(100, bytes);
      load.kind = kind;
      load.depth = 8;
      w.load(load);
      w.sends_at_most = 50;
      REQUIRE(w.run_until(50));
      w.inject("cq host0.port0 mute for 5ms");  // It loses 8 completions, and is fine again.
      w.sends_at_most = World::none;
      Time const begin = w.now();
      CHECK(w.run(10_s));
      CHECK(w.now() - begin < 3_s);  // The NIC's retry window, and a little.
      CHECK(w.fired(soft::Action::cq_mute) >= 8);
      CHECK(w.sender().path_causes[0] == Cause::stall);
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.received() == 100);
      CHECK(w.sent() == 100);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("B10: a sender that sees no completion is found out, with what both ends had done") {
  World w{{.fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(16, 4096);
  load.depth = 16;
  load.ahead = 8;
  w.load(load);
  w.inject("cq host0.port0 mute for 1s");
  Time const begin = w.now();
  REQUIRE(w.run_until(8, 100_ms));
  w.until([] { return false; }, 100_ms);
  // It stands: 16 posted at the receiver, 8 of them sent and received, none done at the sender.
  CHECK(w.fired(soft::Action::cq_mute) >= 8);
  CHECK(w.posted() == 8);
  CHECK(w.receiver().counters.steps == 8);
  CHECK(w.sender().counters.steps == 0);
  REQUIRE(w.run(1_s));
  CHECK(w.now() - begin < 450_ms);  // Stall, answer, a drain that brings nothing, and a margin.
  auto const lost = [&w](End end) {
    Event found;
    for (Event const& e : w.ends->events(end)) {
      if (e.kind == Event::Kind::path_lost) found = e;
    }
    return found;
  };
  CHECK(lost(End::sender).cause == Cause::stall);
  CHECK(lost(End::sender).position == 0);
  CHECK(lost(End::receiver).position == 8);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.receiver().counters.failovers == 1);
  CHECK(w.sender().counters.resent_steps == 0);
  CHECK(w.received() == 16);
  CHECK(w.sent() == 16);
  CHECK(w.problems() == "");
}

}  // namespace vccl::test
