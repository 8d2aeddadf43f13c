// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/receiver_decides/sender.hpp>

#include <doctest/doctest.h>
#include <sync/receiver_decides/driven.hpp>

namespace {

using namespace vccl;
using namespace vccl::test;
using Mode = sync::receiver_decides::Sender::Mode;

/// What a receiver with the same start would say, with a fresh sequence number each time.
struct Peer {
  explicit Peer(Start const& s = {}) {
    m.session = s.session;
    m.epoch = s.epoch;
    m.up = s.up;
    m.down = static_cast<std::uint8_t>(((1u << s.paths) - 1) & ~unsigned{s.up});
    m.numbers.fill(s.number);
    m.sequence = s.sequence;
  }
  Message m;

  Message say(Kind k = Kind::state) {
    m.kind = k;
    ++m.sequence;
    return m;
  }
  void loses(PathId q) {
    m.up = static_cast<std::uint8_t>(m.up & ~(1u << q));
    m.down = static_cast<std::uint8_t>(m.down | 1u << q);
  }
  Message switch_to(PathId q, Step position) {
    ++m.epoch;
    m.path = q;
    m.position = position;
    return say();
  }
  Message offer(PathId q) {
    ++m.numbers[q];
    m.up = static_cast<std::uint8_t>(m.up & ~(1u << q));
    m.down = static_cast<std::uint8_t>(m.down & ~(1u << q));
    m.arm = Arm::offer;
    m.arm_path = q;
    return say();
  }
  Message end(Kind k, Cause why, bool quiet, bool asks = false) {
    m.cause = why;
    m.quiet = quiet ? 1 : 0;
    m.asks = asks ? 1 : 0;
    if (quiet) m.down = 0b11;
    return say(k);
  }
};

// ---- Detection ----------------------------------------------------------------------------------

TEST_CASE(
    "a fault of the path in use stops posting, fences it and asks the receiver, until answered") {
  DrivenSender s;
  s.fault(0, Cause::port_down);
  CHECK(s.did(Do::stop));
  CHECK(s.did(Do::fence, 0));
  CHECK(s.did(Do::send));
  CHECK(s.mode() == Mode::suspended);
  CHECK_FALSE(s.machine.may_post());
  Message const m = s.say();
  CHECK(m.kind == Kind::suspect);
  CHECK(m.cause == Cause::port_down);
  CHECK(m.down == 0b01);
  CHECK(m.asks == 1);
  CHECK(s.tick().did(Do::send));
}

TEST_CASE("a fault of another path is fenced and told, and sending goes on") {
  DrivenSender s;
  s.fault(1);
  CHECK(s.did(Do::fence, 1));
  CHECK_FALSE(s.did(Do::stop));
  CHECK(s.machine.may_post());
  CHECK(s.say().kind == Kind::state);
  CHECK(s.machine.awaiting());  // The receiver counts on it.
  Peer r;
  r.loses(1);
  s.hear(r.say());
  CHECK_FALSE(s.machine.awaiting());
}

TEST_CASE("a fault of a path that is left already, or seen under another number, changes nothing") {
  DrivenSender s;
  CHECK(s.fault(0, std::uint16_t{7}, Cause::stall).did_nothing());
  s.fault(0);
  CHECK(s.fault(0).did_nothing());
  s.fenced(0);
  CHECK(s.fault(0).did_nothing());
}

TEST_CASE("a path that the receiver left is left here too") {
  DrivenSender s;
  Peer r;
  r.loses(1);
  s.hear(r.say());
  CHECK(s.did(Do::fence, 1));
  CHECK(s.machine.may_post());
  r.loses(0);
  SUBCASE("deciding") { s.hear(r.say(Kind::decide)); }
  SUBCASE("stranded") { s.hear(r.say(Kind::strand)); }
  CHECK(s.did(Do::fence, 0));
  CHECK(s.mode() == Mode::suspended);
}

// ---- The switch ---------------------------------------------------------------------------------

TEST_CASE("a SWITCH is followed only when the old path is quiet here") {
  DrivenSender s;
  Peer r;
  s.at = {.done = 2, .tail = 6};
  s.fault(0);
  r.loses(0);
  s.hear(r.switch_to(1, 4));
  CHECK_FALSE(s.did(Do::switch_to));
  s.fenced(0);
  REQUIRE(s.did(Do::switch_to));
  CHECK(*s.did(Do::switch_to) ==
        Action{.kind = Do::switch_to, .path = 1, .epoch = 2, .position = 4});
  CHECK(s.did(Do::send));  // Tells that it is in the new epoch.
  CHECK(s.machine.may_post());
  CHECK(s.say().epoch == 2);
}

TEST_CASE("a SWITCH that finds the path quiet already is followed at once") {
  DrivenSender s;
  Peer r;
  s.fault(0);
  s.fenced(0);
  r.loses(0);
  CHECK(s.hear(r.switch_to(1, 0)).did(Do::switch_to, 1));
}

TEST_CASE("a SWITCH that comes as a surprise makes the sender leave and fence its path first") {
  DrivenSender s;
  Peer r;
  r.loses(0);
  s.hear(r.switch_to(1, 3));
  CHECK(s.did(Do::stop));
  CHECK(s.did(Do::fence, 0));
  CHECK_FALSE(s.did(Do::switch_to));
  CHECK(s.fenced(0).did(Do::switch_to, 1));
}

TEST_CASE("a repeated or older message does not switch again") {
  DrivenSender s;
  Peer r;
  Message const old = r.say();
  r.loses(0);
  Message const go = r.switch_to(1, 3);
  s.hear(go);
  s.fenced(0);
  CHECK(s.hear(go).did_nothing());
  CHECK(s.hear(old).did_nothing());
  Message again = r.say();
  again.position = 5;
  CHECK_FALSE(s.hear(again).did(Do::switch_to));
}

TEST_CASE("a message of another session changes nothing, whatever it says") {
  DrivenSender s{Start{.session = 7}};
  Peer r;
  r.loses(0);
  auto const before = s.machine;
  CHECK(s.hear(r.switch_to(1, 3)).did_nothing());
  CHECK(s.hear(r.end(Kind::abort, Cause::local_error, true, true)).did_nothing());
  CHECK(s.machine == before);
}

TEST_CASE("a second SWITCH overtakes the one that waits for the fence") {
  DrivenSender s{Start{.paths = 3, .up = 0b111}};
  Peer r{Start{.paths = 3, .up = 0b111}};
  r.loses(0);
  s.hear(r.switch_to(1, 3));
  r.loses(1);
  s.hear(r.switch_to(2, 3));
  CHECK(s.did(Do::fence, 1));
  s.fenced(1);
  CHECK_FALSE(s.did(Do::switch_to));
  s.fenced(0);
  CHECK(s.did(Do::switch_to, 2));
  CHECK(s.common().epoch == 3);
  CHECK(s.machine.may_post());
}

TEST_CASE(
    "a SWITCH to a path that is lost here is followed into its epoch and answered with suspicion") {
  DrivenSender s;
  Peer r;
  s.fault(1, Cause::port_down);
  s.fault(0);
  s.fenced(0);
  r.loses(0);
  s.hear(r.switch_to(1, 3));
  CHECK(s.did(Do::switch_to, 1));
  CHECK(s.did(Do::stop));
  CHECK_FALSE(s.machine.may_post());
  Message const m = s.say();
  CHECK(m.kind == Kind::suspect);
  CHECK(m.epoch == 2);
  CHECK(m.cause == Cause::port_down);
  SUBCASE("and the next SWITCH waits for nothing, as nothing was sent in that epoch") {
    r.loses(1);
    CHECK(s.hear(r.switch_to(0, 3)).did(Do::switch_to, 0));
  }
}

TEST_CASE("a receiver that has left the new path again is followed, and the path is left") {
  DrivenSender s;
  Peer r;
  s.fault(0);
  s.fenced(0);
  r.loses(0);
  r.m.epoch = 2;
  r.m.path = 1;
  r.loses(1);
  s.hear(r.say(Kind::decide));
  CHECK(s.did(Do::switch_to, 1));
  CHECK(s.did(Do::fence, 1));
  CHECK(s.mode() == Mode::suspended);
  CHECK(s.say().epoch == 2);
}

TEST_CASE("a path that was left and armed again since is not the one that an older epoch was for") {
  // Else the sender would post on the new queue pairs in an epoch in which the receiver is
  // stranded.
  DrivenSender s;
  Peer r;
  r.loses(0);
  SUBCASE("the SWITCH was heard before the path was left") { s.hear(r.switch_to(1, 3)); }
  SUBCASE("it was lost, and the receiver is stranded by now") {
    ++r.m.epoch;
    r.m.path = 1;
    s.fault(0);
  }
  r.loses(1);
  s.hear(r.say(Kind::strand));
  r.offer(1);
  s.hear(r.say(Kind::strand)).fenced(1).prepared(1).connected(1);
  s.hear(r.say(Kind::strand), 1).probed(1);
  REQUIRE(s.phase(1) == Phase::up);
  s.fenced(0);
  CHECK(s.did(Do::switch_to, 1));
  CHECK_FALSE(s.machine.may_post());
  CHECK(s.say().kind == Kind::suspect);
  r.m.arm = Arm::none;
  r.m.up = 0b10;
  s.hear(r.switch_to(1, 3));
  CHECK(s.machine.may_post());
}

TEST_CASE("a path that dies at the sender before it adopted the new epoch is reported") {
  DrivenSender s;
  Peer r;
  s.fault(0);
  r.loses(0);
  s.hear(r.switch_to(1, 3));
  s.fault(1, Cause::stall);
  CHECK(s.did(Do::fence, 1));
  CHECK((s.say().down & 0b10) != 0);
  s.fenced(0);
  CHECK(s.did(Do::switch_to, 1));
  CHECK(s.say().kind == Kind::suspect);
}

TEST_CASE(
    "a receiver that lacks a completed step ends the connection, and nothing is armed after that") {
  DrivenSender s;
  Peer r;
  s.at = {.done = 5, .tail = 6};
  s.fault(0);
  s.fault(1);
  s.fenced(1);
  r.loses(0);
  r.m.epoch = 2;
  r.m.path = 1;
  r.m.position = 4;
  SUBCASE("found when the message comes") {
    s.fenced(0);
    s.hear(r.offer(1));
  }
  SUBCASE("found when the fence is done") {
    s.hear(r.offer(0));
    s.fenced(0);
  }
  CHECK_FALSE(s.did(Do::switch_to));
  CHECK_FALSE(s.did(Do::prepare));
  Message const m = s.say();
  CHECK(m.kind == Kind::fatal);
  CHECK(m.cause == Cause::position_behind);
}

TEST_CASE("a SWITCH to a path that there is not is not followed") {
  DrivenSender s;
  Peer r;
  CHECK_FALSE(s.hear(r.switch_to(7, 0)).did(Do::fence));
  CHECK(s.machine.may_post());
}

TEST_CASE("epochs are followed across their wrap") {
  Start const start{.epoch = 0xffff'ffff};
  DrivenSender s{start};
  Peer r{start};
  s.fault(0);
  s.fenced(0);
  r.loses(0);
  s.hear(r.switch_to(1, 0));
  CHECK(s.common().epoch == 0);
  CHECK(s.machine.may_post());
}

// ---- Planned return -----------------------------------------------------------------------------

struct OnBackup {
  Start start{.paths = 2, .up = 0b11};
  DrivenSender s{start};
  Peer r{start};
  OnBackup() {
    r.m.path = 1;
    r.m.drain = 1;
    r.m.epoch = 1;
    s.hear(r.say(Kind::drain));
  }
};

TEST_CASE("a drain stops posting; DRAINED is said when nothing is outstanding, and repeated") {
  OnBackup x;
  CHECK(x.s.did(Do::drain));
  CHECK_FALSE(x.s.machine.may_post());
  CHECK(x.s.machine.has_usable_path());
  CHECK(x.s.say().kind == Kind::state);
  x.s.at = {.done = 6, .tail = 6};
  x.s.drained();
  CHECK(x.s.did(Do::send));
  Message const m = x.s.say();
  CHECK(m.kind == Kind::drained);
  CHECK(m.position == 6);
  CHECK(m.drain == 1);
  CHECK(m.asks == 1);
  CHECK(x.s.tick().did(Do::send));
}

TEST_CASE("a repeated drain is not a second one") {
  OnBackup x;
  CHECK_FALSE(x.s.hear(x.r.say(Kind::drain)).did(Do::drain));
  x.s.drained();
  CHECK_FALSE(x.s.hear(x.r.say(Kind::drain)).did(Do::drain));
  x.s.hear(x.r.switch_to(0, 6));
  CHECK_FALSE(x.s.hear(x.r.say(Kind::drain)).did(Do::drain));  // Answered in an older epoch.
  CHECK(x.s.machine.may_post());
}

TEST_CASE("a planned switch fences nothing") {
  OnBackup x;
  x.s.at = {.done = 6, .tail = 6};
  x.s.drained();
  x.s.hear(x.r.switch_to(0, 6));
  CHECK(x.s.did(Do::switch_to, 0));
  CHECK_FALSE(x.s.did(Do::fence));
  CHECK(x.s.machine.may_post());
}

TEST_CASE("a planned switch to the same path is a cancel: sending goes on there in a new epoch") {
  OnBackup x;
  x.s.drained();
  x.s.hear(x.r.switch_to(x.s.common().path, 6));
  CHECK(x.s.did(Do::switch_to));
  CHECK(x.s.machine.may_post());
  CHECK(x.s.common().epoch == 2);
}

TEST_CASE("a path that dies while draining, or drained, is suspected as ever") {
  OnBackup x;
  SUBCASE("draining") {}
  SUBCASE("drained") { x.s.drained(); }
  x.s.fault(x.s.common().path);
  CHECK(x.s.mode() == Mode::suspended);
  CHECK(x.s.say().kind == Kind::suspect);
  CHECK(x.s.drained().did_nothing());
}

TEST_CASE("a SWITCH before the drain is done is not a planned one: the old path is fenced") {
  OnBackup x;
  x.r.loses(0);
  x.s.hear(x.r.switch_to(1, 2));
  CHECK(x.s.did(Do::fence, 0));
  CHECK_FALSE(x.s.did(Do::switch_to));
}

TEST_CASE("a planned switch to a path that died here meanwhile is answered with suspicion") {
  OnBackup x;
  x.s.drained();
  x.s.fault(1);
  x.s.hear(x.r.switch_to(1, 0));
  CHECK(x.s.did(Do::switch_to));
  CHECK(x.s.say().kind == Kind::suspect);
  CHECK(x.s.say().epoch == 2);
}

// ---- Arming -------------------------------------------------------------------------------------

TEST_CASE(
    "an offer for a quiet path is prepared, connected, answered, probed and armed, in this order") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1));
  REQUIRE(s.did(Do::prepare, 1));
  CHECK(s.did(Do::prepare)->number == 2);
  s.prepared(1);
  REQUIRE(s.did(Do::connect, 1));
  CHECK(s.did(Do::connect)->number == 2);
  CHECK(s.say().arm == Arm::none);
  s.connected(1);
  CHECK(s.did(Do::send));
  Message const answer = s.say();
  CHECK(answer.arm == Arm::answer);
  CHECK(answer.arm_path == 1);
  CHECK(answer.numbers[1] == 2);
  CHECK(s.tick().did(Do::send));
  CHECK_FALSE(s.did(Do::probe));
  s.hear(r.say(), 1);  // The receiver's probe.
  CHECK(s.did(Do::probe, 1));
  CHECK_FALSE(s.hear(r.say(), 1).did(Do::probe));
  CHECK((s.say().up & 0b10) == 0);
  s.probed(1);
  CHECK(s.did(Do::armed, 1));
  CHECK((s.say().up & 0b10) != 0);
}

