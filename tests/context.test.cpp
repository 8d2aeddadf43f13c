// SPDX-License-Identifier: Apache-2.0
#include <vccl/context.hpp>

#include <support/world.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::literals;
using test::Load;
using test::World;

TEST_CASE("a port that is down at the start is started without, and returned to when it comes up") {
  for (int end = 0; end < 2; ++end) {
    CAPTURE(end);
    World w{{.connect = false}};
    std::string const port = "host" + std::to_string(end) + ".port0";
    w.inject("at 0ms link " + port + " down");
    w.idle(1_ms);
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    REQUIRE(w.settle(2_s));
    CHECK(w.sender().active_path == 1);
    CHECK(w.receiver().active_path == 1);
    CHECK_FALSE(w.sender().has_backup);
    w.load(Load::uniform(20, 5'000));
    CHECK(w.run());
    w.inject("at 0ms link " + port + " up");
    w.idle(40_s);
    CHECK(w.sender().active_path == 0);
    CHECK(w.sender().has_backup);
    w.load(Load::uniform(20, 5'000));
    CHECK(w.run());
    CHECK(w.sender().counters.resent_bytes == 0);
    CHECK(w.problems() == "");
  }
}

TEST_CASE(
    "with every port down at the start set-up fails with a cause, it does not wait for ever") {
  World w{{.connect = false}};
  w.inject("at 0ms link host0.port0 down\nat 0ms link host0.port1 down");
  w.idle(1_ms);
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  CHECK_FALSE(w.settle(12_s));
  CHECK(w.sender().ended);
  CHECK(w.sender().cause == Cause::not_armed);
  CHECK(w.receiver().cause == Cause::not_armed);
}

TEST_CASE("a host with one port has no backup, and says so") {
  World w{{.fabric = {.ports_per_host = 1}}};
  REQUIRE(w.settle());
  CHECK_FALSE(w.sender().has_backup);
  CHECK(w.sender().usable_paths == 0b01);
  w.load(Load::uniform(20, 5'000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE("where time passes by itself, a service thread serves the ends that nobody polls") {
  World w{{.virtual_time = false}};
  w.load(Load::uniform(20, 5'000));
  REQUIRE(w.run());
  w.inject("at 0ms link host0.port0 down");
  Time const limit = w.now() + 20_s;
  while (w.now() < limit && w.sender().active_path == 0) {
    // status() makes no progress: only the service thread does.
  }
  CHECK(w.sender().active_path == 1);
  w.load(Load::uniform(20, 5'000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}
