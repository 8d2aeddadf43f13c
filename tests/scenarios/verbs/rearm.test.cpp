// SPDX-License-Identifier: Apache-2.0
// Queue pairs of libibverbs that are used again, or made again, after a fault.
#include <support/emulated_verbs/lanes.hpp>
#include <support/proof.hpp>
#include <support/soak.hpp>
#include <support/verbs_link.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

using emulated::Machine;

/// Loses the primary and waits for the way back, `times`, under steady load.
void flap(World& w, std::size_t times) {
  Load load = Load::uniform(400 * times, 1000);
  load.pause = 1_ms;
  w.load(load);
  REQUIRE(w.run_until(20));
  for (std::size_t n = 1; n <= times; ++n) {
    w.inject("link host0.port0 down for 80ms");
    REQUIRE(w.until(
        [&] { return w.sender().counters.failbacks == n && w.receiver().counters.failbacks == n; },
        5_s));
  }
  w.wind_up();
  CHECK(w.run());
  CHECK(w.received() == w.sent());
}

}  // namespace

TEST_CASE("C7: however often the primary flaps, the devices hold what they held at first") {
  std::size_t const times = soak_count(8, 200);
  for (bool const clears : {true, false}) {
    CAPTURE(clears);
    {
      VerbsSetup setup;
      setup.habits.clears_cq = clears;
      VerbsScope const scope{setup};
      World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
      REQUIRE(w.settle());
      Proof proof{w, soft::Action::link_down};
      w.load(Load::uniform(1, 8));
      CHECK(w.run());
      std::size_t const queues = w.queue_pairs();
      flap(w, times);
      CHECK(w.queue_pairs() == queues);
      CHECK(machine().made("CQ") == 4);  // RESET heals: nothing is made again.
      CHECK(machine().made("QP") == 8);
      CHECK(w.fired(soft::Action::link_down) == times);
      proof.returned();
      w.load(Load::uniform(50, 1000));
      CHECK(w.run());
      CHECK(proof.lacks() == "");
      CHECK(w.problems() == "");
    }
    CHECK(Machine::last_words() == "");
  }
}

TEST_CASE("C8: QPs that RESET does not heal are made again, and the peer is told their numbers") {
  for (std::string const host : {"host0", "host1"}) {
    CAPTURE(host);
    {
      World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
      REQUIRE(w.settle());
      Proof proof{w, soft::Action::reset_breaks};
      std::uint32_t const before =
          w.hosts[host == "host0" ? 0 : 1]->hooks.described[0].qp_numbers[0];
      w.inject("reset " + host + ".port0 breaks");
      flap(w, 2);
      std::uint32_t const after =
          w.hosts[host == "host0" ? 0 : 1]->hooks.described[0].qp_numbers[0];
      CHECK(after != before);
      CHECK(machine().made("QP") > 8);
      auto const there = transitions(host == "host0" ? 1 : 0, 0, IBV_QPS_RTR);
      CHECK(there.back().attributes.dest_qp_num == after);
      CHECK(w.queue_pairs() == 8);
      proof.returned();
      w.load(Load::uniform(50, 1000));
      CHECK(w.run());
      CHECK(proof.lacks() == "");
      CHECK(w.problems() == "");
    }
    CHECK(Machine::last_words() == "");
  }
}

TEST_CASE("E3: completions that nobody polled before RESET are of no later life") {
  for (bool const clears : {true, false}) {
    CAPTURE(clears);
    VerbsLanes net{{}, {.reuse_qp_numbers = true}, {}};
    net.machine.habits.clears_cq = clears;
    REQUIRE(net.connected);
    for (int life = 0; life < 4; ++life) {
      CAPTURE(life);
      for (std::uint64_t i = 0; i < 5; ++i) {
        CHECK(net.at_b.post_receive(0, 100 + i) == Errc::ok);
        WorkRequest w = net.write(8, i);
        w.kind = WorkRequest::Kind::write_with_immediate;
        CHECK(net.at_a.post(w) == Errc::ok);
      }
      CHECK(net.at_a.flush() == Errc::ok);
      net.fabric.advance(1_ms);
      if (life != 3) {  // Five of each end stay unpolled; in one life everything was flushed.
        for (VerbsLane* lane : {&net.at_a, &net.at_b}) {
          if (life == 1) CHECK(lane->fence(FenceStep::error) == Errc::ok);
          CHECK(lane->fence(FenceStep::reset) == Errc::ok);
        }
        CHECK(VerbsLanes::poll(net.at_a).empty());
        CHECK(net.at_a.describe(net.address_a) == Errc::ok);
        CHECK(net.at_b.describe(net.address_b) == Errc::ok);
        CHECK(VerbsLanes::poll(net.at_a).empty());
        CHECK(net.at_a.connect(net.address_b) == Errc::ok);
        CHECK(net.at_b.connect(net.address_a) == Errc::ok);
        CHECK(VerbsLanes::poll(net.at_b).empty());
      }
    }
    CHECK(VerbsLanes::poll(net.at_a).size() == 5);
    CHECK(VerbsLanes::poll(net.at_b).size() == 5);
    CHECK(net.machine.violations() == "");
  }
}

TEST_CASE("E4: packet numbers are new and random in each life") {
  std::size_t const lives = soak_count(1000, 10'000);
  VerbsLanes net;
  REQUIRE(net.connected);
  std::vector<std::uint32_t> numbers;
  for (std::size_t n = 0; n < lives; ++n) {
    CHECK(net.at_a.fence(FenceStep::reset) == Errc::ok);
    CHECK(net.at_a.describe(net.address_a) == Errc::ok);
    CHECK(net.at_a.connect(net.address_b) == Errc::ok);
    numbers.push_back(net.address_a.packet_numbers[0]);
  }
  std::size_t repeats = 0;
  std::uint64_t sum = 0;
  for (std::size_t n = 0; n < lives; ++n) {
    std::size_t const from = n < 16 ? 0 : n - 16;
    auto const at = numbers.begin() + static_cast<std::ptrdiff_t>(n);
    auto const first = numbers.begin() + static_cast<std::ptrdiff_t>(from);
    if (std::find(first, at, *at) != at) ++repeats;
    sum += *at;
    CHECK(*at <= 0xff'ffff);
  }
  CHECK(repeats == 0);
  // The mean of n numbers of 24 bits is half of 2^24, give or take 2^24 / sqrt(12 n).
  double const mean = static_cast<double>(sum) / static_cast<double>(lives) / (1 << 24);
  CHECK(mean > 0.45);
  CHECK(mean < 0.55);
  // What the device was told is what the peer is told.
  auto const told = transitions(0, 0, IBV_QPS_RTS);
  CHECK(told.size() == lives + 1);
  CHECK(told.back().attributes.sq_psn == numbers.back());
  CHECK(net.machine.violations() == "");
}

}  // namespace vccl::test