TEST_CASE("an offer waits until the path is quiet, and the newest offer counts") {
  DrivenSender s;
  Peer r;
  s.hear(r.offer(1));
  CHECK(s.did(Do::fence, 1));
  CHECK_FALSE(s.did(Do::prepare));
  s.hear(r.offer(1));
  s.fenced(1);
  REQUIRE(s.did(Do::prepare, 1));
  CHECK(s.did(Do::prepare)->number == 3);
}

TEST_CASE("a newer offer ends the attempt under the older one, whose late answers are inert") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1));
  SUBCASE("while preparing") {}
  SUBCASE("while connecting") { s.prepared(1); }
  SUBCASE("while probing") {
    s.prepared(1);
    s.connected(1);
  }
  s.hear(r.offer(1));
  CHECK(s.did(Do::fence, 1));
  s.fenced(1);
  REQUIRE(s.did(Do::prepare, 1));
  sync::Actions out;
  s.machine.on_prepared(1, 2, true, out);
  s.machine.on_connected(1, 2, true, out);
  s.machine.on_probed(1, 2, true, out);
  s.machine.on_fenced(1, 2, true, {}, out);
  s.machine.on_fault(1, 2, Cause::stall, out);
  CHECK(out.count == 0);
  CHECK(s.phase(1) == Phase::preparing);
}

