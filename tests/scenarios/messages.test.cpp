// SPDX-License-Identifier: Apache-2.0
// Control messages on several paths and the pipe: repeated, late, out of order, and not yet read.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

namespace {

/// A primary that loses data and still carries control is left and returned to.
std::string there_and_back(std::string const& script, std::uint64_t& fired) {
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(400, 500);
  load.pause = 5_ms;
  w.load(load);
  REQUIRE(w.run_until(10));
  w.inject("drop data host0.port0 for 500ms\n" + script);
  CHECK(w.run());
  CHECK(w.until([&] { return w.receiver().counters.failbacks == 1; }));
  w.idle(100_ms);
  CHECK(w.fired(soft::Action::drop) > 0);
  CHECK(w.received() == 400);
  CHECK(w.problems() == "");
  fired = w.fired(soft::Action::duplicate) + w.fired(soft::Action::delay) +
          w.fired(soft::Action::reorder);
  std::string all;
  for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
    all += "epoch " + std::to_string(s.epoch) + ", path " + std::to_string(s.active_path) + ", " +
           std::to_string(s.counters.failovers) + " failovers, " +
           std::to_string(s.counters.failbacks) + " failbacks, " +
           std::to_string(s.counters.rearms) + " rearms, " +
           std::to_string(s.counters.path_faults) + " faults; ";
  }
  return all;
}

}  // namespace

TEST_CASE("E13: a message is applied once, on however many ways and however late it comes") {
  std::uint64_t fired = 0;
  std::string const clean = there_and_back("", fired);
  CHECK(fired == 0);
  std::string const once = "epoch 3, path 0, 1 failovers, 1 failbacks, 1 rearms, 1 faults; ";
  CHECK(clean == once + once);
  for (std::string const script :
       {"duplicate control any by 30ms\nduplicate oob any by 30ms", "duplicate oob any by 300ms",
        "delay control host0.port0 by 20ms\ndelay control host1.port0 by 20ms",
        "delay control host0.port1 by 20ms\ndelay control host1.port1 by 20ms",
        "delay oob any by 20ms", "reorder control any by 10ms\nreorder oob any by 10ms"}) {
    CAPTURE(script);
    CHECK(there_and_back(script, fired) == clean);
    CHECK(fired > 0);
  }
}

TEST_CASE("E13: what a CQ still holds is taken before its path is torn down") {
  for (auto const kind : {MemoryKind::host, MemoryKind::device}) {
    World w{{.fabric = {.latency = 10_us}}};
    std::size_t taken = 0;
    std::size_t taken_at_reset = World::none;
    w.hosts[1]->hooks.completion = [&](PortId p, Completion& c) {
      if (p == PortId{0} && c.status == Status::success &&
          c.kind == Completion::Kind::received_with_immediate)
        ++taken;
    };
    w.hosts[1]->hooks.fence = [&](PortId p, FenceStep step) {
      if (p == PortId{0} && step == FenceStep::reset && taken_at_reset == World::none)
        taken_at_reset = taken;
    };
    REQUIRE(w.settle());
    Load load = Load::uniform(200, 500);
    load.depth = 64;
    load.kind = kind;
    w.load(load);
    w.sends_at_most = 10;
    REQUIRE(w.run_until(10));
    REQUIRE(w.until([&] { return w.sent() == 10; }));
    w.until([] { return false; }, 1_ms);  // All receives are posted.
    // 48 steps land while the receiver does nothing. Then the sender's port is gone.
    w.paused[static_cast<std::size_t>(End::receiver)] = true;
    w.sends_at_most = 58;
    w.until([] { return false; }, 3_ms);
    CHECK(taken == 10);
    w.inject("link host0.port0 down");
    w.until([] { return false; }, 80_ms);
    CHECK(w.sender().path_causes[0] == Cause::port_down);
    w.paused = {};
    REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
    CHECK(taken_at_reset == 58);
    // What was flushed through the lost path's port, or needed no flush, is received.
    if (kind == MemoryKind::host) CHECK(w.receiver().counters.steps == 58);
    w.sends_at_most = World::none;
    CHECK(w.run());
    if (kind == MemoryKind::host) CHECK(w.sender().counters.resent_steps == 0);
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.received() == 200);
    CHECK(w.problems() == "");
  }
}

}  // namespace vccl::test
