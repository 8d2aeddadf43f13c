// SPDX-License-Identifier: Apache-2.0
// The end of a connection when what it waits for never comes.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

/// What was destroyed at each host: a lane (true), a registration of its path (false).
using Order = std::array<std::vector<bool>, 2>;

/// Closes, aborts or destroys an end with writes under way whose completions the script takes away.
void end_without_flushes(std::string const& script, End end, int way) {
  CAPTURE(script);
  CAPTURE(static_cast<int>(end));
  CAPTURE(way);
  World w{{.fabric = {.latency = 10_us}}};
  Order destroyed;
  bool reset_early = false;
  std::array<Time, 2> error{};
  for (std::size_t h = 0; h < 2; ++h) {
    w.hosts[h]->hooks.destroyed = [&, h](bool lane) { destroyed[h].push_back(lane); };
    w.hosts[h]->hooks.fence = [&, h](PortId p, FenceStep step) {
      if (p != PortId{0} || h != static_cast<std::size_t>(end)) return;
      if (step == FenceStep::error && error[h] == Time{}) error[h] = w.now();
      // Until then something might still come.
      if (step == FenceStep::reset && w.now() - error[h] < 100_ms) reset_early = true;
    };
  }
  REQUIRE(w.settle());
  Load load = Load::uniform(100, 4000);
  load.depth = 16;
  w.load(load);
  w.sends_at_most = 20;
  REQUIRE(w.run_until(20));
  REQUIRE(w.until([&] { return w.sent() == 20; }));
  // Everything that is posted from here on is late: it lands when the buffers are the user's again.
  w.inject("hold data host0.port0 for 3s");
  w.sends_at_most = 36;
  w.until([] { return false; }, 5_ms);
  CHECK(w.fired(soft::Action::hold) == 16);
  w.inject(script);
  w.stop_posting();
  Time const begin = w.now();
  if (way == 0) w.ends->close(end);
  if (way == 1) w.ends->abort(end);
  if (way == 2) w.ends->destroy(end);
  if (way < 2) {
    CHECK(w.until([&] { return w.ends->closed(end); }, 2_s));
    CHECK(w.now() - begin < 2_s);
    CHECK(!reset_early);
    CHECK(destroyed == Order{});  // Closed is not destroyed.
    CHECK(w.fired(soft::Action::cq_mute) + w.fired(soft::Action::fence_hangs) > 0);
    bool const hangs = w.fired(soft::Action::fence_hangs) != 0;
    CHECK(w.ends->status(end).buffers_unsafe == hangs);
    w.idle(4_s - (w.now() - begin));
    if (!hangs) CHECK(w.problems() == "");
    w.ends->destroy(end);
  }
  End const other = end == End::sender ? End::receiver : End::sender;
  w.idle(4_s);
  w.ends->destroy(other);
  for (auto const& order : destroyed) {
    // Two paths, each with its lane and the registration of its records; the lane goes first.
    CHECK(order == std::vector{true, false, true, false});
  }
  CHECK(w.queue_pairs() == 0);
  w.hosts[0]->hooks.destroyed = w.hosts[1]->hooks.destroyed = nullptr;
  w.ends->release_memory();
  CHECK(w.registrations() == 0);
}

}  // namespace

TEST_CASE(
    "O2: an end whose last flush never comes has a deadline, and frees memory after its QPs") {
  for (End const end : {End::sender, End::receiver}) {
    std::string const host = end == End::sender ? "host0" : "host1";
    for (int way = 0; way < 3; ++way) {
      end_without_flushes("cq " + host + ".port0 mute", end, way);
      end_without_flushes("cq " + host + ".port0 mute\ncq " + host + ".port1 mute", end, way);
      end_without_flushes("fence " + host + ".port0 hangs on reset", end, way);
    }
  }
}

}  // namespace vccl::test
