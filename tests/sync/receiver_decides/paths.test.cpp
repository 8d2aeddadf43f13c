// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/receiver_decides/paths.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using namespace vccl;
using namespace vccl::sync;
using namespace vccl::sync::receiver_decides;

Message from_peer(Common const& c, std::uint32_t sequence) {
  Message m;
  m.session = c.session;
  m.sequence = sequence;
  m.up = c.peer_up;
  m.down = c.peer_down;
  m.numbers = c.peer_numbers;
  return m;
}

TEST_CASE("a connection of 1 to 4 paths starts on the lowest one that both ends connected") {
  for (std::uint8_t paths = 1; paths <= 4; ++paths) {
    for (PathId first = 0; first < paths; ++first) {
      Common const c{Start{
          .paths = paths, .up = static_cast<std::uint8_t>(0b1111u << first & ((1u << paths) - 1))}};
      CHECK(c.path == first);
      CHECK(c.count == paths);
      for (PathId q = 0; q < paths; ++q) CHECK(c.is_up(q) == (q >= first));
    }
  }
}

TEST_CASE("a path that is down at start is quiet, and both ends know it") {
  Common const c{Start{.paths = 2, .up = 0b10}};
  CHECK(c.paths[0].phase == Phase::down);
  CHECK(c.paths[0].cause == Cause::not_armed);
  CHECK(c.peer_has_lost(0));
  CHECK_FALSE(c.peer_must_learn());
}

TEST_CASE("a path is left once: fenced under its number, whatever it was doing") {
  for (Phase p : {Phase::up, Phase::preparing, Phase::offered, Phase::connecting, Phase::probing}) {
    Common c{Start{.number = 9}};
    c.paths[1].phase = p;
    Actions out;
    CHECK(c.lose(1, Cause::port_down, out));
    REQUIRE(out.count == 1);
    CHECK(*out.begin() ==
          Action{.kind = Action::Kind::fence, .path = 1, .cause = Cause::port_down, .number = 9});
    CHECK_FALSE(c.lose(1, Cause::stall, out));
    CHECK(out.count == 1);
    CHECK(c.paths[1].cause == Cause::port_down);
  }
}

