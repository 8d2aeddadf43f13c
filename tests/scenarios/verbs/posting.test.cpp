// SPDX-License-Identifier: Apache-2.0
// Posting to libibverbs: queues that are full, chains that are taken in part, bursts of flushes.
#include <support/emulated_verbs/lanes.hpp>
#include <support/proof.hpp>
#include <support/soak.hpp>
#include <support/verbs_link.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace vccl::test {

namespace {

using emulated::Machine;
using emulated::Verb;

}  // namespace

TEST_CASE("F1: a chain that is taken in part goes on from where it stopped, each request once") {
  for (int cut = 0; cut < 8; ++cut) {
    CAPTURE(cut);
    VerbsLanes net;
    REQUIRE(net.connected);
    std::vector<std::uint64_t> taken;
    net.machine.on_send = [&](std::uint32_t, ibv_qp const&, ibv_send_wr const& w) {
      taken.push_back(w.wr_id);
    };
    net.machine.refuse({.verb = Verb::post_send, .error = ENOMEM, .accepts = cut});
    for (std::uint64_t id = 0; id < 8; ++id) CHECK(net.at_a.post(net.write(8, id)) == Errc::ok);
    CHECK(net.at_a.flush() == Errc::would_block);
    CHECK(taken.size() == static_cast<std::size_t>(cut));
    CHECK(net.machine.sends_taken() == taken.size());
    CHECK(net.machine.calls().struck() == 1);
    net.fabric.advance(1_ms);
    auto done = VerbsLanes::poll(net.at_a);  // Rings again.
    net.fabric.advance(1_ms);
    for (Completion const& c : VerbsLanes::poll(net.at_a)) done.push_back(c);
    CHECK(taken == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7});
    REQUIRE(done.size() == 8);
    for (std::uint64_t id = 0; id < 8; ++id) {
      CHECK(done[id].id == id);
      CHECK(done[id].status == Status::success);
    }
    CHECK(net.machine.violations() == "");
  }
}

TEST_CASE("F1: a chain that is refused for good in the middle fails over, and nothing is doubled") {
  for (int const error : {EINVAL, EIO, ENOMEM}) {
    for (int cut = 0; cut < 8; ++cut) {
      CAPTURE(error);
      CAPTURE(cut);
      World w{apart()};
      REQUIRE(w.settle());
      w.load(Load::uniform(100, 500, 8));
      REQUIRE(w.run_until(20));
      machine().refuse(
          {.verb = Verb::post_send, .error = error, .host = 0, .accepts = cut, .device = "emu0_0"});
      CHECK(w.run(5_s));
      CHECK(machine().calls().struck() == 1);
      CHECK(w.sender().counters.failovers == (error == ENOMEM ? 0 : 1));
      CHECK(w.received() == 100);
      CHECK(w.problems() == "");
      CHECK(machine().violations() == "");
    }
  }
}

