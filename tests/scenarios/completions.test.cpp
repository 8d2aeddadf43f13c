// SPDX-License-Identifier: Apache-2.0
// Completions that come late, for work or memory that belongs to something else by then.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

namespace {

/// A load that keeps every slot in use, and the sender a window ahead of what is acknowledged.
Load full_load(std::size_t steps) {
  Load load = Load::uniform(steps, 256);
  load.depth = 64;
  load.ahead = 200;
  return load;
}

/// How long 64 steps take, which is the life of a slot.
Duration slot_lifetime() {
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  w.load(full_load(640));
  Time const begin = w.now();
  REQUIRE(w.run());
  return (w.now() - begin) / 10;
}

}  // namespace

TEST_CASE("E1: completions later than the life of their slot return their credit and no more") {
  Duration const lifetime = slot_lifetime();
  REQUIRE(lifetime > 1_us);
  for (int const send_depth : {32, 256}) {
    for (std::int64_t late = 1; late <= 3; ++late) {
      for (char const* of : {"host0.port0", "host1.port0", "any"}) {
        CAPTURE(send_depth);
        CAPTURE(late);
        CAPTURE(of);
        Route route{PortId{0}};
        route.send_depth = static_cast<std::uint16_t>(send_depth);
        World w{{.fabric = {.latency = 10_us}, .sender = route, .receiver = route}};
        REQUIRE(w.settle());
        w.inject(std::string{"delay ack "} + of + " by " + std::to_string((lifetime * late).ns) +
                 "ns");
        w.load(full_load(600));
        CHECK(w.run(10_s));
        CHECK(w.fired(soft::Action::delay) > 20);
        CHECK(w.received() == 600);
        CHECK(w.sent() == 600);
        CHECK(w.sender().counters.path_faults == 0);
        CHECK(w.problems() == "");
      }
    }
  }
}

TEST_CASE("E1: a completion of an earlier life of a path is counted and changes nothing") {
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  std::array<std::vector<Completion>, 2> old;
  bool collect = true;
  for (std::size_t h = 0; h < 2; ++h) {
    w.hosts[h]->hooks.completion = [&, h](PortId p, Completion& c) {
      if (collect && p == PortId{0} && old[h].size() < 64) old[h].push_back(c);
    };
  }
  w.load(full_load(1000));
  w.inject("after step 500 link host0.port0 down for 200ms");
  REQUIRE(w.run());
  collect = false;
  REQUIRE(w.until([&] { return w.sender().counters.failbacks == 1; }));
  REQUIRE(old[0].size() == 64);
  REQUIRE(old[1].size() == 64);
  w.load(full_load(1000));
  for (std::size_t steps = 100; steps <= 800; steps += 100) {
    REQUIRE(w.run_until(steps));
    for (std::size_t h = 0; h < 2; ++h) w.hosts[h]->hooks.late = old[h];
  }
  REQUIRE(w.run());
  CHECK(w.sender().counters.stale == 8 * 64);
  CHECK(w.receiver().counters.stale == 8 * 64);
  CHECK(w.received() == 2000);
  CHECK(w.problems() == "");
}

namespace {

/// Aborts while data of the primary is held in the network, which lets it go a second later. The
/// consumer has new bytes in the buffers by then. Gives what is found wrong.
std::string late_write(Switches::Fence fence, End aborts) {
  World w{{.link = links::switched, .fabric = {.latency = 10_us}}};
  switches.fence = fence;
  REQUIRE(w.settle());
  Load load = Load::uniform(200, 4096);
  load.depth = 8;
  w.load(load);
  REQUIRE(w.run_until(20));
  w.inject("hold data host0.port0 for 1s");
  w.until([&] { return w.fired(soft::Action::hold) >= 8; }, 5_ms);
  CHECK(w.fired(soft::Action::hold) >= 8);
  w.ends->abort(aborts);
  REQUIRE(w.run(2_s));
  CHECK(w.now() < Time{} + 500_ms);  // Long before the write lands.
  CHECK(w.sender().cause == Cause::user_abort);
  CHECK(w.receiver().cause == Cause::user_abort);
  w.idle(2_s);
  return w.problems();
}

}  // namespace

TEST_CASE("E14: a buffer of an aborted operation is given back when no late write can reach it") {
  CHECK(late_write(Switches::Fence::both_ends, End::receiver) == "");
  CHECK(late_write(Switches::Fence::both_ends, End::sender) == "");
}

TEST_CASE("E14: without a fence the late write is noticed") {
  CHECK(late_write(Switches::Fence::none, End::receiver) != "");
}

}  // namespace vccl::test
