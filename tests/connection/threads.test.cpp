// SPDX-License-Identifier: Apache-2.0
// On a real clock: a service thread, an owner that posts, and others that ask, close and abort.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

namespace vccl::test {

TEST_CASE("traffic survives a port's loss and return while other threads ask for the status") {
  World w{{.virtual_time = false}};
  REQUIRE(w.settle());
  Load load = Load::random(5, 3000, 2000);
  load.pause = 100_us;
  w.load(load);
  std::atomic<bool> over{false};
  std::uint64_t asked = 0;
  std::thread other{[&] {
    while (!over.load()) {
      ConnectionStatus const s = w.ends->status(End::sender);
      ConnectionStatus const r = w.ends->status(End::receiver);
      asked += s.ended || r.ended ? 0 : 1;
      std::this_thread::yield();
    }
  }};
  w.inject("after step 500 link host0.port0 down for 150ms");
  CHECK(w.run(20_s));
  over = true;
  other.join();
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.received() == 3000);
  CHECK(asked > 0);
  CHECK(w.problems() == "");
}

namespace {

/// Ends the connection from another thread while the owner works on it.
void end_from_outside(std::string const& script, bool abort, End end) {
  CAPTURE(script);
  CAPTURE(abort);
  CAPTURE((end == End::sender));
  World w{{.virtual_time = false}};
  bool const early = script == "early";
  if (!early) REQUIRE(w.settle());
  Load load = Load::uniform(100'000, 500);
  load.pause = 200_us;
  w.load(load);
  if (!early) {
    w.run_until(20, 5_s);
    w.inject(script);
    w.until([] { return false; }, 80_ms);
  }
  std::atomic<bool> returned{false};
  std::thread other{[&] {
    if (abort) {
      w.ends->abort(end);
    } else {
      w.ends->close(end);
    }
    returned = true;
  }};
  Time const begin = w.now();
  CHECK(w.until([&] { return returned.load(); }, 3_s));
  CHECK(w.now() - begin < 2_s);
  other.join();
  w.stop_posting();
  CHECK(w.ends->closed(end));
  CHECK(w.problems() == "");
}

}  // namespace

TEST_CASE("close and abort from another thread return within two seconds, in every state") {
  for (char const* state : {"early", "", "link host0.port0 down", "fence any takes 100ms",
                            "link host0.port0 down\nlink host1.port1 down"}) {
    end_from_outside(state, false, End::sender);
    end_from_outside(state, true, End::receiver);
  }
}

TEST_CASE("an owner that does nothing is served: what its peer sends again gets its answer") {
  World w{{.virtual_time = false}};
  REQUIRE(w.settle());
  w.load(Load::uniform(20, 500));
  REQUIRE(w.run_until(10, 5_s));
  w.inject("drop ack host1.port0 for 200ms");
  // The receiver's owner has what it wants; only the sender's polls from here on.
  CHECK(w.run(5_s));
  CHECK(w.received() == 20);
  CHECK(w.sent() == 20);
  CHECK(w.problems() == "");
}

}  // namespace vccl::test
