// SPDX-License-Identifier: Apache-2.0
// Long round trips, NICs that keep another time than the formula says, one bad queue pair of four.
#include <support/world.hpp>
#include <vccl/concepts.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace vccl::test {

TEST_CASE("M6: a round trip of up to 100 ms is no fault, busy or waiting") {
  for (Duration const one_way : {1_ms, 5_ms, 20_ms, 40_ms, 50_ms}) {
    for (MemoryKind const kind : {MemoryKind::host, MemoryKind::device}) {
      CAPTURE(one_way.ns);
      CAPTURE(static_cast<int>(kind));
      World w{{.fabric = {.latency = one_way, .oob_latency = one_way}}};
      REQUIRE(w.settle());
      Load load = Load::uniform(200, 5000);
      load.kind = kind;
      w.load(load);
      CHECK(w.run());
      // Steps with long pauses, so that both ends wait and probe.
      load = Load::uniform(20, 5000);
      load.kind = kind;
      load.depth = 2;
      load.pause = 700_ms;
      w.load(load);
      w.sends_at_most = 10;
      REQUIRE(w.run_until(10));
      w.until([] { return false; }, 3_s);  // The receiver waits for data,
      w.sends_at_most = World::none;
      CHECK(w.run());
      std::array<std::uint64_t, 64> words{};
      Memory const m = w.ends->register_memory(End::sender, words.data(), 512, MemoryKind::host);
      REQUIRE(w.ends->isend(m, Tag{99}));
      w.until([] { return false; }, 3_s);  // and the sender for a CTS.
      for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
        CHECK(s.counters.probes > 0);
        CHECK(s.counters.path_faults == 0);
        CHECK(s.counters.failovers == 0);
        CHECK(s.epoch == 1);
      }
      CHECK(w.received() == 220);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("M6: with such a round trip a lost path is left, and returned to") {
  for (Duration const one_way : {20_ms, 50_ms}) {
    CAPTURE(one_way.ns);
    World w{{.fabric = {.latency = one_way, .oob_latency = one_way}}};
    REQUIRE(w.settle());
    w.load(Load::uniform(300, 5000));
    REQUIRE(w.run_until(50));
    w.inject("link host0.port0 down for 300ms");
    CHECK(w.run());
    CHECK(w.until([&] { return w.sender().counters.failbacks == 1; }, 20_s));
    CHECK(w.fired(soft::Action::link_down) == 1);
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.sender().counters.path_faults == 1);
    CHECK(w.received() == 300);
    CHECK(w.problems() == "");
  }
}

TEST_CASE("M6: a probe or an answer to it that is lost is no dead path") {
  for (char const* what :
       {"control host1.port0", "ack host0.port0", "control host0.port0", "ack host1.port0"}) {
    for (int lost = 1; lost <= 2; ++lost) {
      CAPTURE(what);
      CAPTURE(lost);
      World w{{.fabric = {.latency = 10_us}}};
      REQUIRE(w.settle());
      w.load(Load::uniform(20, 500));
      w.sends_at_most = 5;
      REQUIRE(w.run_until(5));
      REQUIRE(w.until([&] { return w.sent() == 5; }));
      w.inject(std::string{"drop "} + what + " count " + std::to_string(lost));
      // The receiver waits for data; then the sender waits for a CTS.
      w.until([] { return false; }, 1_s);
      w.sends_at_most = World::none;
      CHECK(w.run());
      Memory const nothing{};
      REQUIRE(w.ends->isend(nothing, Tag{99}));
      w.until([] { return false; }, 1_s);
      CHECK(w.fired(soft::Action::drop) == static_cast<std::uint64_t>(lost));
      for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
        CHECK(s.counters.probes > 0);
        CHECK(s.counters.path_faults == 0);
      }
      CHECK(w.problems() == "");
    }
  }
}

namespace {

/// How long a NIC takes to give a dead path up, as a connection without a backup is told.
Duration gives_up_after(std::uint32_t percent) {
  World w{{.link = links::plain, .fabric = {.latency = 10_us, .timeout_percent = percent}}};
  REQUIRE(w.settle());
  w.load(Load::uniform(10, 500));
  w.inject("drop data host0.port0");
  Time const begin = w.now();
  CHECK(w.until([&] { return w.sender().ended; }, 10_s));
  CHECK(w.sender().cause == Cause::retry_exceeded);
  return w.now() - begin;
}

}  // namespace

TEST_CASE("M6: a NIC that takes 0.3 or 3 times the formula's time changes no verdict") {
  for (std::uint32_t const percent : {30u, 100u, 300u}) {
    CAPTURE(percent);
    // What the formula says, and what the NIC does.
    Duration const formula = Timing{}.nic_retry_window();
    Duration const real = gives_up_after(percent);
    CHECK(real > formula * percent / 100 - 10_ms);
    CHECK(real < formula * percent / 100 + 10_ms);

    // A packet lost here and there, a port down for less than the hold: calm.
    for (char const* script :
         {"every 20 drop data host0.port0 count 4", "every 20 drop ack host1.port0 count 4",
          "link host0.port0 down for 45ms"}) {
      World w{{.fabric = {.latency = 10_us, .timeout_percent = percent}}};
      REQUIRE(w.settle());
      Load load = Load::uniform(500, 500);
      load.pause = 200_us;
      w.load(load);
      w.inject(script);
      CHECK(w.run());
      CHECK(w.fired(soft::Action::drop) + w.fired(soft::Action::link_down) > 0);
      CHECK(w.sender().counters.path_faults == 0);
      CHECK(w.receiver().counters.path_faults == 0);
      CHECK(w.problems() == "");
    }

    // A dead path behind live ports is left in the time that the bundle says, not the NIC's: by
    // stall and answer, or by the NIC where it is faster.
    for (char const* script : {"drop any host0.port0", "drop any host1.port0"}) {
      World w{{.fabric = {.latency = 10_us, .timeout_percent = percent}}};
      REQUIRE(w.settle());
      w.load(Load::uniform(500, 500));
      REQUIRE(w.run_until(100));
      w.inject(script);
      Time const begin = w.now();
      REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
      CHECK(w.now() - begin >= 300_ms);
      CHECK(w.now() - begin < 450_ms);
      CHECK(w.run());
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.problems() == "");
    }
  }
}

