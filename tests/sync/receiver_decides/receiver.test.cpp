// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/receiver_decides/receiver.hpp>

#include <doctest/doctest.h>
#include <sync/receiver_decides/driven.hpp>

namespace {

using namespace vccl;
using namespace vccl::test;
using Mode = sync::receiver_decides::Receiver::Mode;

/// What a sender with the same start would say, with a fresh sequence number each time.
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
  /// The end, said by an end that is quiet already.
  Message end(Kind k) {
    m.quiet = 1;
    return say(k);
  }
  void loses(PathId q) {
    m.up = static_cast<std::uint8_t>(m.up & ~(1u << q));
    m.down = static_cast<std::uint8_t>(m.down | 1u << q);
  }
  void has_up(PathId q, std::uint16_t number) {
    m.numbers[q] = number;
    m.up = static_cast<std::uint8_t>(m.up | 1u << q);
    m.down = static_cast<std::uint8_t>(m.down & ~(1u << q));
  }
  Message suspect(PathId q, Cause why = Cause::retry_exceeded) {
    loses(q);
    m.path = q;
    m.cause = why;
    m.asks = 1;
    return say(Kind::suspect);
  }
  Message adopt(Epoch e, PathId q) {
    m.epoch = e;
    m.path = q;
    m.asks = 0;
    return say();
  }
  Message answer(PathId q, std::uint16_t number) {
    m.numbers[q] = number;
    m.up = static_cast<std::uint8_t>(m.up & ~(1u << q));
    m.down = static_cast<std::uint8_t>(m.down & ~(1u << q));
    m.arm = Arm::answer;
    m.arm_path = q;
    return say();
  }
};

/// Arms path q, which is quiet, up to the end.
void arm(DrivenReceiver& r, Peer& s, PathId q) {
  r.retry(q).prepared(q);
  r.hear(s.answer(q, r.number(q))).connected(q).probed(q);
  s.m.arm = Arm::none;
  s.has_up(q, r.number(q));
  r.hear(s.say());
}

// ---- Detection and decision
// -----------------------------------------------------------------------

TEST_CASE(
    "a fault of the path in use is fenced first, then decided with the position after the drain") {
  DrivenReceiver r;
  r.at = {.done = 3, .tail = 6};
  r.fault(0, Cause::port_down);
  CHECK(r.did(Do::stop));
  CHECK(r.did(Do::fence, 0));
  CHECK(r.did(Do::send));
  CHECK_FALSE(r.did(Do::switch_to));
  CHECK(r.mode() == Mode::deciding);
  CHECK_FALSE(r.machine.may_post());
  CHECK(r.say().kind == Kind::decide);
  CHECK(r.say().epoch == 1);
  r.at.done = 4;
  r.fenced(0);
  REQUIRE(r.did(Do::switch_to));
  CHECK(*r.did(Do::switch_to) ==
        Action{.kind = Do::switch_to, .path = 1, .epoch = 2, .position = 4});
  CHECK(r.did(Do::send));
  Message const m = r.say();
  CHECK(m.kind == Kind::state);
  CHECK(m.epoch == 2);
  CHECK(m.path == 1);
  CHECK(m.position == 4);
  CHECK(m.tail == 6);
  CHECK(r.machine.may_post());
}

TEST_CASE("SWITCH is repeated until the sender is known to be in the new epoch") {
  DrivenReceiver r;
  Peer s;
  r.fault(0).fenced(0);
  CHECK(r.tick().did(Do::send));
  CHECK_FALSE(r.machine.adopted());
  s.loses(0);
  r.hear(s.say());
  CHECK(r.tick().did(Do::send));
  SUBCASE("by its message") { r.hear(s.adopt(2, 1)); }
  SUBCASE("by its data") { r.machine.on_data(); }
  CHECK(r.machine.adopted());
  CHECK(r.tick().did_nothing());
}

TEST_CASE("a suspicion of the sender is followed even if nothing is wrong here") {
  DrivenReceiver r;
  Peer s;
  r.hear(s.suspect(0));
  CHECK(r.did(Do::fence, 0));
  CHECK(r.mode() == Mode::deciding);
  r.fenced(0);
  CHECK(r.did(Do::switch_to, 1));
}

