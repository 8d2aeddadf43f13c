// SPDX-License-Identifier: Apache-2.0
// Connections that start with something broken.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

TEST_CASE("a port that is down at the start, at either end, on either path, is started without") {
  for (int host = 0; host < 2; ++host) {
    for (int port = 0; port < 2; ++port) {
      CAPTURE(host);
      CAPTURE(port);
      World w{{.connect = false}};
      w.inject("link host" + std::to_string(host) + ".port" + std::to_string(port) + " down");
      w.ends->accept();
      w.ends->connect(PortId{0}, w.ends->handle());
      REQUIRE(w.settle(1_s));
      CHECK(w.sender().active_path == 1 - port);
      CHECK(w.receiver().active_path == 1 - port);
      CHECK(w.sender().path_causes[static_cast<std::size_t>(port)] == Cause::not_armed);
      CHECK(!w.sender().has_backup);
      w.load(Load::uniform(100, 1000));
      CHECK(w.run());
      w.idle(5_s);
      w.inject("link host" + std::to_string(host) + ".port" + std::to_string(port) + " up");
      w.idle(15_s);
      CHECK(w.sender().active_path == 0);
      CHECK(w.receiver().active_path == 0);
      CHECK(w.sender().usable_paths == 3);
      w.load(Load::uniform(100, 1000));
      CHECK(w.run());
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("with no usable path at the start both ends are told") {
  World w{{.connect = false}};
  w.inject("link host0.port0 down\nlink host1.port1 down");
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  CHECK(!w.settle(1_s));
  CHECK(w.sender().cause == Cause::not_armed);
  CHECK(w.receiver().cause == Cause::not_armed);
}

TEST_CASE(
    "a backup that cannot be opened, at either end, is done without, and both know at set-up") {
  for (int host = 0; host < 2; ++host) {
    CAPTURE(host);
    World w{{.connect = false}};
    w.inject("call register_memory 1 host" + std::to_string(host) + ".port1 fails ENOMEM");
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    REQUIRE(w.settle(1_s));
    CHECK(w.fired(soft::Action::call_fails) == 1);
    CHECK(!w.sender().has_backup);
    CHECK(!w.receiver().has_backup);
    ConnectionStatus const here = host == 0 ? w.sender() : w.receiver();
    ConnectionStatus const there = host == 0 ? w.receiver() : w.sender();
    CHECK(here.path_causes[1] == Cause::not_opened);
    CHECK(there.path_causes[1] != Cause::not_opened);
    w.load(Load::uniform(100, 1000));
    CHECK(w.run());
    CHECK(w.problems() == "");
  }
}

TEST_CASE("a primary that cannot be opened fails the call, and nothing is left of the end") {
  World w{{.connect = false}};
  w.inject("call register_memory 1 host0.port0 fails ENOMEM");
  CHECK_THROWS_AS(w.ends->connect(PortId{0}, w.ends->handle()), SetupError);
  CHECK(w.queue_pairs() == 0);
  CHECK(w.registrations() == 0);
}

TEST_CASE("operations posted before the ends are ready go out when they are, in order") {
  World w{{.fabric = {.latency = 1_ms, .oob_latency = 10_ms}}};
  w.load(Load::uniform(30, 1000, 2));
  CHECK(w.run(1_s));
  CHECK(w.received() == 30);
  CHECK(w.problems() == "");
}

TEST_CASE("a backup that dies unnoticed while it is idle is found out when it is needed") {
  World w;
  REQUIRE(w.settle());
  Load load = Load::uniform(1000, 1000);
  load.pause = 1_ms;
  w.load(load);
  REQUIRE(w.run_until(100));
  w.inject("drop any host0.port1 for 3s");  // No event tells.
  w.inject("at 10ms link host0.port0 down for 500ms");
  REQUIRE(w.run());
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.fired(soft::Action::drop) > 0);
  CHECK(w.received() == 1000);
  CHECK(w.problems() == "");
}

TEST_CASE(
    "a caller that gave up costs the receiver that it reaches its deadline, not the listener") {
  World w{{.connect = false}};
  w.ends->connect(PortId{0}, w.ends->handle());
  w.idle(11_s);
  static_cast<void>(w.ends->ready(End::sender));
  CHECK(w.sender().cause == Cause::setup_deadline);
  w.ends->accept();
  w.idle(11_s);
  CHECK(w.receiver().cause == Cause::setup_deadline);
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  CHECK(w.settle(1_s));
  w.load(Load::uniform(10, 100));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

}  // namespace vccl::test
