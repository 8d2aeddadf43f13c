// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/failover_core.hpp>

#include <vccl/policies/fence/local_error.hpp>
#include <vccl/policies/fence/no_fence.hpp>

#include <detail/failover_rig.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace vccl;
using namespace vccl::literals;
using test::FakeEnd;
using test::Pair;
using Kind = Event::Kind;
using Said = sync::Kind;

namespace {
using Sender = FakeEnd<End::sender>;
using Receiver = FakeEnd<End::receiver>;

struct WithoutFence : Resilient {
  using Fence = fence::NoFence;
};
struct LocalFence : Resilient {
  using Fence = fence::LocalError<>;
};

/// A message of the peer in its first words.
template <class E>
detail::ControlFrame word(E& at, Said kind, std::uint32_t sequence) {
  detail::ControlFrame f;
  sync::Message& m = f.message;
  m.session = 5;
  m.sequence = sequence;
  m.epoch = at.driver.machine().common().epoch;
  m.numbers = {1, 1, 0, 0};
  m.kind = kind;
  m.up = 0b11;
  return f;
}
}  // namespace

// ---- What a failed completion is

TEST_CASE("a path verdict loses the path, and is counted and told with its cause") {
  Receiver at;
  at.fail(0, Status::retry_exceeded);
  CHECK(at.lost(0));
  CHECK_FALSE(at.driver.may_post());
  CHECK(at.driver.urgent());
  ConnectionStatus const s = at.status();
  CHECK(s.counters.path_faults == 1);
  CHECK(s.cause == Cause::retry_exceeded);
  CHECK(s.path_causes[0] == Cause::retry_exceeded);
  CHECK(s.usable_paths == 0b10);
  REQUIRE(at.events.size() == 1);
  CHECK(at.events[0].kind == Kind::path_lost);
  CHECK(at.events[0].path == 0);
  CHECK(at.events[0].cause == Cause::retry_exceeded);
}

TEST_CASE("a fatal verdict ends the connection with its cause; so does a status of no table") {
  auto const ends_with = [](Status status) {
    Receiver at;
    at.fail(0, status);
    CHECK(at.driver.ending());
    CHECK_FALSE(at.driver.may_post());
    CHECK(at.count(Kind::path_lost) == 0);
    CHECK(at.status().counters.path_faults == 0);
    return at.status().cause;
  };
  CHECK(ends_with(Status::local_protection) == Cause::local_error);
  CHECK(ends_with(Status::remote_access) == Cause::remote_error);
  CHECK(ends_with(Status::rnr_retry_exceeded) == Cause::protocol_error);
  CHECK(ends_with(Status{99}) == Cause::unknown_status);
}

TEST_CASE("a failed completion that its detector says nothing of ends the connection") {
  struct Blind : Resilient {
    using Detector = detect::PortEvent<>;
  };
  FakeEnd<End::receiver, Blind> at;
  at.fail(0, Status::retry_exceeded);
  CHECK(at.status().cause == Cause::unknown_status);
}

TEST_CASE("status 2 is a path fault when the port or its address is gone, and fatal otherwise") {
  Receiver gone;
  gone.usable[0] = false;
  gone.fail(0, Status::local_qp_operation);
  CHECK(gone.status().path_causes[0] == Cause::address_gone);
  CHECK_FALSE(gone.driver.ending());
  Receiver there;
  there.usable[1] = false;  // Of another path.
  there.fail(0, Status::local_qp_operation);
  CHECK(there.driver.ending());
}

TEST_CASE("errors of a path that was left are no new faults, whatever they say") {
  Receiver at;
  at.path(0).all_in = false;
  at.fail(0, Status::retry_exceeded);
  for (Status s : {Status::flushed, Status::local_protection, Status{99}}) at.fail(0, s);
  CHECK_FALSE(at.driver.ending());
  CHECK(at.status().counters.path_faults == 1);
  at.path(0).all_in = true;
  at.serve();
  at.fail(0, Status::flushed);  // Down by now.
  CHECK(at.status().counters.path_faults == 1);
}

// ---- Fences

