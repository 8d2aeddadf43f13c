// SPDX-License-Identifier: Apache-2.0
// Several connections between the same hosts.
#include <support/soak.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

/// Connections in the same contexts, made with the same routes.
struct Group {
  Group(std::size_t n, Start const& start) {
    for (std::size_t i = 0; i < n; ++i) {
      if (i == 0) {
        worlds.emplace_back(start);
      } else {
        worlds.emplace_back(worlds.front(), start);
      }
      all.push_back(&worlds.back());
    }
    for (World* w : all) REQUIRE(w->settle());
  }
  std::deque<World> worlds;
  std::vector<World*> all;
};

/// Why the primary was left; later attempts to bring it up have reasons of their own.
Cause verdict(World& w, End end) {
  for (Event const& e : w.ends->events(end)) {
    if (e.kind == Event::Kind::path_lost && e.path == 0) return e.cause;
  }
  return Cause::none;
}

std::size_t count(World& w, End end, Event::Kind kind) {
  auto const events = w.ends->events(end);
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](Event const& e) { return e.kind == kind; }));
}

}  // namespace

TEST_CASE("A9: a port lost under thousands of queued sends is one decision per connection") {
  constexpr std::size_t queued = 250;
  std::size_t const connections = soak_count(4, 40);
  Group g{connections, {.fabric = {.latency = 5_us}}};
  World& first = g.worlds.front();
  for (World* w : g.all) {
    Load load = Load::uniform(queued, 4096);
    load.depth = 64;
    load.ahead = queued;
    w->load(load);
  }
  // As soon as the first sends are out: the others are queued behind them.
  first.inject("after step 8 link host0.port0 down for 60s");
  REQUIRE(run_all(g.all));
  CHECK(first.fired(soft::Action::link_down) == 1);
  first.service_period = 10_ms;
  first.idle(50_s);
  for (World* w : g.all) {
    CHECK(w->received() == queued);
    for (End const end : {End::sender, End::receiver}) {
      ConnectionStatus const s = w->ends->status(end);
      CHECK(s.counters.failovers == 1);
      CHECK(s.counters.path_faults == 1);
      CHECK(s.epoch == 2);
      // What is recorded of it: lost, quiet, switched. Nothing per operation or per attempt.
      CHECK(count(*w, end, Event::Kind::path_lost) == 1);
      CHECK(count(*w, end, Event::Kind::fenced) == 1);
      CHECK(count(*w, end, Event::Kind::switched) == 1);
      CHECK(w->ends->events(end).size() == 4);  // And that it was ready.
    }
    CHECK(w->problems() == "");
  }
  first.idle(45_s);
  for (World* w : g.all) {
    CHECK(w->sender().counters.failbacks == 1);
    CHECK(w->receiver().counters.failbacks == 1);
  }
}

TEST_CASE("B8: the fault of a port is blamed on it, and on nothing that others still use") {
  struct Case {
    char const* script;
    Cause sender;
    Cause receiver;
    bool ports[2];  ///< Port 0 of either host stays usable.
  };
  for (Case const c : {
           // The receiver's port is up; its cause is what the sender reported.
           Case{"link host0.port0 down", Cause::port_down, Cause::port_down, {false, true}},
           Case{"link host1.port0 down", Cause::peer_report, Cause::port_down, {true, false}},
           // A hole in the middle: both ports are up, what host 0 says gets nowhere. The
           // receiver finds out first, as the answers to its CTS are lost too.
           Case{"drop any host0.port0", Cause::peer_report, Cause::stall, {true, true}},
       }) {
    CAPTURE(c.script);
    // Port 0 to port 0; and what crosses over: each port 0 with the other's port 1.
    Start start{.fabric = {.latency = 5_us}};
    Group g{1, start};
    World& straight = g.worlds.front();
    start.sender = PortId{1};
    World from_other{straight, start};
    start.sender = PortId{0};
    start.receiver = PortId{1};
    World to_other{straight, start};
    World* const all[] = {&straight, &from_other, &to_other};
    for (World* w : all) {
      REQUIRE(w->settle());
      Load load = Load::uniform(2000, 1000);
      load.pause = 1_ms;
      w->load(load);
    }
    straight.inject("at 100ms " + std::string{c.script});
    until_all(all, [] { return false; }, 1500_ms);
    CHECK(straight.fired(soft::Action::link_down) + straight.fired(soft::Action::drop) > 0);
    CHECK(straight.sender().counters.failovers == 1);
    CHECK(straight.receiver().counters.failovers == 1);
    CHECK(verdict(straight, End::sender) == c.sender);
    CHECK(verdict(straight, End::receiver) == c.receiver);
    for (std::size_t h = 0; h < 2; ++h)
      CHECK(straight.hosts[h]->port_state(PortId{0}).active == c.ports[h]);
    // Whoever does not use what failed stays where it is; whoever does, leaves it too.
    bool const by_sender = std::string_view{c.script}.find("host0") != std::string_view::npos;
    World& stays = by_sender ? from_other : to_other;
    World& leaves = by_sender ? to_other : from_other;
    CHECK(stays.sender().counters.failovers == 0);
    CHECK(stays.receiver().counters.failovers == 0);
    CHECK(stays.sender().active_path == 0);
    CHECK(leaves.sender().counters.failovers == 1);
    CHECK(leaves.receiver().counters.failovers == 1);
    REQUIRE(run_all(all));
    for (World* w : all) {
      CHECK(w->received() == 2000);
      CHECK(w->problems() == "");
    }
  }
}