TEST_CASE("both ends detect: one fence and one switch come of it") {
  DrivenReceiver r;
  Peer s;
  r.fault(0);
  r.hear(s.suspect(0));
  CHECK_FALSE(r.did(Do::fence));
  r.fenced(0);
  REQUIRE(r.did(Do::switch_to));
  r.hear(s.suspect(0));  // Of the old epoch: it gets the current state.
  CHECK_FALSE(r.did(Do::fence));
  CHECK_FALSE(r.did(Do::switch_to));
  CHECK(r.did(Do::answer));
  CHECK(r.common().epoch == 2);
}

TEST_CASE("a fault of another path changes nothing for the one in use") {
  DrivenReceiver r;
  Peer s;
  SUBCASE("seen here") { r.fault(1); }
  SUBCASE("told by the sender") {
    s.loses(1);
    r.hear(s.say());
  }
  CHECK(r.did(Do::fence, 1));
  CHECK_FALSE(r.did(Do::stop));
  r.fenced(1);
  CHECK_FALSE(r.did(Do::switch_to));
  CHECK(r.mode() == Mode::running);
}

TEST_CASE("a fault under another number, or of a path that is left, changes nothing") {
  DrivenReceiver r;
  CHECK(r.fault(0, std::uint16_t{7}, Cause::stall).did_nothing());
  r.fault(0);
  CHECK(r.fault(0).did_nothing());
}

TEST_CASE("it lacks what the sender has acknowledged in this epoch and it has not received") {
  DrivenReceiver r;
  Peer s;
  r.at = {.done = 3, .tail = 8};
  CHECK(!r.machine.lacks(r.at));  // It has heard nothing.
  s.m.position = 3;
  r.hear(s.say());
  CHECK(!r.machine.lacks(r.at));
  s.m.position = 5;
  r.hear(s.say());
  CHECK(r.machine.lacks(r.at));
  CHECK(!r.machine.lacks({.done = 5, .tail = 8}));

  r.fault(0).fenced(0);
  CHECK(r.common().epoch == 2);
  CHECK(!r.machine.lacks(r.at));  // What was acknowledged in the old epoch is sent again.
  r.hear(s.say());
  CHECK(!r.machine.lacks(r.at));
  s.loses(0);
  r.hear(s.adopt(2, 1));
  CHECK(r.machine.lacks(r.at));
  r.close();
  CHECK(!r.machine.lacks(r.at));
}

TEST_CASE("the lowest path that both ends can use is chosen") {
  Start const start{.paths = 4, .up = 0b1111};
  DrivenReceiver r{start};
  Peer s{start};
  s.loses(1);
  r.hear(s.say());
  r.fault(2);
  r.fault(0).fenced(0);
  CHECK(r.did(Do::switch_to, 3));
}

TEST_CASE("a fault during the switch, here or there, leads to another decision") {
  Start const start{.paths = 3, .up = 0b111};
  DrivenReceiver r{start};
  Peer s{start};
  r.fault(0);
  SUBCASE("of the next path while the old one is made quiet") {
    r.fault(1);
    r.fenced(0);
    CHECK(r.did(Do::switch_to, 2));
    CHECK(r.common().epoch == 2);
  }
  SUBCASE("of the new path before the sender adopted it") {
    r.fenced(0);
    r.fault(1);
    CHECK(r.mode() == Mode::deciding);
    r.fenced(1);
    CHECK(r.did(Do::switch_to, 2));
    CHECK(r.common().epoch == 3);
  }
  SUBCASE("of the new path at the sender, which is still in the old epoch") {
    r.fenced(0);
    s.loses(0);
    s.loses(1);
    r.hear(s.say(Kind::suspect));
    CHECK(r.did(Do::fence, 1));
    r.fenced(1);
    CHECK(r.did(Do::switch_to, 2));
  }
  SUBCASE("of the new path at the sender, which is in the new epoch") {
    r.fenced(0);
    s.m.epoch = 2;
    r.hear(s.suspect(1));
    CHECK(r.did(Do::fence, 1));
    r.fenced(1);
    CHECK(r.did(Do::switch_to, 2));
  }
}

TEST_CASE("a fence of a path that is not in use decides nothing") {
  DrivenReceiver r{Start{.paths = 3, .up = 0b111}};
  r.fault(0);
  r.fault(1);
  CHECK_FALSE(r.fenced(1).did(Do::switch_to));
  CHECK(r.fenced(0).did(Do::switch_to, 2));
}

