// SPDX-License-Identifier: Apache-2.0
// Coming back to a primary that is good again.
#include <support/proof.hpp>
#include <support/soak.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

bool back(World& w) {
  return w.sender().active_path == 0 && w.receiver().active_path == 0 &&
         w.sender().counters.failbacks != 0 && w.receiver().counters.failbacks != 0;
}

/// One probe period of failback::Probed<> with its jitter, the time that a path must be good for,
/// and 50 ms for messages and fences.
constexpr Duration period = 250_ms;
constexpr Duration probation = 1000_ms;
constexpr Duration margin = 50_ms;

/// For so long nothing that an end says reaches the other, out of band or on the backup.
void silence(World& w, std::size_t host, Duration d) {
  w.inject("hold oob host" + std::to_string(host) + " for " + std::to_string(d.ns) + "ns");
  Time const end = w.now() + d;
  w.hosts[host]->hooks.post = [&w, end](PortId, WorkRequest const& r) {
    return r.traffic == Traffic::control && w.now() < end ? Errc::would_block : Errc::ok;
  };
}

}  // namespace

TEST_CASE("C1: a receiver that learns late of the loss brings it back a probe period after that") {
  // As late as the sender goes on without an answer: see below for more.
  std::vector<Duration> const delays{500_ms, 2_s, 10_s, 29_s};
  for (Duration const late : delays) {
    CAPTURE(late.ns);
    World w{{.fabric = {.latency = 5_us, .oob_latency = 20_us}}};
    REQUIRE(w.settle());
    w.load(Load::uniform(20, 1000));
    REQUIRE(w.run());
    Proof proof{w, soft::Action::link_down};
    // Idle: only the sender sees its port, and nothing that it says gets through.
    silence(w, 0, late);
    w.inject("link host0.port0 down for 300ms");
    w.idle(late - 1_ms);
    CHECK(w.sender().counters.path_faults == 1);
    CHECK(w.receiver().counters.path_faults == 0);
    CHECK(w.receiver().counters.arm_attempts == 0);
    Time const end = w.now() + 1_ms + period + probation + margin;
    for (; !back(w) && w.now() < end;) w.idle(1_ms);
    CHECK(back(w));
    CHECK(w.receiver().counters.arm_attempts == 1);
    proof.returned();
    w.load(Load::uniform(20, 1000));
    CHECK(w.run());
    CHECK(proof.lacks() == "");
    CHECK(w.problems() == "");
  }
}

TEST_CASE("C1: a receiver that is not reached for the outage deadline ends as the sender did") {
  World w{{.fabric = {.latency = 5_us, .oob_latency = 20_us}}};
  REQUIRE(w.settle());
  w.load(Load::uniform(20, 1000));
  REQUIRE(w.run());
  silence(w, 0, 60_s);
  w.inject("link host0.port0 down for 300ms");
  w.idle(59_s);
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().ended);
  CHECK(!w.receiver().ended);
  w.idle(2_s);
  CHECK(w.receiver().ended);
  CHECK(w.sender().cause == Cause::port_down);
  CHECK(w.receiver().cause == Cause::port_down);
  CHECK(w.problems() == "");
}

TEST_CASE("C1: attempts that the sender takes no part in are not counted against it") {
  std::vector<Duration> const delays{500_ms, 2_s, 10_s, 60_s};
  for (Duration const late : delays) {
    CAPTURE(late.ns);
    World w{{.fabric = {.latency = 5_us, .oob_latency = 20_us}}};
    REQUIRE(w.settle());
    w.load(Load::uniform(20, 1000));
    REQUIRE(w.run());
    Proof proof{w, soft::Action::link_down};
    // The receiver sees its port and tries at once; the sender does not hear of it.
    silence(w, 1, late);
    w.inject("link host1.port0 down for 100ms");
    w.idle(late);
    CHECK(w.receiver().counters.path_faults == 1);
    if (late > 2_s) CHECK(w.receiver().counters.arm_attempts > 5);
    // The attempt under way may be one that began before both could talk.
    Time const end = w.now() + 1_s + period + probation + margin;
    for (; !back(w) && w.now() < end;) w.idle(1_ms);
    CHECK(back(w));
    proof.returned();
    w.load(Load::uniform(20, 1000));
    CHECK(w.run());
    CHECK(proof.lacks() == "");
    CHECK(w.problems() == "");
  }
}