TEST_CASE("an old or repeated offer is not taken up again") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1));
  CHECK_FALSE(s.hear(r.say()).did(Do::prepare));
  s.prepared(1, false);
  CHECK(s.did(Do::fence, 1));
  s.fenced(1);
  CHECK_FALSE(s.hear(r.say()).did(Do::prepare));
  CHECK((s.say().down & 0b10) != 0);
}

TEST_CASE("an attempt that fails at any stage is told to the receiver") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1));
  SUBCASE("prepare") { s.prepared(1, false); }
  SUBCASE("connect") { s.prepared(1).connected(1, false); }
  SUBCASE("probe") { s.prepared(1).connected(1).hear(r.say(), 1).probed(1, false); }
  CHECK(s.did(Do::fence, 1));
  CHECK(s.did(Do::send));
  CHECK(s.machine.awaiting());
  CHECK((s.say().down & 0b10) != 0);
  CHECK(s.machine.may_post());
}

TEST_CASE("an attempt that the receiver gave up is given up here") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1)).prepared(1).connected(1);
  r.loses(1);
  CHECK(s.hear(r.say()).did(Do::fence, 1));
}

TEST_CASE("the receiver's probe counts even if newer news came out of band before it") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1)).prepared(1).connected(1);
  Message const probe = r.say();
  s.hear(r.say());
  CHECK(s.hear(probe, 1).did(Do::probe, 1));
}

