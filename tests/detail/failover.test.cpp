// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/failover.hpp>

#include <detail/failover_rig.hpp>
#include <doctest/doctest.h>

#include <vector>

using namespace vccl;
using namespace vccl::literals;
using test::FakeEnd;
using test::Pair;
using Kind = Event::Kind;
using Phase = sync::receiver_decides::Phase;

// Of the bundle Resilient: port hold 50 ms, stall 200 ms, answer 100 ms, first attempt after 200 ms
// (the rig's chance adds no jitter), good for 1 s.

namespace {
using Sender = FakeEnd<End::sender>;
using Receiver = FakeEnd<End::receiver>;

struct Stays : Resilient {
  using Failback = failback::Never;
};
/// An outage ends it after a second.
struct Impatient : Resilient {
  static constexpr Timing timing{.outage = 1_s};
};

/// Both ends on path 1, path 0 dead.
template <class P>
void fail_over(P& both) {
  both.kill(0);
  both.pass(10);
  REQUIRE(both.sender.status().active_path == 1);
  REQUIRE(both.receiver.status().active_path == 1);
}
}  // namespace

TEST_CASE_TEMPLATE("an end that waits for 200 ms without a sign of life probes its path", E, Sender,
                   Receiver) {
  E at;
  at.waiting = true;
  at.pass(199);
  CHECK(at.path(0).probes.empty());
  at.pass(2);
  CHECK(at.path(0).probes.size() == 1);
  CHECK(at.path(1).probes.empty());
  CHECK(at.status().counters.probes == 1);
  SUBCASE("an answer is as good as progress") {
    at.answer(0);
    at.pass(150);
    CHECK(at.path(0).probes.empty());
    CHECK_FALSE(at.lost(0));
    at.pass(60);
    CHECK(at.path(0).probes.size() == 1);
  }
  SUBCASE("no answer for 100 ms is a fault, and three records behind the probe were in vain") {
    std::size_t const said = at.path(0).said.size();
    at.pass(98);
    CHECK(at.path(0).said.size() == said + 3);
    CHECK_FALSE(at.lost(0));
    at.pass(3);
    CHECK(at.lost(0));
    CHECK(at.status().path_causes[0] == Cause::stall);
  }
  SUBCASE("what comes through meanwhile gives the probe time") {
    at.pass(90);
    ++at.life;
    at.pass(95);
    CHECK_FALSE(at.lost(0));
    at.pass(10);
    CHECK(at.lost(0));
  }
}

TEST_CASE("a probe is answered when every queue has answered") {
  Receiver at;
  at.waiting = true;
  at.path(0).lanes = 2;
  at.pass(201);
  REQUIRE(at.path(0).probes.size() == 2);
  at.driver.on_probe_done(at, 0, 1);
  at.pass(101);
  CHECK(at.lost(0));
}