TEST_CASE("C2: a GID that comes back at another index, late, or changed is asked for again") {
  struct Case {
    char const* script;
    bool changed;
  };
  for (Case const c : {
           Case{"link host0.port0 down for 200ms\nat 100ms gid host0.port0 move 5", false},
           Case{"link host0.port0 down for 200ms\ngid host0.port0 remove\n"
                "at 3200ms gid host0.port0 move 5",
                false},
           Case{"link host0.port0 down for 200ms\nat 100ms gid host0.port0 new", true},
           Case{"link host1.port0 down for 200ms\nat 100ms gid host1.port0 move 5", false},
           Case{"link host1.port0 down for 200ms\ngid host1.port0 remove\n"
                "at 3200ms gid host1.port0 move 5",
                false},
           Case{"link host1.port0 down for 200ms\nat 100ms gid host1.port0 new", true},
       }) {
    CAPTURE(std::string{c.script});
    World w{{.fabric = {.latency = 5_us}, .connect = false}};
    w.inject("gid host0.port0 move 3\ngid host1.port0 move 3");
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    REQUIRE(w.settle());
    auto const gids = [&w] {
      return std::vector{w.hosts[0]->hooks.described[0].gid, w.hosts[1]->hooks.described[0].gid};
    };
    auto const before = gids();
    Load load = Load::uniform(8000, 1000);
    load.pause = 1_ms;
    w.load(load);
    REQUIRE(w.run_until(10));
    Proof proof{w, soft::Action::link_down};
    Time const begin = w.now();
    w.inject(c.script);
    REQUIRE(w.until([&] { return back(w); }, 8_s));
    proof.returned();
    // A GID that is missing is waited for with a delay that doubles, and has a quarter of jitter:
    // it is found before it has been there for as long as it was missing, and a quarter.
    bool const missing = w.fired(soft::Action::gid_remove) != 0;
    CHECK(w.now() - begin >= (missing ? 3200_ms : 200_ms) + probation);
    CAPTURE((w.now() - begin).ns);
    CHECK(w.now() - begin < (missing ? 3200_ms + 4000_ms : 200_ms + period) + probation + margin);
    CHECK(w.fired(soft::Action::gid_move) + w.fired(soft::Action::gid_new) == 3);
    CHECK((gids() != before) == c.changed);
    w.until([] { return false; }, 100_ms);
    w.wind_up();
    CHECK(w.run());
    CHECK(w.sender().counters.failovers == 1);  // The way back led to where the GID is.
    CHECK(proof.lacks() == "");
    CHECK(w.problems() == "");
  }
}

TEST_CASE("C5: a port that is active again carries nothing until its QPs are new and probed") {
  for (int host = 0; host < 2; ++host) {
    for (char const* fence :
         {"fence any takes 400ms on reset count 4", "fence any takes 400ms on error count 4"}) {
      CAPTURE(host);
      CAPTURE(fence);
      World w{{.fabric = {.latency = 5_us}}};
      REQUIRE(w.settle());
      struct Seen {
        int failed = 0;
        int data = 0;
        int control = 0;
      };
      std::array<Seen, 2> seen{};
      bool active_again = false;
      bool rearmed = false;
      for (std::size_t h = 0; h < 2; ++h) {
        w.hosts[h]->hooks.post = [&, h](PortId p, WorkRequest const& r) {
          if (active_again && !rearmed && p == PortId{0})
            ++(r.traffic == Traffic::control ? seen[h].control : seen[h].data);
          return Errc::ok;
        };
        w.hosts[h]->hooks.completion = [&, h](PortId p, Completion& c) {
          if (active_again && p == PortId{0} && c.status != Status::success &&
              c.status != Status::flushed)
            ++seen[h].failed;
        };
      }
      Load load = Load::uniform(8000, 4096);
      load.pause = 500_us;
      w.load(load);
      REQUIRE(w.run_until(50));
      Proof proof{w, soft::Action::link_down};
      w.inject(std::string{fence} + "\nlink host" + std::to_string(host) + ".port0 down for 100ms");
      w.until([] { return false; }, 110_ms);
      CHECK(w.fired(soft::Action::fence_takes) > 0);
      CHECK(w.receiver().counters.failovers == 0);  // The QPs are still being made quiet.
      std::uint64_t const carried = w.data_bytes(0, 0);
      active_again = true;
      REQUIRE(w.until([&] { return w.receiver().counters.rearms == 1; }, 5_s));
      rearmed = true;
      CHECK(w.data_bytes(0, 0) == carried);
      for (Seen const& s : seen) {
        CHECK(s.data == 0);
        CHECK(s.control > 0);  // The probe, and what else is said.
      }
      REQUIRE(w.until([&] { return back(w); }, 5_s));
      proof.returned();
      w.until([] { return false; }, 100_ms);
      w.wind_up();
      CHECK(w.run());
      CHECK(seen[0].failed + seen[1].failed == 0);
      CHECK(w.posts_not_rts() == 0);
      CHECK(w.sender().counters.failbacks == 1);
      CHECK(proof.lacks() == "");
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("C8: QPs that cannot be used after ERR are made anew, whatever way the ends talk by") {
  struct Way {
    MakeEnds link;
    char const* what;
  };
  for (Way const way : {Way{links::quick, "both"}, Way{links::quick_out_of_band, "pipe"},
                        Way{links::quick_in_band, "paths"}}) {
    for (char const* breaks :
         {"reset host0.port0 breaks", "reset host1.port0 breaks", "reset any breaks"}) {
      CAPTURE(way.what);
      CAPTURE(breaks);
      World w{{.link = way.link, .fabric = {.latency = 5_us}}};
      REQUIRE(w.settle());
      auto const number = [&w](std::size_t h) {
        return w.hosts[h]->hooks.described[0].qp_numbers[0];
      };
      std::uint32_t const before[] = {number(0), number(1)};
      std::size_t const qps = w.queue_pairs();
      Load load = Load::uniform(8000, 1000);
      load.pause = 500_us;
      w.load(load);
      REQUIRE(w.run_until(20));
      Proof proof{w, soft::Action::link_down};
      w.inject(std::string{breaks} + "\nlink host0.port0 down for 200ms");
      CHECK(w.fired(soft::Action::reset_breaks) == 1);
      REQUIRE(w.until([&] { return back(w); }, 5_s));
      proof.returned();
      bool const first = std::string_view{breaks}.find("host1") == std::string_view::npos;
      bool const second = std::string_view{breaks}.find("host0") == std::string_view::npos;
      CHECK((number(0) != before[0]) == first);
      CHECK((number(1) != before[1]) == second);
      CHECK(w.queue_pairs() == qps);
      w.until([] { return false; }, 50_ms);
      w.wind_up();
      CHECK(w.run());
      CHECK(proof.lacks() == "");
      CHECK(w.problems() == "");
    }
  }
}

}  // namespace vccl::test
