// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/message.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using namespace vccl;
using sync::Action;
using sync::Actions;
using sync::Message;

TEST_CASE("messages and actions are plain values, so they can be copied, compared and replayed") {
  CHECK(std::is_trivially_copyable_v<Message>);
  CHECK(std::is_trivially_copyable_v<Actions>);
  CHECK(Message{} == Message{});
  CHECK(Action{} == Action{});
}

TEST_CASE("actions come out in the order in which they were asked for") {
  Actions out;
  out.add({.kind = Action::Kind::stop});
  out.add({.kind = Action::Kind::fence, .path = 1});
  REQUIRE(out.count == 2);
  CHECK(out.begin()[0].kind == Action::Kind::stop);
  CHECK(out.begin()[1].path == 1);
}

TEST_CASE("several sends become one, because one snapshot says everything") {
  Actions out;
  out.add({.kind = Action::Kind::send});
  out.add({.kind = Action::Kind::stop});
  out.add({.kind = Action::Kind::send});
  CHECK(out.count == 2);
}

TEST_CASE(
    "an answer and a send become one send, which asks and answers, in whatever order they come") {
  for (bool const send_first : {true, false}) {
    Actions out;
    out.add({.kind = send_first ? Action::Kind::send : Action::Kind::answer});
    out.add({.kind = send_first ? Action::Kind::answer : Action::Kind::send});
    REQUIRE(out.count == 1);
    CHECK(out.begin()->kind == Action::Kind::send);
  }
}

TEST_CASE("actions beyond the room are left out and nothing is overwritten") {
  Actions out;
  for (std::size_t i = 0; i < Actions::capacity + 3; ++i) out.add({.kind = Action::Kind::fence});
  CHECK(out.count == Actions::capacity);
}

TEST_CASE("abort, closing and closed end a connection; fatal waits for a verdict first") {
  for (sync::Kind k : {sync::Kind::abort, sync::Kind::closing, sync::Kind::closed}) {
    CHECK(sync::is_end(k));
  }
  for (sync::Kind k : {sync::Kind::state, sync::Kind::suspect, sync::Kind::fatal}) {
    CHECK_FALSE(sync::is_end(k));
  }
}

TEST_CASE("serial numbers compare across their wrap") {
  CHECK(newer(std::uint16_t{1}, std::uint16_t{0xffff}));
  CHECK_FALSE(newer(std::uint16_t{0xffff}, std::uint16_t{1}));
  CHECK(newer(std::uint32_t{0}, std::uint32_t{0xffff'ffff}));
  CHECK_FALSE(newer(std::uint32_t{7}, std::uint32_t{7}));
}

}  // namespace