TEST_CASE("a record of an earlier attempt, or of another session, is no probe") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  Message const old = r.say();
  s.hear(r.offer(1)).prepared(1).connected(1);
  CHECK_FALSE(s.hear(old, 1).did(Do::probe));
  Message other = r.say();
  other.session = 99;
  CHECK_FALSE(s.hear(other, 1).did(Do::probe));
  CHECK_FALSE(s.hear(r.say(), no_path).did(Do::probe));
}

TEST_CASE(
    "the path in use can be armed again once it is quiet, and is used from the next SWITCH on") {
  Start const start{.paths = 1, .up = 0b1};
  DrivenSender s{start};
  Peer r{start};
  s.fault(0);
  r.loses(0);
  s.hear(r.say(Kind::strand));
  Message offer = r.offer(0);
  offer.kind = Kind::strand;
  s.hear(offer);
  CHECK(s.fenced(0).did(Do::prepare, 0));
  s.prepared(0).connected(0);
  Message probe = r.say(Kind::strand);
  s.hear(probe, 0).probed(0);
  CHECK(s.phase(0) == Phase::up);
  CHECK_FALSE(s.machine.may_post());
  r.m.arm = Arm::none;
  r.m.up = 1;
  CHECK(s.hear(r.switch_to(0, 0)).did(Do::switch_to, 0));
  CHECK(s.machine.may_post());
}

