// SPDX-License-Identifier: Apache-2.0
#include <vccl/listener.hpp>

#include <support/world.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::literals;
using test::World;

TEST_CASE(
    "a receiver that is accepted before anybody calls waits, and is made ready by the first") {
  World w{{.connect = false}};
  w.ends->accept();
  w.idle(60_s);  // Longer than any deadline: waiting for a caller has none.
  CHECK_FALSE(w.receiver().ended);
  w.ends->connect(PortId{0}, w.ends->handle());
  CHECK(w.settle(1_s));
}

TEST_CASE("set-up messages may be lost, each of them in turn, and set-up still succeeds") {
  for (int lost = 0; lost < 8; ++lost) {
    CAPTURE(lost);
    World w{{.connect = false}};
    int sent = 0;
    auto const lose = [&](std::vector<std::byte>& m) {
      if (sent++ == lost) m.clear();
    };
    w.hosts[0]->hooks.message = lose;
    w.hosts[1]->hooks.message = lose;
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    CHECK(w.settle(2_s));
  }
}

TEST_CASE("a listener that goes lets its receivers go on") {
  World w;
  REQUIRE(w.settle());
  w.ends->stop_listening();
  w.load(test::Load::uniform(10, 100));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE("set-up messages that are changed on the way let nobody in, and hang nothing") {
  for (std::size_t at = 0; at < 120; ++at) {
    CAPTURE(at);
    World w{{.connect = false}};
    bool changed = false;
    w.hosts[0]->hooks.message = [&](std::vector<std::byte>& m) {
      m[at * m.size() / 120] ^= std::byte{0x20};
      changed = true;
    };
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    CHECK_FALSE(w.settle(100_ms));
    CHECK(changed);
    CHECK(w.sender().ended);
    CHECK(w.sender().cause == Cause::bad_handshake);
    CHECK_FALSE(w.receiver().ended);
  }
}