TEST_CASE("a receiver switches when its fence is done, at the position that the drain brought") {
  Receiver at;
  at.at.done = 7;
  at.path(0).all_in = false;
  at.fail(0);
  at.serve();
  CHECK(at.switches.empty());
  CHECK(at.path(0).resets == 0);
  CHECK(at.path(0).polls == 1);  // Drained by polling.
  at.at.done = 9;
  at.path(0).all_in = true;
  at.serve();
  CHECK(at.path(0).resets == 1);
  CHECK(at.path(0).forgets == 1);
  REQUIRE(at.switches.size() == 1);
  CHECK(at.switches[0].path == 1);
  CHECK(at.switches[0].epoch == 2);
  CHECK(at.switches[0].position == 9);
  CHECK(at.driver.may_post());
  CHECK(at.status().counters.failovers == 1);
  CHECK(at.count(Kind::fenced) == 1);
  CHECK(at.count(Kind::switched) == 1);
  int const polls = at.path(0).polls;
  at.serve();
  CHECK(at.path(0).polls == polls);  // It is down: nothing is there to poll.
  CHECK(at.path(1).polls > 0);
}

TEST_CASE("the path that is lost and not in use changes nothing but what is left") {
  Receiver at;
  at.fail(1);
  at.serve();
  CHECK(at.switches.empty());
  CHECK(at.driver.may_post());
  CHECK(at.status().active_path == 0);
  CHECK_FALSE(at.status().has_backup);
  CHECK(at.status().counters.path_faults == 1);
}

TEST_CASE("a sender asks, and switches when its own fence is done and the receiver has decided") {
  for (bool fence_first : {true, false}) {
    CAPTURE(fence_first);
    Sender at;
    at.path(0).all_in = fence_first;
    at.fail(0);
    at.serve();
    CHECK(at.piped.back().message.kind == Said::suspect);
    CHECK(at.piped.back().message.asks == 1);
    CHECK(at.path(1).said.size() == 1);  // Over the path that works as well.
    CHECK(at.path(0).said.empty());
    auto decided = word(at, Said::state, 1);
    decided.message.epoch = 2;
    decided.message.path = 1;
    decided.message.position = 4;
    decided.message.up = 0b10;
    decided.message.down = 0b01;
    CHECK(at.switches.empty());
    at.driver.on_message(at, decided, 1);
    CHECK(at.switches.size() == (fence_first ? 1 : 0));
    at.path(0).all_in = true;
    at.serve();
    REQUIRE(at.switches.size() == 1);
    CHECK(at.switches[0].position == 4);
    CHECK(at.driver.may_post());
    CHECK(at.status().epoch == 2);
    CHECK(at.status().cause == Cause::none);
  }
}

TEST_CASE("a fence that cannot be had ends the connection, and says that buffers are not safe") {
  Receiver at;
  at.path(0).reset = Errc::failed;
  at.fail(0);
  at.serve();
  CHECK(at.driver.ending());
  CHECK(at.status().cause == Cause::fence_failed);
  CHECK(at.status().buffers_unsafe);
  CHECK(at.switches.empty());
  REQUIRE(at.count(Kind::fenced) == 1);
  CHECK(at.events[1].cause == Cause::fence_failed);
}