TEST_CASE("C3: a port that is down for ages is tried ever more rarely, for ever, and then found") {
  // At the receiver, which tries: nothing is tried while its own port is down. At the sender:
  // each try costs a few words, and the tries are a cap apart.
  constexpr Duration cap = 30_s;
  for (int host = 0; host < 2; ++host) {
    CAPTURE(host);
    Group g{2, {.fabric = {.latency = 5_us}}};
    World& w = g.worlds.front();
    for (World* each : g.all) each->load(Load::uniform(10, 1000));
    REQUIRE(run_all(g.all));
    std::string const port = "link host" + std::to_string(host) + ".port0 ";
    w.inject(port + "down");
    w.service_period = 10_ms;
    w.idle(200_s);  // The waits have grown to the cap by then.
    CHECK(w.sender().active_path == 1);
    // 0.2 s, 0.4 s, ..., 25.6 s, then the cap, each a quarter more or less.
    if (host == 0) CHECK(w.receiver().counters.arm_attempts >= 8);
    CHECK(w.receiver().counters.arm_attempts < 8 + 150 * 4 / 90 + 2);
    std::vector<Counters> before;
    for (World* each : g.all) before.push_back(each->receiver().counters);
    // An attempt lasts longer than a tick, whatever the tick is.
    w.service_period = 100_ms;
    auto const periods = static_cast<std::int64_t>(soak_count(100, 100'000));
    w.idle(cap * periods);
    for (std::size_t i = 0; i < g.all.size(); ++i) {
      Counters const after = g.all[i]->receiver().counters;
      auto const tries = static_cast<std::int64_t>(after.arm_attempts - before[i].arm_attempts);
      auto const words = static_cast<std::int64_t>(after.messages_sent - before[i].messages_sent);
      if (host == 1) {
        CHECK(tries == 0);
        CHECK(words == 0);
      } else {
        CHECK(tries > periods * 95 / 100);
        CHECK(tries < periods * 105 / 100);
        CHECK(words <= 3 * tries);
        MESSAGE("tries " << tries << ", messages " << words << " in " << periods << " periods");
      }
    }
    w.service_period = 10_ms;
    w.inject(port + "up");
    w.idle(cap * 5 / 4 + 1_s + 500_ms);  // A wait, the time to be good for, the handshake.
    for (World* each : g.all) {
      CHECK(each->sender().counters.failbacks == 1);
      CHECK(each->receiver().counters.failbacks == 1);
      each->load(Load::uniform(10, 1000));
    }
    CHECK(run_all(g.all));
    CHECK(w.fired(soft::Action::link_down) == 1);
    for (World* each : g.all) {
      CHECK(each->received() == 20);
      CHECK(each->problems() == "");
    }
  }
}

TEST_CASE("C4: two connections that back each other up keep half their rate, and get it back") {
  Start start{.fabric = {.latency = 5_us, .bytes_per_second = 12'500'000}};
  Group g{1, start};
  World& one = g.worlds.front();
  start.sender = start.receiver = PortId{1};
  World two{one, start};
  World* const both[] = {&one, &two};
  constexpr std::uint64_t bytes = 32'768;
  for (World* w : both) {
    REQUIRE(w->settle());
    Load load = Load::uniform(6000, bytes);
    load.depth = 4;
    w->load(load);
  }
  auto const steps = [&] { return one.receiver().counters.steps + two.receiver().counters.steps; };
  auto const rate = [&](Duration d) {
    std::uint64_t const before = steps();
    until_all(both, [] { return false; }, d);
    return static_cast<double>(steps() - before) * 1e9 / static_cast<double>(d.ns);
  };
  double const full = rate(500_ms);
  auto const outage = static_cast<std::int64_t>(soak_count(1, 5));
  one.inject("link host0.port0 down for " + std::to_string(outage) + "s");
  double const half = rate(1_s * outage);
  CHECK(one.fired(soft::Action::link_down) == 1);
  CHECK(one.sender().active_path == 1);
  CHECK(two.sender().active_path == 0);
  REQUIRE(until_all(both, [&] { return one.sender().counters.failbacks == 1; }, 3_s));
  double const again = rate(500_ms);
  CHECK(full * bytes > 0.95 * 2 * 12'500'000);
  CHECK(half > 0.45 * full);
  CHECK(again > 0.95 * full);
  CHECK(again < 1.05 * full);
  CHECK(two.sender().counters.path_faults <= 1);  // Its backup was gone, and it did not move.
  CHECK(two.sender().counters.failovers == 0);
  for (World* w : both) w->wind_up();
  CHECK(run_all(both));
  for (World* w : both) {
    CHECK(w->received() == w->sent());
    CHECK(w->problems() == "");
  }
}

}  // namespace vccl::test