TEST_CASE("F2: 300 sends through a pool of 256 complete in order, also those that fail over") {
  World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  Load load = Load::uniform(300, 64);
  load.depth = 64;
  load.ahead = 300;
  w.paused[static_cast<std::size_t>(End::receiver)] = true;
  Proof proof{w, soft::Action::link_down};
  w.load(load);
  w.until([] { return false; }, 10_ms);
  CHECK(w.posted() == 256);  // No free request: later.
  w.paused[static_cast<std::size_t>(End::receiver)] = false;
  w.inject("after step 100 link host0.port0 down for 200ms");
  CHECK(w.run());
  CHECK(w.received() == 300);
  CHECK(w.sent() == 300);
  REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
  proof.returned();
  w.load(Load::uniform(10, 64));
  CHECK(w.run());
  CHECK(proof.lacks() == "");
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

TEST_CASE("F3: every completion of full queues fits the CQ, when they flush all at once") {
  for (std::uint32_t const cq_depth : {0u, 100u}) {
    CAPTURE(cq_depth);
    VerbsLanes net{{.qps = 4, .send_depth = 64, .receive_depth = 32, .cq_depth = cq_depth}};
    REQUIRE(net.connected);
    net.fabric.inject("hold any host0.port0 for 1s");
    for (std::uint8_t qp = 0; qp < 4; ++qp) {
      for (std::uint64_t i = 0; i < 64; ++i) CHECK(net.at_a.post(net.write(8, i, qp)) == Errc::ok);
      for (std::uint64_t i = 0; i < 32; ++i) CHECK(net.at_a.post_receive(qp, i) == Errc::ok);
    }
    CHECK(net.at_a.flush() == Errc::ok);
    CHECK(net.at_a.post_receive(0, 1) == Errc::would_block);
    CHECK(net.at_a.fence(FenceStep::error) == Errc::ok);
    PortEvent e;
    if (cq_depth == 0) {
      CHECK(VerbsLanes::poll(net.at_a).size() == 4 * (64 + 32));
      CHECK_FALSE(net.a.poll_event(e));
    } else {  // What a CQ that is too small does.
      REQUIRE(net.a.poll_event(e));
      CHECK(e.kind == PortEvent::Kind::cq_error);
      CHECK(VerbsLanes::poll(net.at_a).size() == 100);
    }
    CHECK(net.machine.violations() == "");
  }
}

TEST_CASE("F3: a CQ that the device cannot make is an error of setting up") {
  CHECK_THROWS_AS((VerbsLanes{{.qps = 4, .cq_depth = (1u << 22) + 1}}), SetupError);
  CHECK(Machine::last_words() == "");
}

TEST_CASE("F5: a queue that carries CTS only is signaled often enough, also after a failover") {
  std::size_t const steps = soak_count(20'000, 1'000'000);
  Route route{PortId{0}};
  route.send_depth = 128;
  World w{{.link = links::verbs, .fabric = {.latency = 5_us}, .sender = route, .receiver = route}};
  REQUIRE(w.settle());
  struct Run {
    std::uint64_t unsignaled = 0, longest = 0, all = 0;
  };
  std::map<std::uint32_t, Run> runs;
  machine().on_send = [&](std::uint32_t host, ibv_qp const& qp, ibv_send_wr const& r) {
    if (host != 1) return;
    Run& run = runs[qp.qp_num];
    ++run.all;
    run.unsignaled = (r.send_flags & IBV_SEND_SIGNALED) != 0 ? 0 : run.unsignaled + 1;
    run.longest = std::max(run.longest, run.unsignaled);
  };
  Proof proof{w, soft::Action::link_down};
  w.inject("after step 5000 link host1.port0 down for 200ms");
  for (std::size_t done = 0; done < steps; done += 5000) {
    w.load(Load::uniform(5000, 0));
    CHECK(w.run());
  }
  REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
  proof.returned();
  w.load(Load::uniform(1000, 0));
  CHECK(w.run());
  CHECK(proof.lacks() == "");
  CHECK(machine().no_room() == 0);
  std::size_t busy = 0;
  for (auto const& [qp, run] : runs) {
    CHECK(run.longest <= 64);  // Half of the queue.
    busy += run.all > 500 ? 1 : 0;
  }
  CHECK(busy >= 2);  // Both paths.
  CHECK(w.problems() == "");
}

TEST_CASE("F6: owner and service thread never use a queue at once") {
  World w{{.link = links::verbs, .virtual_time = false}};
  REQUIRE(w.settle(5_s));
  std::size_t const flaps = soak_count(3, 100);
  std::vector<std::uint64_t> from(64), into(64);
  Memory const source = w.ends->register_memory(End::sender, from.data(), 512, MemoryKind::host);
  Memory const target = w.ends->register_memory(End::receiver, into.data(), 512, MemoryKind::host);
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> received = 0;
  std::atomic<bool> failed = false;
  std::thread receiver{[&] {
    while (!over && !failed) {
      RecvOp const op{target, Tag{0}};
      Request const r = w.ends->irecv({&op, 1});
      if (!r) continue;
      Result got;
      while (!got.done && !over) got = w.ends->test(End::receiver, r);
      if (!got.done) break;
      failed = failed || got.error != Errc::ok;
      ++received;
    }
  }};
  std::thread sender{[&] {
    while (!over && !failed) {
      Request const r = w.ends->isend(source, Tag{0});
      if (!r) continue;
      Result sent;
      while (!sent.done && !over) sent = w.ends->test(End::sender, r);
      failed = failed || (sent.done && sent.error != Errc::ok);
    }
  }};
  auto const wait_for = [&](auto condition) {
    Time const end = w.now() + 60_s;
    bool good = condition();
    while (!good && w.now() < end) {
      std::this_thread::yield();
      good = condition();
    }
    CHECK(good);
  };
  for (std::size_t n = 0; n < flaps; ++n) {
    wait_for([&] { return w.ends->status(End::sender).counters.failbacks == n; });
    std::uint64_t const before = received;
    w.inject("link host0.port0 down");  // Until it is noticed, however busy the machine is.
    wait_for([&] { return w.ends->status(End::sender).counters.failovers == n + 1; });
    w.inject("link host0.port0 up");
    wait_for([&] { return received > before + 100; });
  }
  wait_for([&] { return w.ends->status(End::sender).counters.failbacks == flaps; });
  over = true;
  receiver.join();
  sender.join();
  CHECK_FALSE(failed);
  CHECK(w.fired(soft::Action::link_down) == flaps);
  CHECK(machine().violations() == "");
}

TEST_CASE("F8: a post that is refused for now, whichever it is, is made good; then one for good") {
  for (std::uint64_t nth = 1; nth <= 97; ++nth) {
    CAPTURE(nth);
    World w{apart()};
    REQUIRE(w.settle());
    machine().refuse({.verb = Verb::post_send, .from = nth, .error = ENOMEM, .host = 0});
    w.load(Load::uniform(120, 4096));
    CHECK(w.run(2_s));
    CHECK(machine().calls().struck() == 1);
    CHECK(w.sender().counters.path_faults == 0);
    // Every place of the send queue is free again: the same once more.
    w.load(Load::uniform(120, 4096));
    CHECK(w.run(2_s));
    CHECK(machine().no_room() == 0);
    machine().refuse({.verb = Verb::post_send,
                      .from = nth,
                      .count = 0,
                      .error = EIO,
                      .host = 0,
                      .device = "emu0_0"});
    w.load(Load::uniform(120, 4096));
    CHECK(w.run(5_s));
    CHECK(machine().calls().struck() > 1);
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");
  }
}

TEST_CASE("F9: what is posted to a QP that has died unnoticed is sent again on the backup, once") {
  World w{apart()};
  REQUIRE(w.settle());
  Load load = Load::uniform(400, 1000);
  w.load(load);
  REQUIRE(w.run_until(50));
  Proof proof{w, soft::Action::qp_fatal};
  std::uint64_t const before = w.posts_not_rts();
  // The event is late: the owner goes on posting first.
  w.service_period = 20_ms;
  w.inject("qp host0.port0 fatal");
  w.service_period = 1_ms;
  REQUIRE(w.until([&] { return w.sender().counters.failovers == 1; }, 5_s));
  std::uint64_t const lost = w.posts_not_rts() - before;
  CHECK(lost > 0);
  CHECK(w.run());
  CHECK(w.posts_not_rts() - before == lost);  // None after it was noticed.
  CHECK(w.received() == 400);
  REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
  proof.returned();
  w.load(Load::uniform(10, 64));
  CHECK(w.run());
  CHECK(proof.lacks() == "");
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

}  // namespace vccl::test