namespace {

Route four_qps() {
  Route route{PortId{0}};
  route.qps_per_lane = 4;
  return route;
}

}  // namespace

TEST_CASE("M8: a delay on one queue pair of four delays its steps, and disorders nothing") {
  for (char const* by : {"100us", "5ms", "60ms"}) {
    CAPTURE(by);
    World w{{.fabric = {.latency = 10_us}, .sender = four_qps(), .receiver = four_qps()}};
    std::map<std::uint64_t, Time> posted;
    std::array<Duration, 4> longest{};
    std::array<Duration, 4> shortest{1_s, 1_s, 1_s, 1_s};
    w.hosts[0]->hooks.post = [&](PortId, WorkRequest const& wr) {
      if (wr.traffic == Traffic::data) posted[wr.id] = w.now();
      return Errc::ok;
    };
    std::array<std::uint32_t, 4> numbers{};
    w.hosts[0]->hooks.completion = [&](PortId, Completion& c) {
      auto const it = posted.find(c.id);
      if (it == posted.end() || c.status != Status::success) return;
      std::size_t q = 0;
      while (q < 3 && numbers[q] != c.qp_num && numbers[q] != 0) ++q;
      numbers[q] = c.qp_num;
      Duration const took = w.now() - it->second;
      longest[q] = std::max(longest[q], took);
      shortest[q] = std::min(shortest[q], took);
    };
    REQUIRE(w.settle());
    // Four steps at a time, a packet each and in turn: every fourth is of the first queue pair.
    Load load = Load::uniform(400, 500);
    load.depth = 4;
    w.load(load);
    w.inject(std::string{"every 4 delay data host0.port0 by "} + by);
    CHECK(w.run());
    CHECK(w.fired(soft::Action::delay) == 100);
    std::size_t slow = 0;
    for (std::size_t q = 0; q < 4; ++q)
      if (shortest[q] > 100_us) ++slow;
    CHECK(slow == 1);
    CHECK(w.received() == 400);
    CHECK(w.sender().counters.path_faults == 0);
    CHECK(w.problems() == "");
  }
}

TEST_CASE("M8: an error on one queue pair of four takes the whole path, at both ends alike") {
  for (End const end : {End::sender, End::receiver}) {
    for (std::uint64_t const bytes : {std::uint64_t{500}, std::uint64_t{300'000}}) {
      CAPTURE(static_cast<int>(end));
      CAPTURE(bytes);
      World w{{.fabric = {.latency = 10_us}, .receiver = four_qps(), .connect = false}};
      std::array<std::array<std::uint32_t, 4>, 2> numbers{};  // Of the primary, by host.
      std::array<std::size_t, 2> quiet{};
      bool armed = false;
      std::uint64_t fired = 0;
      for (std::size_t h = 0; h < 2; ++h) {
        w.hosts[h]->hooks.address = [&, h](LaneAddress& a) {
          if (soft::gid_parts(a.gid).port == 0) numbers[h] = a.qp_numbers;
        };
        w.hosts[h]->hooks.fence = [&, h](PortId p, FenceStep step) {
          if (p == PortId{0} && step == FenceStep::reset) ++quiet[h];
        };
        w.hosts[h]->hooks.completion = [&, h](PortId, Completion& c) {
          bool const sent = c.kind == Completion::Kind::sent && c.qp_num == numbers[h][0];
          if (!armed || !sent || h != static_cast<std::size_t>(end)) return;
          armed = false;
          ++fired;
          c.status = Status::retry_exceeded;
        };
      }
      w.ends->accept();
      w.ends->connect(four_qps(), w.ends->handle());
      REQUIRE(w.settle());
      w.load(Load::uniform(200, bytes));
      REQUIRE(w.run_until(50));
      armed = true;
      REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
      CHECK(fired == 1);
      // None of the four goes on.
      CHECK(quiet == std::array<std::size_t, 2>{1, 1});
      std::uint64_t const before = w.data_bytes(0, 0);
      CHECK(w.run());
      CHECK(w.data_bytes(0, 0) == before);
      for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
        CHECK(s.active_path == 1);
        CHECK(s.epoch == 2);
        CHECK(s.counters.failovers == 1);
        CHECK(s.counters.path_faults == 1);
      }
      REQUIRE(w.until([&] { return w.sender().counters.failbacks == 1; }));
      std::array<std::uint64_t, 4> messages{};
      for (std::size_t q = 0; q < 4; ++q) messages[q] = w.fabric().messages_by_qp(numbers[0][q]);
      w.load(Load::uniform(200, bytes));
      CHECK(w.run());
      for (std::size_t q = 0; q < 4; ++q)
        CHECK(w.fabric().messages_by_qp(numbers[0][q]) >= messages[q] + 50);
      CHECK(w.received() == 400);
      CHECK(w.problems() == "");
    }
  }
}

}  // namespace vccl::test