TEST_CASE("a fence overrides an attempt, whose answer then comes too late") {
  DrivenSender s;
  Peer r;
  s.fault(1);
  s.fenced(1);
  r.loses(1);
  s.hear(r.offer(1));
  s.fault(1);
  CHECK(s.did(Do::fence, 1));
  CHECK(s.prepared(1).did_nothing());
  CHECK(s.phase(1) == Phase::fencing);
}

// ---- The end
// --------------------------------------------------------------------------------------

TEST_CASE("a fence that fails ends the connection: nothing is replayed") {
  DrivenSender s;
  Peer r;
  s.fault(0);
  r.loses(0);
  s.hear(r.switch_to(1, 3));
  s.fenced(0, false);
  CHECK_FALSE(s.did(Do::switch_to));
  CHECK(s.did(Do::fence, 1));
  CHECK(s.common().fence_failed);
  CHECK(s.say().kind == Kind::fatal);
  CHECK(s.say().cause == Cause::fence_failed);
}

TEST_CASE("fatal is repeated until the receiver gives its verdict, which is the cause for both") {
  DrivenSender s;
  Peer r;
  s.fatal(Cause::local_error);
  CHECK(s.did(Do::stop));
  CHECK(s.did(Do::fence, 0));
  CHECK(s.did(Do::fence, 1));
  CHECK(s.say().kind == Kind::fatal);
  s.fenced(0).fenced(1);
  CHECK_FALSE(s.did(Do::finish));
  CHECK(s.tick().did(Do::send));
  s.hear(r.say());
  CHECK_FALSE(s.did(Do::finish));
  r.m.position = 4;
  s.hear(r.end(Kind::abort, Cause::remote_error, true));
  REQUIRE(s.did(Do::finish));
  CHECK(*s.did(Do::finish) == Action{.kind = Do::finish,
                                     .cause = Cause::remote_error,
                                     .final_position = true,
                                     .position = 4});
  CHECK_FALSE(s.machine.awaiting());
}

