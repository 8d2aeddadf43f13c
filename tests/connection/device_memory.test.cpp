// SPDX-License-Identifier: Apache-2.0
// Receives into memory behind a bus: flushed by the NIC that wrote, confirmed to the sender.
#include <support/world.hpp>

#include <doctest/doctest.h>

namespace vccl::test {

TEST_CASE("a receive into device memory ends after its flush, through every lane that wrote") {
  Ports two{PortId{0}, PortId{1}};
  Route route{two};
  route.backups[0] = Ports{PortId{2}, PortId{3}};
  route.qps_per_lane = 2;
  World w{{.fabric = {.ports_per_host = 4, .latency = 5_us}, .sender = route, .receiver = route}};
  REQUIRE(w.settle());
  Load load = Load::uniform(50, 300'000, 2);
  load.kind = MemoryKind::device;
  w.load(load);
  CHECK(w.run());
  CHECK(w.held_writes(1, 0) == 0);
  CHECK(w.held_writes(1, 1) == 0);
  CHECK(w.receiver().counters.flush_reads == 50 * 2 * 2);  // A read per lane and receive.
  CHECK(w.problems() == "");
}

TEST_CASE("empty receives are not flushed, and host memory is not") {
  for (auto const kind : {MemoryKind::device, MemoryKind::host}) {
    World w;
    REQUIRE(w.settle());
    Load load;
    load.kind = kind;
    load.steps = {{{0, 0}}, {{0, 100}, {50, 100}}, {{0, 100}}};
    w.load(load);
    CHECK(w.run());
    CHECK(w.receiver().counters.flush_reads == (kind == MemoryKind::device ? 1 : 0));
    CHECK(w.problems() == "");
  }
}

TEST_CASE("a sender with nothing more to send hears at once that its last sends are flushed") {
  // The word comes with the CTS of receives that no send is there for yet.
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(40, 1000);
  load.kind = MemoryKind::device;
  load.depth = 12;
  w.load(load);
  w.sends_at_most = 10;
  Time const begin = w.now();
  CHECK(w.until([&] { return w.sent() == 10; }));
  CHECK(w.now() - begin < 1_ms);
  w.sends_at_most = World::none;
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE("the last flush of all is told by a message, as no CTS follows") {
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(3, 1000);
  load.kind = MemoryKind::device;
  w.load(load);
  Time const begin = w.now();
  CHECK(w.run());
  CHECK(w.sent() == 3);
  CHECK(w.now() - begin < 3_ms);
  CHECK(w.problems() == "");
}

TEST_CASE("a planned return waits for what is not flushed yet, and comes") {
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(4000, 1000);
  load.kind = MemoryKind::device;
  load.pause = 1_ms;
  load.depth = 12;
  load.ahead = 40;
  w.load(load);
  w.inject("at 100ms link host0.port0 down for 100ms");
  CHECK(w.run());
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.sender().counters.failbacks == 1);
  CHECK(w.problems() == "");
}

}  // namespace vccl::test