TEST_CASE("the message with the highest sequence number counts, also across the wrap") {
  Common c{Start{}};
  CHECK(c.take(from_peer(c, 0xffff'fffe)));
  CHECK(c.take(from_peer(c, 0xffff'ffff)));
  CHECK(c.take(from_peer(c, 1)));
  CHECK_FALSE(c.take(from_peer(c, 1)));
  CHECK_FALSE(c.take(from_peer(c, 0xffff'ffff)));
}

TEST_CASE("a message of another session changes nothing") {
  Common c{Start{.session = 7}};
  Common const before = c;
  Message m = from_peer(c, 5);
  m.session = 8;
  m.down = 0b11;
  CHECK_FALSE(c.take(m));
  CHECK(c == before);
}

TEST_CASE("what the peer says of a path counts only under the same number") {
  Common c{Start{.number = 5}};
  Message m = from_peer(c, 1);
  m.up = 0;
  m.down = 0b10;
  m.numbers[1] = 4;
  REQUIRE(c.take(m));
  CHECK_FALSE(c.peer_has_lost(1));
  CHECK_FALSE(c.peer_has_up(0));
}

TEST_CASE("a peer that is at a newer number has left the path under the older one") {
  Common c{Start{.number = 0xffff}};
  Message m = from_peer(c, 1);
  m.numbers[1] = 1;
  REQUIRE(c.take(m));
  CHECK(c.peer_has_lost(1));
}

TEST_CASE("the peer must learn of a path that was left until it says that it left it too") {
  Common c{Start{}};
  Actions out;
  REQUIRE_FALSE(c.peer_must_learn());
  c.lose(0, Cause::stall, out);
  CHECK(c.peer_must_learn());
  SUBCASE("also when this end has tried to bring it up again meanwhile and failed") {
    c.paths[0].number = 2;
    c.paths[0].phase = Phase::down;
    CHECK(c.peer_must_learn());
  }
  Message m = from_peer(c, 1);
  m.up = 0b10;
  m.down = 0b01;
  REQUIRE(c.take(m));
  CHECK_FALSE(c.peer_must_learn());
}

TEST_CASE("the end stops, fences every path that is not quiet yet, and keeps its first cause") {
  Common c{Start{.paths = 3, .up = 0b011}};
  Actions out;
  c.end(Ending::asked, Kind::abort, Cause::local_error, out);
  CHECK(out.count == 4);  // stop, two fences, send
  CHECK_FALSE(c.all_quiet());
  c.end(Ending::asked, Kind::closing, Cause::closed, out);
  CHECK(c.cause == Cause::local_error);
  CHECK(c.end_kind == Kind::abort);
}

TEST_CASE(
    "a snapshot says which paths are up and lost, under which numbers, and whether all is quiet") {
  Common c{Start{
      .session = 3, .epoch = 4, .paths = 3, .up = 0b101, .number = 6, .sequence = 0xffff'ffff}};
  Message const m = c.snapshot(true);
  CHECK(m.session == 3);
  CHECK(m.epoch == 4);
  CHECK(m.sequence == 0);
  CHECK(m.up == 0b101);
  CHECK(m.down == 0b010);
  CHECK(m.numbers[2] == 6);
  CHECK(m.asks == 1);
  CHECK(m.quiet == 0);
  c.paths[0].phase = c.paths[2].phase = Phase::down;
  CHECK(c.snapshot(false).quiet == 1);
  CHECK(c.sequence == 1);
}

TEST_CASE("a fence that is done makes its path quiet; one that failed ends the connection") {
  Common c{Start{.number = 3}};
  Actions out;
  c.lose(0, Cause::stall, out);
  CHECK_FALSE(c.fenced(0, 2, true, Kind::abort, out));  // Of an earlier attempt.
  CHECK_FALSE(c.fenced(1, 3, true, Kind::abort, out));  // Nobody asked for it.
  CHECK(c.fenced(0, 3, true, Kind::abort, out));
  CHECK(c.paths[0].phase == Phase::down);
  CHECK_FALSE(c.is_ending());
  c.lose(1, Cause::stall, out);
  CHECK(c.fenced(1, 3, false, Kind::abort, out));
  CHECK(c.fence_failed);
  CHECK(c.cause == Cause::fence_failed);
  CHECK(c.end_kind == Kind::abort);
}

TEST_CASE("an end can finish when the peer ends too, both are quiet, and each knows that") {
  Common c{Start{.paths = 1, .up = 0b1}};
  Actions out;
  c.end(Ending::asked, Kind::closing, Cause::closed, out);
  CHECK(c.end_awaits());
  c.ending = Ending::settled;
  CHECK(c.end_awaits());
  CHECK(c.fenced(0, 1, true, Kind::abort, out));
  CHECK_FALSE(c.can_finish());
  c.peer_final = true;
  CHECK_FALSE(c.end_awaits());
  CHECK(c.can_finish());
}

TEST_CASE("a close that leaves the receiver behind is an error; an abort is one already") {
  for (Kind kind : {Kind::closing, Kind::closed, Kind::abort}) {
    Common c{Start{}};
    Actions out;
    c.end(Ending::settled, kind, Cause::closed, out);
    c.end_over(true);
    CHECK(c.cause == (kind == Kind::abort ? Cause::closed : Cause::position_behind));
  }
}

TEST_CASE("after the end a question of the same session is answered, and nothing else") {
  Common c{Start{.session = 3}};
  Actions out;
  Message m;
  m.session = 3;
  m.asks = 1;
  CHECK_FALSE(c.is_over(m, out));
  c.ending = Ending::over;
  CHECK(c.is_over(m, out));
  REQUIRE(out.count == 1);
  CHECK(out.begin()->kind == Action::Kind::answer);
  out = {};
  m.session = 4;
  CHECK(c.is_over(m, out));
  CHECK(out.count == 0);
}

TEST_CASE("the state is a plain value without pointers") {
  CHECK(std::is_trivially_copyable_v<Common>);
}

}  // namespace