TEST_CASE("the end waits for the receiver's final position and for the fences of this end") {
  DrivenSender s;
  Peer r;
  r.m.position = 2;
  s.hear(r.end(Kind::abort, Cause::remote_error, false));
  CHECK(s.did(Do::send));
  CHECK(s.did(Do::fence, 0));
  s.fenced(0);
  s.fenced(1);
  CHECK_FALSE(s.did(Do::finish));
  CHECK(s.tick().did(Do::send));
  CHECK(s.say().asks == 1);
  CHECK(s.say().kind == Kind::abort);
  r.m.position = 3;  // The drain at the receiver brought one more.
  s.hear(r.end(Kind::abort, Cause::remote_error, true));
  REQUIRE(s.did(Do::finish));
  CHECK(s.did(Do::finish)->position == 3);
  CHECK(s.did(Do::finish)->final_position);
}

TEST_CASE(
    "after the linger deadline the end comes with what is known: the position is a lower bound") {
  DrivenSender s;
  Peer r;
  r.m.position = 2;
  s.hear(r.say());
  CHECK(s.linger().did_nothing());
  s.fatal(Cause::local_error);
  s.linger();
  REQUIRE(s.did(Do::finish));
  CHECK(*s.did(Do::finish) == Action{.kind = Do::finish,
                                     .cause = Cause::local_error,
                                     .final_position = false,
                                     .position = 2});
  CHECK(s.linger().did_nothing());
}

TEST_CASE("close is repeated until answered, in every mode") {
  DrivenSender s;
  Peer r;
  SUBCASE("running") {}
  SUBCASE("suspended") { s.fault(0); }
  SUBCASE("waiting for its fence") {
    s.fault(0);
    r.loses(0);
    s.hear(r.switch_to(1, 0));
  }
  SUBCASE("draining") {
    r.m.drain = 1;
    s.hear(r.say(Kind::drain));
  }
  SUBCASE("drained") {
    r.m.drain = 1;
    s.hear(r.say(Kind::drain)).drained();
  }
  SUBCASE("arming") {
    s.fault(1);
    s.fenced(1);
    s.hear(r.offer(1));
  }
  s.close();
  CHECK(s.did(Do::stop));
  CHECK(s.say().kind == Kind::closing);
  CHECK(s.tick().did(Do::send));
  s.fenced(0).fenced(1);
  CHECK(s.common().all_quiet());
  s.hear(r.end(Kind::closed, Cause::peer_closed, true));
  REQUIRE(s.did(Do::finish));
  CHECK(s.did(Do::finish)->cause == Cause::closed);
}

TEST_CASE("a receiver that closes is answered with closed") {
  DrivenSender s;
  Peer r;
  s.hear(r.end(Kind::closing, Cause::closed, true, true));
  CHECK(s.say().kind == Kind::closed);
  s.fenced(0).fenced(1);
  REQUIRE(s.did(Do::finish));
  CHECK(s.did(Do::finish)->cause == Cause::peer_closed);
  CHECK(s.did(Do::finish)->final_position);
}

TEST_CASE("both ends close at once: each ends as closed") {
  DrivenSender s;
  Peer r;
  s.close().fenced(0).fenced(1);
  s.hear(r.end(Kind::closing, Cause::closed, true, true));
  REQUIRE(s.did(Do::finish));
  CHECK(s.did(Do::finish)->cause == Cause::closed);
}

TEST_CASE("an abort of the receiver goes before this end's close") {
  DrivenSender s;
  Peer r;
  s.close().fenced(0).fenced(1);
  s.hear(r.end(Kind::abort, Cause::fence_failed, true));
  REQUIRE(s.did(Do::finish));
  CHECK(s.did(Do::finish)->cause == Cause::fence_failed);
  CHECK(s.say().kind == Kind::abort);
}

TEST_CASE("a receiver that closes while this end is fatal has to give its verdict first") {
  DrivenSender s;
  Peer r;
  s.fatal(Cause::local_error).fenced(0).fenced(1);
  s.hear(r.end(Kind::closing, Cause::closed, true, true));
  CHECK_FALSE(s.did(Do::finish));
  CHECK(s.spoke());
  CHECK(s.machine.awaiting());
  s.hear(r.end(Kind::abort, Cause::local_error, true));
  CHECK(s.did(Do::finish));
}