TEST_CASE("a fence that hangs is given up after the linger time, not before") {
  Receiver at;
  at.path(0).reset = Errc::would_block;
  at.fail(0);
  at.pass(1'999);
  CHECK_FALSE(at.driver.ending());
  CHECK(at.switches.empty());
  at.pass(2);
  CHECK(at.status().cause == Cause::fence_failed);
  CHECK(at.status().buffers_unsafe);
}

TEST_CASE("an end that is not fenced in time leaves buffers unsafe") {
  Receiver at;
  at.path(0).reset = at.path(1).reset = Errc::would_block;
  at.driver.close(at);
  at.serve();
  CHECK_FALSE(at.status().buffers_unsafe);  // It goes on.
  at.pass(2'001);
  REQUIRE(at.finishes.size() == 1);
  CHECK(at.status().buffers_unsafe);
}

TEST_CASE("NoFence switches at once and leaves the old path as it is") {
  FakeEnd<End::receiver, WithoutFence> at;
  at.fail(0);
  REQUIRE(at.switches.size() == 1);
  CHECK(at.path(0).resets == 0);
  CHECK(at.driver.may_post());
  at.serve();
  CHECK(at.path(0).resets == 0);
  CHECK(at.status().counters.failovers == 1);
}

TEST_CASE("an outage lasts from the fault to the first new step, fenced or not") {
  auto const outage = [](auto end) {
    auto& at = *end;
    at.at.done = 5;
    at.waiting = true;
    at.pass(10);
    at.fail(0);
    at.pass(20);
    at.at.done = 6;
    at.pass(1);
    CHECK(at.status().outage >= 19_ms);
    CHECK(at.status().outage <= 22_ms);
    Duration const first = at.status().outage;
    at.pass(50);
    CHECK(at.status().outage == first);
    at.at.done = 7;
    at.pass(1);
    CHECK(at.status().outage == first);
  };
  outage(std::make_unique<Receiver>());
  outage(std::make_unique<FakeEnd<End::receiver, WithoutFence>>());
}

TEST_CASE("LocalError fences the sender and not the receiver") {
  FakeEnd<End::sender, LocalFence> sender;
  sender.fail(0);
  sender.serve();
  CHECK(sender.path(0).resets == 1);
  FakeEnd<End::receiver, LocalFence> receiver;
  receiver.fail(0);
  receiver.serve();
  CHECK(receiver.path(0).resets == 0);
  CHECK(receiver.switches.size() == 1);
}

// ---- Messages

TEST_CASE("what is said goes over every usable path and the pipe, as the channels have it") {
  Receiver both;
  both.driver.ask_send();
  CHECK(both.driver.urgent());
  both.serve();
  CHECK(both.path(0).said.size() == 1);
  CHECK(both.path(1).said.size() == 1);
  CHECK(both.piped.size() == 1);
  CHECK(both.status().counters.messages_sent == 1);
  CHECK_FALSE(both.driver.urgent());

  FakeEnd<End::receiver, Resilient, sync::ReceiverDecides<sync::InBand>> in;
  in.driver.ask_send();
  in.serve();
  CHECK(in.path(0).said.size() == 1);
  CHECK(in.piped.empty());

  FakeEnd<End::receiver, Resilient, sync::ReceiverDecides<sync::OutOfBand>> out;
  out.driver.ask_send();
  out.serve();
  CHECK(out.path(0).said.empty());
  CHECK(out.piped.size() == 1);
}

TEST_CASE("an answer asks nothing, or two ends would talk for ever") {
  Receiver at;
  auto question = word(at, Said::state, 1);
  question.message.asks = 1;
  at.driver.on_message(at, question, no_path);
  at.serve();
  REQUIRE(at.piped.size() == 1);
  CHECK(at.piped[0].message.asks == 0);
  CHECK(at.status().counters.messages_taken == 1);
}

TEST_CASE("messages of the two ends do not go on when nothing happens") {
  Pair<> both;
  both.sender.driver.ask_send();
  both.receiver.driver.ask_send();
  both.pass(200);
  CHECK(both.sender.status().counters.messages_sent == 1);
  CHECK(both.receiver.status().counters.messages_sent == 1);
}

TEST_CASE("a message carries addresses only while a path is being armed") {
  Receiver at{0b01};  // Path 1 never came up.
  at.driver.ask_send();
  at.serve();
  CHECK(at.piped.back().lanes == 0);
  at.path(1).speed = 400;
  at.pass(400);  // The first attempt is under way.
  REQUIRE(at.piped.back().message.arm == sync::Arm::offer);
  CHECK(at.piped.back().message.arm_path == 1);
  CHECK(at.piped.back().lanes == max_lanes);
  CHECK(at.piped.back().addresses[0].speed_mbps == 400);
}

TEST_CASE("the peer's position confirms while this end goes on in its epoch") {
  Sender at;
  auto m = word(at, Said::state, 1);
  m.message.position = 3;
  at.driver.on_message(at, m, 0);
  CHECK(at.confirmations == std::vector<Step>{3});
  SUBCASE("not in another epoch") {
    m.message.sequence = 2;
    m.message.epoch = 0;
    at.driver.on_message(at, m, 0);
  }
  SUBCASE("not of another session") {
    m.message.session = 6;
    at.driver.on_message(at, m, 0);
  }
  SUBCASE("not while its path is out") {
    at.fail(0);
    m.message.sequence = 2;
    at.driver.on_message(at, m, 1);
  }
  CHECK(at.confirmations.size() == 1);
}

TEST_CASE("a message of another session changes nothing") {
  Receiver at;
  auto m = word(at, Said::fatal, 9);
  m.message.session = 6;
  at.driver.on_message(at, m, 0);
  CHECK_FALSE(at.driver.ending());
  m.message.session = 5;
  at.driver.on_message(at, m, 0);
  CHECK(at.driver.ending());
}

TEST_CASE(
    "a sender is silent on a path that is being armed until it has heard the receiver there") {
  Pair<> both;
  both.kill(1);
  both.pass(5);
  both.open = {true, false, true};
  for (int i = 0; i < 1000; ++i) {
    both.pass(1);
    auto const& p = both.sender.driver.machine().common().paths[1];
    if (p.phase == sync::receiver_decides::Phase::probing) break;
  }
  both.sender.path(0).said.clear();
  both.sender.path(1).said.clear();
  both.sender.driver.ask_send();
  both.sender.serve();
  CHECK(both.sender.path(0).said.size() == 1);
  CHECK(both.sender.path(1).said.empty());
  both.open = {true, true, true};
  both.pass(100);
  CHECK(both.sender.driver.machine().common().is_up(1));
  both.sender.path(1).said.clear();
  both.sender.driver.ask_send();
  both.sender.serve();
  CHECK(both.sender.path(1).said.size() == 1);
}

// ---- The end

TEST_CASE("close is told as closed, at both ends, each with its word for it") {
  Pair<> both;
  both.sender.driver.close(both.sender);
  both.pass(20);
  REQUIRE(both.sender.finishes.size() == 1);
  REQUIRE(both.receiver.finishes.size() == 1);
  CHECK(both.sender.finishes[0].cause == Cause::closed);
  CHECK(both.receiver.finishes[0].cause == Cause::peer_closed);
  CHECK(both.sender.count(Kind::closed) == 1);
  CHECK(both.receiver.count(Kind::closed) == 1);
  CHECK(both.sender.count(Kind::path_lost) == 0);  // An end is no loss.
  CHECK(both.sender.path(0).resets == 1);
  CHECK(both.receiver.path(1).resets == 1);
}

TEST_CASE("what ends it for one ends it for both, with the same cause and the final position") {
  Pair<> both;
  both.receiver.at.done = 12;
  both.sender.driver.fatal(both.sender, Cause::user_abort);
  both.pass(20);
  REQUIRE(both.sender.finishes.size() == 1);
  REQUIRE(both.receiver.finishes.size() == 1);
  CHECK(both.sender.finishes[0].cause == Cause::user_abort);
  CHECK(both.sender.finishes[0].position == 12);
  CHECK(both.sender.finishes[0].final_position);
  CHECK(both.receiver.finishes[0].cause == Cause::user_abort);
  CHECK(both.sender.count(Kind::aborted) == 1);
}

TEST_CASE("a sender that has completed what the receiver lacks ends it as position_behind") {
  Pair<> both;
  both.sender.at = {.done = 5, .tail = 8};
  both.receiver.at = {.done = 4, .tail = 9};
  both.kill(0);
  both.pass(50);
  REQUIRE(both.sender.finishes.size() == 1);
  REQUIRE(both.receiver.finishes.size() == 1);
  CHECK(both.sender.finishes[0].cause == Cause::position_behind);
  CHECK(both.receiver.finishes[0].cause == Cause::position_behind);
}

// ---- Status

TEST_CASE("status tells which paths can be used, and why others cannot") {
  Receiver at{0b101, 3};
  ConnectionStatus s = at.status();
  CHECK(s.usable_paths == 0b101);
  CHECK(s.has_backup);
  CHECK(s.active_path == 0);
  CHECK(s.epoch == 1);
  CHECK(s.path_causes[1] == Cause::not_armed);
  at.fail(2, Status::flushed);
  s = at.status();
  CHECK_FALSE(s.has_backup);
  CHECK(s.path_causes[2] == Cause::flushed);
}

TEST_CASE("a path that was never up is no loss, and one that is lost twice is two") {
  Pair<> both{0b01};
  CHECK(both.receiver.status().counters.path_faults == 0);
  both.pass(400);
  REQUIRE(both.receiver.driver.machine().common().is_up(1));
  CHECK(both.receiver.status().counters.rearms == 1);
  CHECK(both.sender.status().counters.rearms == 1);
  both.kill(1);
  both.pass(5);
  CHECK(both.receiver.status().counters.path_faults == 1);
  both.open[1] = true;
  both.pass(1'000);
  both.kill(1);
  both.pass(5);
  CHECK(both.receiver.status().counters.path_faults == 2);
  CHECK(both.receiver.count(Kind::rearmed) == 2);
}
