// SPDX-License-Identifier: Apache-2.0
// The primary's port goes down under load: when that means a switch, and what is sent again.
#include <support/soak.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

TEST_CASE("A1: with 37 chunks posted and 31 sent when the port goes down, both ends move at once") {
  constexpr std::size_t chunks = 128;
  constexpr std::uint64_t chunk = 512 << 10;
  // A ring of two: each host sends 64 MiB to the other.
  World there{{.fabric = {.latency = 5_us, .bytes_per_second = 12'500'000'000}}};
  World back{there, {.reversed = true}};
  World* const ring[] = {&there, &back};
  for (World* w : ring) {
    REQUIRE(w->settle());
    Load load = Load::uniform(chunks, chunk);
    load.depth = 48;
    w->load(load);
    w->sends_at_most = 37;
  }
  there.inject("after step 31 of host0.port0 link host0.port0 down");
  REQUIRE(until_all(ring, [&] { return there.fired(soft::Action::link_down) == 1; }));
  Time const down = there.now();
  CHECK(there.posted() == 37);
  CHECK(there.sender().counters.steps < 31);
  REQUIRE(until_all(
      ring, [&] { return there.sender().active_path == 1 && there.receiver().active_path == 1; }));
  CHECK(there.now() - down >= 50_ms);  // The hold, one round of messages, a tick of each end.
  CHECK(there.now() - down < 55_ms);
  Step received = 0;
  for (Event const& e : there.ends->events(End::sender)) {
    if (e.kind == Event::Kind::switched) received = e.position;
  }
  CHECK(received >= 25);  // What was acknowledged, or arrived without that, is not sent again.
  for (World* w : ring) w->sends_at_most = World::none;
  REQUIRE(run_all(ring));
  CHECK(there.sender().counters.resent_steps == 37 - received);
  for (World* w : ring) {
    CHECK(w->received() == chunks);
    CHECK(w->sent() == chunks);
    CHECK(w->sender().counters.failovers == 1);
    CHECK(w->receiver().counters.failovers == 1);
    CHECK(w->errors(End::sender).empty());
    CHECK(w->errors(End::receiver).empty());
    CHECK(w->problems() == "");
  }
}

namespace {

constexpr Duration hold = 50_ms;
/// What a lost packet costs before it is sent again: 4.096 us * 2^16 (IBTA vol. 1, 11.2.5.4), the
/// default of Timing.
constexpr Duration nic_timeout{4096LL << 16};

/// Takes the port of a host down for tenths of the hold, again and again, under steady traffic.
void flap(World& w, int host, std::int64_t tenths, std::size_t times) {
  REQUIRE(w.settle());
  Load load = Load::uniform(times * 4000, 4096);
  load.depth = 4;
  load.pause = 1_ms;
  w.load(load);
  Duration const outage = hold * tenths / 10;
  bool const switches = tenths > 10;
  for (std::size_t n = 1; n <= times; ++n) {
    w.until([] { return false; }, 30_ms);
    std::uint64_t const resent = w.sender().counters.resent_steps;
    std::uint64_t const received = w.receiver().counters.steps;
    w.inject("link host" + std::to_string(host) + ".port0 down for " + std::to_string(outage.ns) +
             "ns");
    Time const down = w.now();
    CHECK(w.fired(soft::Action::link_down) == n);
    // The longest time without a step: what is under way when the port goes down may arrive.
    REQUIRE(w.until([&] { return w.receiver().counters.steps > received + 4; }, 2_s));
    Duration const gap = w.now() - down;
    CHECK(gap >= (switches ? hold : outage));
    CHECK(gap < (switches ? hold + 5_ms : outage + nic_timeout + 5_ms));
    w.until([] { return false; }, 500_ms);
    CHECK(w.hosts[static_cast<std::size_t>(host)]->hooks.port_errors == n);
    std::uint64_t const expected = switches ? n : 0;
    CHECK(w.sender().counters.failovers == expected);
    CHECK(w.receiver().counters.failovers == expected);
    if (switches) {
      REQUIRE(w.until([&] { return w.sender().counters.failbacks == n; }, 4_s));
    } else {
      CHECK(w.sender().counters.path_faults + w.receiver().counters.path_faults == 0);
      CHECK(w.sender().counters.resent_steps == resent);
    }
  }
  w.wind_up();
  CHECK(w.run());
  CHECK(w.received() == w.sent());
  CHECK(w.problems() == "");
}

}  // namespace

TEST_CASE("A7: an outage below the hold switches nothing and resends nothing") {
  for (int host = 0; host < 2; ++host) {
    for (std::int64_t const tenths : {1, 5, 9}) {
      CAPTURE(host);
      CAPTURE(tenths);
      World w{{.fabric = {.latency = 5_us}}};
      flap(w, host, tenths, soak_count(2, 50));
    }
  }
}

TEST_CASE("A7: an outage above the hold is one switch") {
  for (int host = 0; host < 2; ++host) {
    for (std::int64_t const tenths : {11, 20}) {
      CAPTURE(host);
      CAPTURE(tenths);
      World w{{.fabric = {.latency = 5_us}}};
      flap(w, host, tenths, soak_count(2, 50));
    }
  }
}

}  // namespace vccl::test
