// SPDX-License-Identifier: Apache-2.0
// What each policy makes of the same fault; the wrong ones are noticed by the invariants.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace vccl::test {

namespace {

/// A send that the receiving NIC has acknowledged, whose flush cannot be made on that port.
struct FailedFlush {
  explicit FailedFlush(Switches::Release release) : w{{.link = links::switched}} {
    switches.release = release;
    REQUIRE(w.settle());
    Load load = Load::uniform(20, 1000);
    load.kind = MemoryKind::device;
    w.load(load);
    w.sends_at_most = 5;
    REQUIRE(w.run_until(5));
    REQUIRE(w.until([&] { return w.sent() == 5; }));
    w.sends_at_most = 6;
    w.hosts[1]->hooks.completion = [this](PortId, Completion& c) {
      if (c.kind != Completion::Kind::received_with_immediate || done) return;
      done = true;
      w.inject("link host1.port0 down");
    };
    w.until([&] { return done; });
    w.until([&] { return w.receiver().ended || w.receiver().active_path == 1; }, 1_s);
    w.sends_at_most = World::none;
    w.run(40_s);
    CHECK(w.fired(soft::Action::link_down) == 1);
  }
  World w;
  bool done = false;
};

}  // namespace

TEST_CASE("a flush that fails is made good by sending again, where release waits for it") {
  for (auto const release : {Switches::Release::ack_or_confirm, Switches::Release::confirm}) {
    FailedFlush f{release};
    CHECK(f.w.received() == 20);
    CHECK(f.w.sender().counters.failovers == 1);
    CHECK(f.w.sender().counters.resent_steps >= 1);
    CHECK(f.w.problems() == "");
  }
}

TEST_CASE("a flush that fails ends both ends, where release was on acknowledgement") {
  FailedFlush f{Switches::Release::ack};
  CHECK(f.w.sender().cause == Cause::position_behind);
  CHECK(f.w.receiver().cause == Cause::position_behind);
  CHECK(f.w.problems() != "");  // A send that said ok was not received.
}

TEST_CASE("with OnConfirm a send completes on the receiver's word, with AckOrConfirm before") {
  for (bool const confirm : {false, true}) {
    World w{{.link = links::switched}};
    switches.release = confirm ? Switches::Release::confirm : Switches::Release::ack_or_confirm;
    REQUIRE(w.settle());
    w.load(Load::uniform(1, 1000));
    w.inject("hold cts host1.port0 for 50ms\nhold control host1 for 50ms\nhold oob host1 for 50ms");
    w.sends_at_most = 0;
    w.idle(60_ms);  // The CTS comes through.
    w.inject("hold control host1 for 50ms\nhold oob host1 for 50ms");
    w.sends_at_most = 1;
    Time const begin = w.now();
    CHECK(w.run());
    CHECK((w.now() - begin >= 49_ms) == confirm);
    CHECK(w.now() - begin < 60_ms);
    CHECK(w.problems() == "");
  }
}

TEST_CASE("sending resumes at the receiver's position; at the sender's own it is noticed") {
  for (bool const own : {false, true}) {
    World w{{.link = links::switched}};
    switches.sender_done = own;
    REQUIRE(w.settle());
    w.load(Load::uniform(30, 1000));
    w.sends_at_most = 10;
    REQUIRE(w.run_until(10));
    w.inject("drop ack host1.port0");
    w.sends_at_most = 14;
    REQUIRE(w.run_until(14));
    w.until([&] { return w.sender().ended || w.sender().active_path == 1; }, 2_s);
    w.sends_at_most = World::none;
    w.run(40_s);
    CHECK(w.fired(soft::Action::drop) >= 4);
    bool const noticed = w.sender().ended || w.problems() != "";
    CHECK(noticed == own);
    if (!own) CHECK(w.received() == 30);
    if (!own) CHECK(w.sender().counters.resent_steps == 0);
  }
}

TEST_CASE("a repaired primary is returned to by Probed and not by Never") {
  for (bool const never : {false, true}) {
    World w{{.link = links::switched}};
    switches.never_return = never;
    REQUIRE(w.settle());
    w.load(Load::uniform(1000, 1000));
    w.inject("after step 500 link host0.port0 down for 200ms");
    REQUIRE(w.run());
    w.idle(10_s);
    CHECK(w.fired(soft::Action::link_down) == 1);
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.sender().active_path == (never ? 1 : 0));
    CHECK(w.receiver().counters.arm_attempts == (never ? 0 : 1));
    w.load(Load::uniform(100, 1000));
    CHECK(w.run());
    CHECK(w.sender().counters.resent_steps < 40);
    CHECK(w.problems() == "");
  }
}

TEST_CASE("a port event is known to PerPort; PerConnection finds out by a probe") {
  for (bool const alone : {false, true}) {
    World w{{.link = links::switched}};
    switches.per_connection = alone;
    REQUIRE(w.settle());
    Load load = Load::uniform(200, 1000);
    load.pause = 1_ms;
    w.load(load);
    REQUIRE(w.run_until(20));
    w.inject("link host0.port0 down");
    Time const begin = w.now();
    REQUIRE(w.until([&] { return w.sender().active_path == 1; }, 2_s));
    CHECK(w.sender().path_causes[0] == (alone ? Cause::stall : Cause::port_down));
    CHECK((w.now() - begin < 60_ms) == !alone);
    CHECK(w.now() - begin < 400_ms);
    CHECK(w.run());
    CHECK(w.problems() == "");
  }
}

TEST_CASE("an outage shorter than the hold causes no switch, and nothing is sent again by us") {
  World w;
  REQUIRE(w.settle());
  Load load = Load::uniform(300, 1000);
  load.pause = 1_ms;
  w.load(load);
  w.inject("at 100ms link host0.port0 down for 45ms");
  CHECK(w.run());
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.path_faults == 0);
  CHECK(w.sender().counters.failovers == 0);
  CHECK(w.sender().counters.resent_bytes == 0);
  CHECK(w.problems() == "");
}

TEST_CASE("a planned return stops at the end of a step, however much is queued behind it") {
  for (std::uint64_t const max_message : {4096ull, 1ull << 30}) {
    World w{
        {.fabric = {.latency = 5_us, .bytes_per_second = 10'000'000, .max_message = max_message}}};
    REQUIRE(w.settle());
    Load load = Load::uniform(1000, 16'000);
    load.depth = 64;
    load.ahead = 120;
    w.load(load);
    w.inject("at 10ms link host0.port0 down for 60ms");
    CHECK(w.until([&] { return w.sender().counters.failbacks == 1; }, 3_s));
    CHECK(!w.finished());
    CHECK(w.run());
    CHECK(w.fired(soft::Action::link_down) == 1);
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.sender().counters.resent_steps <= 64);
    CHECK(w.problems() == "");
  }
}

TEST_CASE("a primary that came back slower than the backup is not returned to") {
  for (int slower = -1; slower < 2; ++slower) {  // neither end, the sender's, the receiver's
    World w{{.fabric = {.bytes_per_second = 1'000'000'000}}};
    REQUIRE(w.settle());
    w.load(Load::uniform(500, 1000));
    w.inject("after step 100 link host0.port0 down for 200ms");
    if (slower >= 0)
      w.inject("after step 100 link host" + std::to_string(slower) + ".port0 speed 1Gbps");
    REQUIRE(w.run());
    w.idle(5_s);
    CHECK(w.fired(soft::Action::link_down) == 1);
    CHECK(w.sender().usable_paths == 3);
    CHECK(w.sender().active_path == (slower >= 0 ? 1 : 0));
    CHECK(w.problems() == "");
  }
}

}  // namespace vccl::test