TEST_CASE("an end that waits for nothing does not probe") {
  Receiver at;
  at.pass(2'000);
  CHECK(at.status().counters.probes == 0);
  CHECK(at.status().counters.path_faults == 0);
}

TEST_CASE("progress puts the probe off") {
  Receiver at;
  at.waiting = true;
  for (int i = 0; i < 10; ++i) {
    at.pass(150);
    ++at.life;
  }
  CHECK(at.status().counters.probes == 0);
}

TEST_CASE("what is outstanding may take its time at the slowest speed before it is a stall") {
  Sender at;
  at.waiting = true;
  at.outstanding = 10'000'000;  // A second.
  at.pass(1'190);
  CHECK(at.status().counters.probes == 0);
  at.pass(15);
  CHECK(at.status().counters.probes == 1);
  at.pass(1'090);
  CHECK_FALSE(at.lost(0));
  at.pass(15);
  CHECK(at.lost(0));
}

TEST_CASE("an answer on a path that is not in use says nothing of the one that is") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.pass(300);
  REQUIRE(both.receiver.driver.machine().common().is_up(0));
  both.open[1] = false;  // The backup dies without a sign, while the primary proves itself.
  both.pipe = false;
  both.receiver.waiting = true;
  both.pass(320);
  CHECK(both.receiver.lost(1));
  CHECK(both.receiver.status().path_causes[1] == Cause::stall);
}

// ---- Ports

TEST_CASE("a receiver leaves a path that has lost what the sender's NIC knows to be acknowledged") {
  Pair p;
  p.receiver.waiting = true;
  p.receiver.at = {.done = 3, .tail = 8};
  p.sender.at = {.done = 3, .tail = 3};
  p.pass(10'000);
  CHECK(p.receiver.status().counters.path_faults == 0);  // It only waits for a slow application.

  p.sender.at.tail = 5;
  p.pass(2'500);
  CHECK(p.receiver.status().path_causes[0] == Cause::stall);
  CHECK(p.receiver.status().counters.failovers == 1);
  REQUIRE(p.sender.switches.size() == 1);
  CHECK(p.sender.switches[0].position == 3);

  p.sender.at.tail = 3;  // Of the new epoch.
  p.pass(10'000);
  CHECK(p.receiver.status().path_causes[1] == Cause::none);
}

TEST_CASE("what the receiver's NIC hands over late is not lost") {
  Pair p;
  p.receiver.waiting = true;
  p.receiver.at = {.done = 3, .tail = 8};
  p.sender.at = {.done = 3, .tail = 5};
  for (int n = 0; n < 10; ++n) {
    p.pass(1'000);
    ++p.receiver.at.done;
    ++p.sender.at.tail;
  }
  CHECK(p.receiver.status().counters.path_faults == 0);
}

TEST_CASE("a port that is down for 50 ms loses its path, whether it is in use or not") {
  for (PathId q : {PathId{0}, PathId{1}}) {
    CAPTURE(q);
    Receiver at;
    at.ports[q] = {.down = true, .down_for = 49_ms};
    at.serve();
    CHECK_FALSE(at.lost(q));
    at.ports[q].down_for = 50_ms;
    at.serve();
    CHECK(at.lost(q));
    CHECK(at.status().path_causes[q] == Cause::port_down);
    at.pass(20);
    CHECK(at.status().counters.path_faults == 1);
    CHECK(at.status().active_path == (q == 0 ? 1 : 0));
  }
}

TEST_CASE("an outage is counted from when the port went down") {
  Receiver at;
  at.at.done = 1;
  at.ports[0] = {.down = true, .down_for = 60_ms};
  at.pass(10);
  at.at.done = 2;
  at.pass(1);
  CHECK(at.status().outage >= 65_ms);
  CHECK(at.status().outage <= 75_ms);
}

// ---- Deadlines

TEST_CASE("no usable path for the outage time ends it at both ends, with what began it") {
  Pair<Impatient> both;
  both.kill(0);
  both.kill(1);
  both.receiver.waiting = both.sender.waiting = true;
  both.pass(900);
  CHECK_FALSE(both.sender.driver.ending());
  CHECK_FALSE(both.receiver.driver.ending());
  both.pass(200);
  REQUIRE(both.sender.finishes.size() == 1);
  REQUIRE(both.receiver.finishes.size() == 1);
  CHECK(both.sender.finishes[0].cause == Cause::retry_exceeded);
  CHECK(both.receiver.finishes[0].cause == Cause::retry_exceeded);
}

TEST_CASE("an outage that ends in time is none, and the next has all its time again") {
  Pair<Impatient> both;
  both.receiver.waiting = both.sender.waiting = true;
  for (int i = 0; i < 3; ++i) {
    both.kill(0);
    both.kill(1);
    both.pass(700);
    both.open = {true, true, true};
    both.pass(500);
    ++both.receiver.at.done;
    ++both.sender.at.done;
    both.pass(10);
    CHECK(both.receiver.status().usable_paths == 0b11);
  }
  CHECK_FALSE(both.sender.driver.ending());
  CHECK_FALSE(both.receiver.driver.ending());
}

TEST_CASE_TEMPLATE("an end that the peer does not answer is over after its part of the linger time",
                   E, Sender, Receiver) {
  E at;
  at.driver.close(at);
  at.pass(749);
  CHECK(at.finishes.empty());
  at.pass(2);
  REQUIRE(at.finishes.size() == 1);
  CHECK(at.finishes[0].cause == Cause::closed);
  CHECK_FALSE(at.finishes[0].final_position);
  at.pass(5'000);
  CHECK(at.finishes.size() == 1);
}

TEST_CASE("what is awaited is repeated after 1, 2, 4 ms and so on up to every 50 ms") {
  Sender at;
  at.fail(0);
  std::vector<std::int64_t> said;  // Milliseconds.
  for (std::int64_t ms = 0; ms < 400; ++ms) {
    at.serve();
    if (!at.piped.empty()) said.push_back(ms);
    at.piped.clear();
    at.time = at.time + 1_ms;
  }
  CHECK(said == std::vector<std::int64_t>{0, 1, 3, 7, 15, 31, 63, 113, 163, 213, 263, 313, 363});
}

TEST_CASE("what has been answered is not repeated") {
  Pair<> both;
  fail_over(both);
  both.pass(100);
  std::uint64_t const sent = both.sender.status().counters.messages_sent;
  both.pass(80);
  CHECK(both.sender.status().counters.messages_sent == sent);
}

TEST_CASE("messages that get lost are made good by the ones that follow") {
  Pair<> both;
  both.pipe = false;
  both.open = {false, false, true};
  both.sender.fail(0);
  both.pass(60);
  CHECK(both.receiver.status().active_path == 0);
  both.pipe = true;
  both.pass(55);
  CHECK(both.receiver.status().active_path == 1);
  CHECK(both.sender.status().active_path == 1);
}

// ---- Failback

TEST_CASE("a path that heals is brought up, proves itself for a second, and is returned to") {
  Pair<> both;
  both.sender.at = {.done = 4, .tail = 4};
  both.receiver.at = {.done = 4, .tail = 6};
  fail_over(both);
  both.open[0] = true;
  both.pass(170);
  CHECK(both.receiver.status().counters.arm_attempts == 0);
  both.pass(60);
  CHECK(both.receiver.status().counters.arm_attempts == 1);
  CHECK(both.receiver.driver.machine().common().is_up(0));
  CHECK(both.sender.driver.machine().common().is_up(0));
  CHECK(both.sender.path(0).peer[0].qp_numbers[0] == 2);  // Of the new number.
  CHECK(both.receiver.path(0).peer[0].qp_numbers[0] == 2);
  CHECK(both.receiver.count(Kind::rearmed) == 1);
  CHECK(both.receiver.status().has_backup);
  both.pass(900);
  CHECK(both.receiver.status().active_path == 1);
  CHECK(both.receiver.status().counters.probes >= 4);  // One armed it, three of four proved it.
  both.pass(200);
  CHECK(both.receiver.status().active_path == 0);
  CHECK(both.sender.status().active_path == 0);
  CHECK(both.receiver.status().counters.failovers == 1);
  CHECK(both.receiver.status().counters.failbacks == 1);
  CHECK(both.sender.status().counters.failbacks == 1);
  CHECK(both.receiver.count(Kind::returned) == 1);
  CHECK(both.receiver.count(Kind::switched) == 1);
  REQUIRE(both.sender.switches.size() == 2);
  CHECK(both.sender.switches[1].position == 4);
  CHECK(both.sender.path(1).resets == 0);  // A planned switch fences nothing.
  CHECK(both.sender.driver.may_post());
  CHECK(both.receiver.driver.may_post());
}

TEST_CASE("a return waits until the sender has drained") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.drains = false;
  both.pass(1'500);
  CHECK(both.sender.driver.drain_asked());
  CHECK_FALSE(both.sender.driver.may_post());
  CHECK(both.receiver.driver.may_post());
  CHECK(both.receiver.status().active_path == 1);
  both.drains = true;
  both.pass(20);
  CHECK(both.receiver.status().active_path == 0);
  CHECK_FALSE(both.sender.driver.drain_asked());
}

TEST_CASE("confirmations are taken while it drains, for a drain may wait for one") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.drains = false;
  both.pass(1'500);
  REQUIRE(both.sender.driver.drain_asked());
  both.sender.confirmations.clear();
  both.receiver.at.done = 3;
  both.receiver.driver.ask_send();
  both.pass(3);
  REQUIRE_FALSE(both.sender.confirmations.empty());
  CHECK(both.sender.confirmations.back() == 3);
}

TEST_CASE("a path that dies while the sender drains is left as ever, and the drain is over") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.drains = false;
  both.pass(1'500);
  REQUIRE(both.sender.driver.drain_asked());
  SUBCASE("the one in use") {
    both.kill(1);
    both.pass(20);
    CHECK(both.receiver.status().active_path == 0);
    CHECK(both.sender.driver.may_post());
  }
  SUBCASE("the one to return to") {
    both.kill(0);
    both.pass(20);
    both.drains = true;
    both.pass(200);
    CHECK(both.receiver.status().active_path == 1);
    CHECK(both.sender.driver.may_post());
  }
  CHECK_FALSE(both.sender.driver.drain_asked());
}

TEST_CASE("a repaired path that is slower than the one in use is not returned to") {
  for (bool at_sender : {true, false}) {
    CAPTURE(at_sender);
    Pair<> both;
    both.receiver.driver.set_speed(0, 100);
    both.receiver.driver.set_speed(1, 100);
    fail_over(both);
    both.open[0] = true;
    (at_sender ? both.sender.path(0).speed : both.receiver.path(0).speed) = 50;
    both.pass(5'000);
    CHECK(both.receiver.driver.machine().common().is_up(0));
    CHECK(both.receiver.status().active_path == 1);
    CHECK(both.receiver.status().has_backup);
  }
}

TEST_CASE("a path that fails while it proves itself begins again") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.pass(800);
  REQUIRE(both.receiver.driver.machine().common().is_up(0));
  both.kill(0);
  both.pass(100);
  both.open[0] = true;
  both.pass(1'100);
  CHECK(both.receiver.status().active_path == 1);  // The second starts over.
  both.pass(400);
  CHECK(both.receiver.status().active_path == 0);
}

TEST_CASE("a path that goes mute while it proves itself is noticed by its probes") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.pass(300);
  REQUIRE(both.receiver.driver.machine().common().is_up(0));
  both.open[0] = false;
  both.pass(400);
  CHECK(both.receiver.lost(0));
  CHECK(both.receiver.status().path_causes[0] == Cause::stall);
  both.pass(900);
  CHECK(both.receiver.status().active_path == 1);
}

TEST_CASE("an attempt that the peer takes part in makes the next one later; others do not") {
  auto const attempts = [](bool takes_part) {
    Pair<> both;
    fail_over(both);
    if (!takes_part) both.receiver.path(0).describes = Errc::would_block;
    both.pass(5'000);
    return both.receiver.status().counters.arm_attempts;
  };
  // Not: every 200 ms, and 20 ms for the port. Does: 200, 400, 800 ms and more, each 500 ms long.
  std::uint64_t const quick = attempts(false);
  std::uint64_t const slow = attempts(true);
  CHECK(quick >= 20);
  CHECK(quick <= 26);
  CHECK(slow >= 3);
  CHECK(slow <= 6);
}

TEST_CASE("what is tried while no path is left does not make later attempts wait") {
  Pair<> both;
  for (PathId q : {0, 1}) {
    both.sender.path(q).describes = Errc::failed;
    both.kill(q);
  }
  both.pass(3'000);
  CHECK(both.receiver.status().counters.arm_attempts > 20);
  both.sender.path(1).describes = Errc::ok;
  both.open[1] = true;
  both.pass(150);
  CHECK(both.receiver.status().active_path == 1);
  both.sender.path(0).describes = Errc::ok;
  both.open[0] = true;
  both.pass(1'700);
  CHECK(both.receiver.status().active_path == 0);
}

TEST_CASE("an attempt whose probe is not answered is told, and lost as a stall") {
  Pair<> both;
  fail_over(both);
  both.pass(1'000);
  CHECK(both.receiver.count(Kind::probe_failed) >= 1);
  CHECK(both.receiver.status().path_causes[0] == Cause::stall);
  CHECK(both.receiver.status().counters.rearms == 0);
}

TEST_CASE("an attempt that the peer does not answer is given up after a second") {
  Pair<> both;
  fail_over(both);
  both.pipe = false;
  both.open[1] = false;
  both.pass(250);
  REQUIRE(both.receiver.driver.machine().arming() == 0);
  CHECK(both.receiver.driver.machine().common().paths[0].phase == Phase::offered);
  both.pass(930);
  CHECK(both.receiver.driver.machine().arming() == 0);
  both.pass(50);
  CHECK(both.receiver.status().counters.arm_attempts >= 1);
  CHECK(both.receiver.status().path_causes[0] == Cause::not_armed);
}

TEST_CASE("a path whose connecting fails is tried again") {
  Pair<> both;
  fail_over(both);
  both.open[0] = true;
  both.receiver.path(0).connects = Errc::failed;
  both.pass(900);
  CHECK(both.receiver.lost(0));
  both.receiver.path(0).connects = Errc::ok;
  both.pass(3'000);
  CHECK(both.receiver.status().active_path == 0);
}

TEST_CASE("there is no attempt while the port is known to be down, and one soon after it is up") {
  Pair<> both;
  both.receiver.ports[0] = {.down = true, .down_for = 50_ms};
  both.pass(20);
  REQUIRE(both.receiver.status().active_path == 1);
  both.pass(5'000);
  CHECK(both.receiver.status().counters.arm_attempts == 0);
  both.receiver.ports[0] = {};
  both.pass(230);
  CHECK(both.receiver.status().counters.arm_attempts == 1);
  CHECK(both.receiver.driver.machine().common().is_up(0));
}

TEST_CASE("a path that this end or the peer does not have is never tried") {
  Pair<> both{0b01};
  both.receiver.present[1] = false;
  both.pass(5'000);
  CHECK(both.receiver.status().counters.arm_attempts == 0);
}

TEST_CASE("Never: a path that was left stays left, until there is no other") {
  Pair<Stays> both;
  fail_over(both);
  both.open[0] = true;
  both.pass(5'000);
  CHECK(both.receiver.status().counters.arm_attempts == 0);
  both.kill(1);
  both.pass(500);
  CHECK(both.receiver.status().active_path == 0);
  CHECK(both.receiver.driver.may_post());
  CHECK(both.sender.driver.may_post());
}

TEST_CASE("with no usable path each is tried soon, one after the other, until one comes up") {
  Pair<> both{0b111, 3};
  for (PathId q : {PathId{0}, PathId{1}, PathId{2}}) both.kill(q);
  both.pass(10);
  CHECK_FALSE(both.receiver.driver.may_post());
  CHECK(both.receiver.status().usable_paths == 0);
  both.open[2] = true;
  both.pass(5'000);
  CHECK(both.receiver.status().active_path == 2);
  CHECK(both.sender.status().active_path == 2);
  CHECK(both.receiver.driver.may_post());
}

TEST_CASE("the lowest path that both ends can use is chosen") {
  Pair<> both{0b111, 3};
  both.sender.fail(1);
  both.pass(10);
  CHECK(both.receiver.lost(1));  // The peer said so.
  CHECK(both.receiver.status().path_causes[1] == Cause::peer_report);
  both.open[1] = false;
  both.kill(0);
  both.pass(10);
  CHECK(both.receiver.status().active_path == 2);
  CHECK(both.sender.status().active_path == 2);
}

TEST_CASE("time on a path other than the primary is counted") {
  Pair<> both;
  both.pass(100);
  CHECK(both.receiver.status().on_backup == 0_ms);
  both.kill(0);
  both.pass(300);
  CHECK(both.receiver.status().on_backup >= 290_ms);
  CHECK(both.receiver.status().on_backup <= 300_ms);
}