TEST_CASE("after lingering in vain the sender's own cause is the last word, as an abort") {
  DrivenSender s;
  s.fatal(Cause::local_error).linger();
  CHECK(s.say().kind == Kind::abort);
  CHECK(s.say().cause == Cause::local_error);
}

TEST_CASE("when all is over a peer that asks is still answered, and nothing else happens") {
  DrivenSender s;
  Peer r;
  s.hear(r.end(Kind::abort, Cause::remote_error, true)).fenced(0).fenced(1);
  REQUIRE(s.did(Do::finish));
  s.hear(r.end(Kind::abort, Cause::remote_error, true, true));
  CHECK(s.out.count == 1);
  CHECK(s.spoke());
  CHECK(s.hear(r.end(Kind::abort, Cause::remote_error, true)).did_nothing());
  CHECK(s.fault(0).did_nothing());
  CHECK(s.tick().did_nothing());
}

TEST_CASE("nothing that comes after the end was begun changes its course") {
  DrivenSender s;
  Peer r;
  s.fatal(Cause::local_error);
  s.fatal(Cause::remote_error);
  s.close();
  CHECK(s.say().cause == Cause::local_error);
  r.loses(0);
  s.hear(r.switch_to(1, 3));
  s.hear(r.offer(1), 1);
  s.fenced(0);
  CHECK_FALSE(s.did(Do::switch_to));
  s.fenced(1);
  CHECK(s.out.count == 1);
  CHECK(s.did(Do::send));  // All is quiet: what it has completed is final.
}

TEST_CASE("a sender that completed more than the receiver ends with tells so, whoever closed") {
  DrivenSender s;
  Peer r;
  r.m.position = 4;
  s.at = {.done = 4, .tail = 6};
  SUBCASE("the receiver") {
    s.hear(r.end(Kind::closing, Cause::closed, true));
    s.at.done = 5;  // Acknowledged at the last moment.
    s.fenced(0).fenced(1);
  }
  SUBCASE("the sender") {
    s.at.done = 5;
    s.close().fenced(0).fenced(1).hear(r.end(Kind::closed, Cause::peer_closed, true));
  }
  REQUIRE(s.did(Do::finish));
  CHECK(s.did(Do::finish)->cause == Cause::position_behind);
}

TEST_CASE("after the outage deadline the first cause of the outage is the verdict asked for") {
  DrivenSender s;
  SUBCASE("of the path that failed first") {
    s.fault(0, Cause::port_down).fault(1, Cause::stall);
    s.outage();
    CHECK(s.say().cause == Cause::port_down);
  }
  SUBCASE("or the deadline itself, when no path ever worked") {
    s = DrivenSender{Start{.up = 0}};
    s.outage();
    CHECK(s.say().cause == Cause::outage_deadline);
  }
  CHECK(s.say().kind == Kind::fatal);
}

// ---- The start
// --------------------------------------------------------------------------------------

TEST_CASE("with the primary down at start the backup is in use from the beginning") {
  DrivenSender s{Start{.up = 0b10}};
  CHECK(s.machine.may_post());
  CHECK(s.common().path == 1);
  CHECK_FALSE(s.machine.awaiting());
}

TEST_CASE("with no path up at start the sender asks until one is") {
  DrivenSender s{Start{.up = 0}};
  CHECK_FALSE(s.machine.may_post());
  CHECK(s.say().kind == Kind::suspect);
  CHECK(s.tick().did(Do::send));
}

TEST_CASE("a question is answered, and without one nothing is sent") {
  DrivenSender s;
  Peer r;
  CHECK(s.hear(r.say()).did_nothing());
  r.m.asks = 1;
  CHECK(s.hear(r.say()).did(Do::answer));
  CHECK(s.tick().did_nothing());
}

TEST_CASE("sequence numbers of both directions wrap") {
  Start const start{.sequence = 0xffff'ffff};
  DrivenSender s{start};
  CHECK(s.say().sequence == 0);
  Peer r{start};
  r.m.sequence -= 1;
  s.hear(r.say());  // 0xffff'ffff
  r.loses(0);
  CHECK(s.hear(r.switch_to(1, 0)).did(Do::fence, 0));
}

}  // namespace