TEST_CASE(
    "without a path that both can use the receiver is stranded and says so until the sender "
    "knows") {
  DrivenReceiver r;
  Peer s;
  r.fault(1).fenced(1);
  r.fault(0).fenced(0);
  CHECK(r.mode() == Mode::stranded);
  CHECK(r.did(Do::send));
  CHECK(r.say().kind == Kind::strand);
  CHECK_FALSE(r.machine.has_usable_path());
  CHECK(r.tick().did(Do::send));
  s.loses(1);
  r.hear(s.suspect(0));
  CHECK(r.spoke());
  CHECK(r.tick().did_nothing());
}

TEST_CASE("repeated, older and foreign messages change nothing") {
  DrivenReceiver r;
  Peer s;
  Message const old = s.suspect(0);
  Message foreign = s.say();
  foreign.session = 4;
  Message const now = s.say();
  r.hear(now);
  auto const before = r.machine;
  CHECK(r.hear(old).did_nothing());
  CHECK(r.hear(now).did_nothing());
  CHECK(r.hear(foreign).did_nothing());
  CHECK(r.machine == before);
}

TEST_CASE("epochs are counted across their wrap") {
  Start const start{.epoch = 0xffff'ffff};
  DrivenReceiver r{start};
  Peer s{start};
  r.fault(0).fenced(0);
  CHECK(r.common().epoch == 0);
  r.hear(s.adopt(0, 1));
  CHECK(r.machine.adopted());
}

// ---- Arming
// -----------------------------------------------------------------------------------------

struct OnBackup {
  DrivenReceiver r;
  Peer s;
  OnBackup() {
    r.fault(0).fenced(0);
    s.loses(0);
    r.hear(s.adopt(2, 1));
  }
};

TEST_CASE("an attempt is prepared, offered, connected, probed and armed, in this order") {
  OnBackup x;
  x.r.retry(0);
  REQUIRE(x.r.did(Do::prepare, 0));
  CHECK(x.r.did(Do::prepare)->number == 2);
  CHECK(x.r.machine.arming() == 0);
  CHECK(x.r.say().arm == Arm::none);
  x.r.prepared(0);
  CHECK(x.r.did(Do::send));
  Message const offer = x.r.say();
  CHECK(offer.arm == Arm::offer);
  CHECK(offer.arm_path == 0);
  CHECK(offer.numbers[0] == 2);
  CHECK((offer.down & 1) == 0);
  CHECK(x.r.tick().did(Do::send));
  x.r.hear(x.s.answer(0, 2));
  REQUIRE(x.r.did(Do::connect, 0));
  CHECK_FALSE(x.r.hear(x.s.say()).did(Do::connect));
  x.r.connected(0);
  CHECK(x.r.did(Do::probe, 0));
  CHECK(x.r.tick().did(Do::send));
  x.s.m.arm = Arm::none;
  SUBCASE("the sender's probe is done first") {
    x.s.has_up(0, 2);
    CHECK_FALSE(x.r.hear(x.s.say()).did(Do::armed));
    x.r.probed(0);
  }
  SUBCASE("this end's probe is done first") {
    CHECK_FALSE(x.r.probed(0).did(Do::armed));
    x.s.has_up(0, 2);
    x.r.hear(x.s.say());
  }
  CHECK(x.r.did(Do::armed, 0));
  CHECK((x.r.say().up & 1) != 0);
  CHECK(x.r.machine.arming() == no_path);
  CHECK(x.r.common().path == 1);  // Going back is another decision.
}

TEST_CASE("an answer under an earlier number is inert") {
  OnBackup x;
  x.r.retry(0).prepared(0);
  x.r.retry_timeout(0).fenced(0);
  x.r.retry(0).prepared(0);
  CHECK_FALSE(x.r.hear(x.s.answer(0, 2)).did(Do::connect));
  sync::Actions out;
  x.r.machine.on_prepared(0, 2, true, out);
  x.r.machine.on_connected(0, 2, true, out);
  x.r.machine.on_probed(0, 2, true, {}, out);
  x.r.machine.on_fenced(0, 2, true, {}, out);
  x.r.machine.on_fault(0, 2, Cause::stall, out);
  CHECK(out.count == 0);
  CHECK(x.r.hear(x.s.answer(0, 3)).did(Do::connect, 0));
}

TEST_CASE(
    "an attempt that fails or takes too long at any stage is fenced, told, and can be tried "
    "again") {
  OnBackup x;
  x.r.retry(0);
  SUBCASE("prepare") { x.r.prepared(0, false); }
  SUBCASE("offered too long") { x.r.prepared(0).retry_timeout(0); }
  SUBCASE("connect") {
    x.r.prepared(0).hear(x.s.answer(0, 2));
    x.r.connected(0, false);
  }
  SUBCASE("probe") {
    x.r.prepared(0).hear(x.s.answer(0, 2));
    x.r.connected(0).probed(0, false);
  }
  SUBCASE("the sender gave up") {
    x.r.prepared(0);
    x.s.answer(0, 2);
    x.s.m.arm = Arm::none;
    x.s.loses(0);
    x.r.hear(x.s.say());
  }
  CHECK(x.r.did(Do::fence, 0));
  CHECK(x.r.did(Do::send));
  CHECK(x.r.mode() == Mode::running);
  CHECK(x.r.retry(0).did_nothing());  // Not before it is quiet.
  x.r.fenced(0);
  x.r.retry(0);
  REQUIRE(x.r.did(Do::prepare, 0));
  CHECK(x.r.did(Do::prepare)->number == 3);
}

TEST_CASE("a timeout of an attempt that is none changes nothing") {
  OnBackup x;
  CHECK(x.r.retry_timeout(0).did_nothing());
  CHECK(x.r.retry_timeout(1).did_nothing());
}

TEST_CASE("one path at a time is tried") {
  DrivenReceiver r{Start{.paths = 3, .up = 0b100}};
  CHECK(r.retry(0).did(Do::prepare, 0));
  CHECK(r.retry(1).did_nothing());
}

TEST_CASE("no attempt while a decision is under way, nor on a path that is in use or not quiet") {
  DrivenReceiver r{Start{.paths = 3, .up = 0b011}};
  CHECK(r.retry(0).did_nothing());
  r.fault(0);
  CHECK(r.retry(0).did_nothing());
  CHECK(r.retry(2).did_nothing());
  r.fenced(0);
  CHECK(r.retry(2).did(Do::prepare, 2));
}

TEST_CASE("re-arm numbers skip 0, which is no number, when they wrap") {
  DrivenReceiver r{Start{.up = 0b10, .number = 0xffff}};
  r.retry(0);
  REQUIRE(r.did(Do::prepare, 0));
  CHECK(r.did(Do::prepare)->number == 1);
}

TEST_CASE(
    "a stranded receiver decides as soon as a path is armed, also the one that was in use last") {
  DrivenReceiver r;
  Peer s;
  r.fault(1).fenced(1);
  s.loses(1);
  s.loses(0);
  r.fault(0).fenced(0);
  r.hear(s.suspect(0));
  r.at.done = 5;
  SUBCASE("the last") {
    arm(r, s, 0);
    REQUIRE(r.did(Do::switch_to, 0));
  }
  SUBCASE("another") {
    arm(r, s, 1);
    REQUIRE(r.did(Do::switch_to, 1));
  }
  CHECK(r.did(Do::switch_to)->epoch == 2);
  CHECK(r.did(Do::switch_to)->position == 5);
  CHECK(r.did(Do::armed));
}

TEST_CASE("a path armed while the path in use is made quiet waits for the decision") {
  OnBackup x;
  x.r.retry(0).prepared(0);
  x.r.hear(x.s.answer(0, 2)).connected(0).probed(0);
  x.r.fault(1);
  x.s.m.arm = Arm::none;
  x.s.has_up(0, 2);
  x.r.hear(x.s.say());
  CHECK(x.r.did(Do::armed, 0));
  CHECK_FALSE(x.r.did(Do::switch_to));
  CHECK(x.r.fenced(1).did(Do::switch_to, 0));
}

// ---- Planned return
// -----------------------------------------------------------------------------------

struct Draining : OnBackup {
  Draining() {
    arm(r, s, 0);
    r.go_back_to(0);
  }
  Message drained(Step position) {
    s.m.position = position;
    s.m.drain = 1;
    s.m.asks = 1;
    return s.say(Kind::drained);
  }
};

TEST_CASE(
    "a return asks the sender to drain, repeatedly, and switches when all that was sent is here") {
  Draining x;
  CHECK(x.r.did(Do::send));
  CHECK(x.r.mode() == Mode::draining);
  CHECK(x.r.machine.may_post());
  CHECK(x.r.say().kind == Kind::drain);
  CHECK(x.r.say().drain == 1);
  CHECK(x.r.tick().did(Do::send));
  x.r.at.done = 4;
  x.r.hear(x.drained(5));
  CHECK_FALSE(x.r.did(Do::switch_to));
  CHECK(x.r.did(Do::answer));
  x.r.at.done = 5;
  x.r.hear(x.drained(5));
  REQUIRE(x.r.did(Do::switch_to, 0));
  CHECK(x.r.did(Do::switch_to)->position == 5);
  CHECK_FALSE(x.r.did(Do::fence));
  CHECK(x.r.common().is_up(1));  // Still a backup.
}

TEST_CASE("an answer to another drain, or of another epoch, is inert") {
  Draining x;
  Message m = x.drained(0);
  m.drain = 0;
  CHECK_FALSE(x.r.hear(m).did(Do::switch_to));
  m = x.drained(0);
  m.epoch = 1;
  CHECK_FALSE(x.r.hear(m).did(Do::switch_to));
}

TEST_CASE("the target dies while draining: the switch goes to the current path, as a cancel") {
  Draining x;
  SUBCASE("here") { x.r.fault(0); }
  SUBCASE("at the sender") {
    x.s.loses(0);
    x.r.hear(x.s.say());
  }
  CHECK(x.r.mode() == Mode::draining);
  x.r.hear(x.drained(0));
  CHECK(x.r.did(Do::switch_to, 1));
  CHECK(x.r.common().epoch == 3);
}

TEST_CASE("the path in use dies while draining: an ordinary decision") {
  Draining x;
  SUBCASE("here") { x.r.fault(1); }
  SUBCASE("at the sender") { x.r.hear(x.s.suspect(1)); }
  CHECK(x.r.did(Do::stop));
  CHECK(x.r.did(Do::fence, 1));
  CHECK_FALSE(x.r.hear(x.drained(0)).did(Do::switch_to));
  x.r.fenced(1);
  CHECK(x.r.did(Do::switch_to, 0));
}

TEST_CASE(
    "no return to a path that is not armed, not better, or before the last switch is adopted") {
  OnBackup x;
  CHECK(x.r.go_back_to(0).did_nothing());
  arm(x.r, x.s, 0);
  CHECK(x.r.go_back_to(1).did_nothing());
  x.r.fault(0).fenced(0);
  x.s.loses(0);
  x.r.hear(x.s.say());
  arm(x.r, x.s, 0);
  x.r.fault(1).fenced(1);
  CHECK(x.r.common().path == 0);
  CHECK(x.r.go_back_to(0).did_nothing());
  x.r.fault(0);
  CHECK(x.r.go_back_to(0).did_nothing());
}

TEST_CASE("no return before the sender has adopted the switch under way") {
  DrivenReceiver r{Start{.paths = 3, .up = 0b110}};
  Peer s{Start{.paths = 3, .up = 0b110}};
  arm(r, s, 0);
  r.fault(1).fenced(1);  // Goes to 0, the lowest.
  r.fault(0).fenced(0);  // Goes to 2.
  CHECK(r.common().path == 2);
  s.loses(0);
  s.loses(1);
  r.hear(s.say(Kind::suspect));
  arm(r, s, 0);
  CHECK(r.go_back_to(0).did_nothing());
  r.hear(s.adopt(r.common().epoch, 2));
  CHECK(r.go_back_to(0).did(Do::send));
}

// ---- The end
// --------------------------------------------------------------------------------------------

TEST_CASE("a fence that fails ends the connection: nothing is decided") {
  DrivenReceiver r;
  r.fault(0);
  r.fenced(0, false);
  CHECK_FALSE(r.did(Do::switch_to));
  CHECK(r.did(Do::fence, 1));
  CHECK(r.common().fence_failed);
  CHECK(r.say().kind == Kind::abort);
  CHECK(r.say().cause == Cause::fence_failed);
}

TEST_CASE("a fatal fault is told until the sender speaks of the end, and ends when all is quiet") {
  DrivenReceiver r;
  Peer s;
  r.fatal(Cause::remote_error);
  CHECK(r.did(Do::stop));
  CHECK(r.did(Do::fence, 0));
  CHECK(r.did(Do::fence, 1));
  CHECK(r.say().kind == Kind::abort);
  CHECK(r.say().quiet == 0);
  CHECK(r.hear(s.say()).did_nothing());
  s.m.asks = 1;
  CHECK(r.hear(s.say()).did(Do::answer));
  r.hear(s.end(Kind::abort));
  CHECK_FALSE(r.did(Do::finish));
  CHECK(r.fenced(0).did(Do::send));
  r.fenced(1);
  CHECK(r.say().quiet == 1);
  CHECK(r.did(Do::send));  // The position is final now.
  REQUIRE(r.did(Do::finish));
  CHECK(r.did(Do::finish)->cause == Cause::remote_error);
}

TEST_CASE("a fatal fault of the sender becomes the cause for both") {
  DrivenReceiver r;
  Peer s;
  s.m.cause = Cause::local_error;
  r.hear(s.say(Kind::fatal));
  CHECK(r.say().kind == Kind::abort);
  CHECK(r.say().cause == Cause::local_error);
  CHECK(r.tick().did(Do::send));
}

TEST_CASE("fatal faults at both ends at once: this end's cause is the verdict") {
  DrivenReceiver r;
  Peer s;
  r.fatal(Cause::remote_error);
  s.m.cause = Cause::local_error;
  s.m.asks = 1;
  r.hear(s.say(Kind::fatal));
  CHECK(r.did(Do::answer));
  CHECK(r.say().cause == Cause::remote_error);
}

TEST_CASE(
    "a sender that ended alone is answered only when it asks, and its last word is followed") {
  DrivenReceiver r;
  Peer s;
  SUBCASE("while this end is ending too") {
    r.fatal(Cause::remote_error);
    s.m.cause = Cause::local_error;
    CHECK(r.hear(s.say(Kind::fatal)).did_nothing());  // Else both would talk without pause.
    r.hear(s.end(Kind::abort)).fenced(0).fenced(1);
    REQUIRE(r.did(Do::finish));
    CHECK(r.did(Do::finish)->cause == Cause::remote_error);
  }
  SUBCASE("while this end knows nothing of it") {
    s.m.cause = Cause::local_error;
    r.hear(s.end(Kind::abort)).fenced(0).fenced(1);
    REQUIRE(r.did(Do::finish));
    CHECK(r.did(Do::finish)->cause == Cause::local_error);
  }
}

TEST_CASE("data that arrives while the connection ends does not change why it ends") {
  DrivenReceiver r;
  r.fault(0).fenced(0);
  r.fatal(Cause::remote_error);
  r.machine.on_data();
  CHECK(r.say().cause == Cause::remote_error);
}

TEST_CASE("a fatal fault of the sender goes before this end's close") {
  DrivenReceiver r;
  Peer s;
  r.close().fenced(0).fenced(1);
  s.m.cause = Cause::local_error;
  r.hear(s.say(Kind::fatal));
  CHECK(r.say().kind == Kind::abort);
  CHECK(r.say().cause == Cause::local_error);
  r.hear(s.end(Kind::abort));
  REQUIRE(r.did(Do::finish));
  CHECK(r.did(Do::finish)->cause == Cause::local_error);
}

TEST_CASE("close is repeated until the sender answers, in every mode") {
  OnBackup x;
  DrivenReceiver& r = x.r;
  SUBCASE("running") {}
  SUBCASE("deciding") { r.fault(1); }
  SUBCASE("stranded") { r.fault(1).fenced(1); }
  SUBCASE("arming") { r.retry(0); }
  SUBCASE("draining") {
    arm(r, x.s, 0);
    r.go_back_to(0);
  }
  SUBCASE("not adopted") {
    arm(r, x.s, 0);
    r.fault(1).fenced(1);
  }
  r.close();
  CHECK(r.did(Do::stop));
  CHECK(r.say().kind == Kind::closing);
  CHECK(r.tick().did(Do::send));
  r.fenced(0).fenced(1);
  CHECK(r.common().all_quiet());
  r.hear(x.s.end(Kind::closed));
  REQUIRE(r.did(Do::finish));
  CHECK(r.did(Do::finish)->cause == Cause::closed);
}

TEST_CASE("a sender that closes is answered when all that it completed is here") {
  DrivenReceiver r;
  Peer s;
  r.at.done = 4;
  s.m.tail = 5;
  s.m.position = 6;
  s.m.asks = 1;
  r.hear(s.say(Kind::closing));
  CHECK_FALSE(r.did(Do::fence));
  r.at.done = 5;
  r.hear(s.end(Kind::closing));  // What it sent and never saw completed is not waited for.
  CHECK(r.did(Do::fence, 0));
  CHECK(r.say().kind == Kind::closed);
  r.fenced(0).fenced(1);
  REQUIRE(r.did(Do::finish));
  CHECK(r.did(Do::finish)->cause == Cause::peer_closed);
}

TEST_CASE(
    "a sender that closes with more completed than can ever arrive: both ends end as behind") {
  DrivenReceiver r;
  Peer s;
  r.fault(0).fenced(0);
  r.fault(1).fenced(1);
  REQUIRE(r.mode() == Mode::stranded);
  r.at.done = 4;
  s.m.tail = 5;
  r.hear(s.end(Kind::closing));
  REQUIRE(r.did(Do::finish));
  CHECK(r.did(Do::finish)->cause == Cause::position_behind);
}

TEST_CASE("the end waits for the sender's last word: until it is quiet it may complete more") {
  DrivenReceiver r;
  Peer s;
  r.at.done = 4;
  r.close().fenced(0).fenced(1);
  s.m.tail = 4;
  r.hear(s.say(Kind::closed));
  CHECK_FALSE(r.did(Do::finish));
  CHECK(r.tick().did(Do::send));
  SUBCASE("and it did: this end lacks a step that was released on its acknowledgement") {
    s.m.tail = 5;
    r.hear(s.end(Kind::closed));
    REQUIRE(r.did(Do::finish));
    CHECK(r.did(Do::finish)->cause == Cause::position_behind);
  }
  SUBCASE("and it did not") {
    r.hear(s.end(Kind::closed));
    REQUIRE(r.did(Do::finish));
    CHECK(r.did(Do::finish)->cause == Cause::closed);
  }
}

TEST_CASE("both ends close at once: each ends as closed") {
  DrivenReceiver r;
  Peer s;
  r.close().fenced(0).fenced(1);
  r.hear(s.end(Kind::closing));
  REQUIRE(r.did(Do::finish));
  CHECK(r.did(Do::finish)->cause == Cause::closed);
}

TEST_CASE("after the linger deadline the end comes without the sender and without the fences") {
  DrivenReceiver r;
  CHECK(r.linger().did_nothing());
  r.close();
  r.linger();
  REQUIRE(r.did(Do::finish));
  CHECK(r.linger().did_nothing());
}

TEST_CASE("when all is over a sender that asks still gets the last word") {
  DrivenReceiver r;
  Peer s;
  r.close().linger();
  s.m.asks = 1;
  r.hear(s.say());
  CHECK(r.out.count == 1);
  CHECK(r.did(Do::answer));
  s.m.asks = 0;
  CHECK(r.hear(s.say()).did_nothing());
  CHECK(r.fault(0).did_nothing());
  CHECK(r.retry(0).did_nothing());
  CHECK(r.go_back_to(0).did_nothing());
  CHECK(r.tick().did_nothing());
}

TEST_CASE("after the outage deadline the first cause of the outage is the verdict") {
  DrivenReceiver r;
  r.fault(0, Cause::port_down).fenced(0);
  r.fault(1, Cause::stall).fenced(1);
  r.outage();
  CHECK(r.say().kind == Kind::abort);
  CHECK(r.say().cause == Cause::port_down);
}

// ---- The start
// ----------------------------------------------------------------------------------------------

TEST_CASE("with the primary down at start the backup is in use and the primary can be tried") {
  DrivenReceiver r{Start{.up = 0b10}};
  CHECK(r.machine.may_post());
  CHECK(r.common().path == 1);
  CHECK(r.retry(0).did(Do::prepare, 0));
}

TEST_CASE("with no path up at start any can be tried, and the first that is armed is used") {
  Start const start{.up = 0};
  DrivenReceiver r{start};
  Peer s{start};
  CHECK(r.mode() == Mode::stranded);
  arm(r, s, 1);
  CHECK(r.did(Do::switch_to, 1));
}

TEST_CASE("a question is answered, and without one nothing is sent") {
  DrivenReceiver r;
  Peer s;
  CHECK(r.hear(s.say()).did_nothing());
  s.m.asks = 1;
  CHECK(r.hear(s.say()).did(Do::answer));
  CHECK(r.tick().did_nothing());
}

}  // namespace
