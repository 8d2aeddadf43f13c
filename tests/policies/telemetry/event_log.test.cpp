// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/telemetry/event_log.hpp>

#include <contracts/telemetry_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using telemetry::EventLog;

/// Records the events number `first` to `last`, told apart by their position.
template <class Log>
void record(Log& log, Step first, Step last) {
  for (Step i = first; i <= last; ++i) {
    log.record({.kind = Event::Kind::switched, .cause = Cause::port_down, .position = i, .at = {}});
  }
}

TEST_CASE_TEMPLATE("logs keep the contract of telemetry", Log, EventLog<>, EventLog<1>,
                   EventLog<3>) {
  CHECK(contracts::telemetry<Log>() == "");
}

TEST_CASE("a new log holds nothing and has lost nothing") {
  EventLog<4> log;
  Event none[1];
  CHECK(log.size() == 0);
  CHECK(log.lost() == 0);
  CHECK(log.events(none) == 0);
}

TEST_CASE("an event comes back as it was recorded") {
  EventLog<4> log;
  log.record({.kind = Event::Kind::path_lost,
              .end = End::receiver,
              .path = 2,
              .cause = Cause::stall,
              .epoch = 7,
              .position = 9,
              .at = Time{11}});
  REQUIRE(log.size() == 1);
  Event const& seen = log[0];
  CHECK(seen.kind == Event::Kind::path_lost);
  CHECK(seen.end == End::receiver);
  CHECK(seen.path == 2);
  CHECK(seen.cause == Cause::stall);
  CHECK(seen.epoch == 7);
  CHECK(seen.position == 9);
  CHECK(seen.at == Time{11});
}

TEST_CASE("a full log loses nothing") {
  EventLog<4> log;
  record(log, 1, 4);
  CHECK(log.size() == 4);
  CHECK(log.lost() == 0);
  CHECK(log[0].position == 1);
  CHECK(log[3].position == 4);
}

TEST_CASE("one event more takes the place of the oldest, which counts as lost") {
  EventLog<4> log;
  record(log, 1, 5);
  CHECK(log.size() == 4);
  CHECK(log.lost() == 1);
  CHECK(log[0].position == 2);
  CHECK(log[3].position == 5);
}

TEST_CASE("after many rounds the newest are kept, in order") {
  EventLog<4> log;
  record(log, 1, 1'003);
  CHECK(log.size() == 4);
  CHECK(log.lost() == 999);
  for (std::size_t i = 0; i < log.size(); ++i) CHECK(log[i].position == 1'000 + i);
}

TEST_CASE("a copy has all kept events, oldest first") {
  EventLog<4> log;
  record(log, 1, 6);
  Event copy[8];
  REQUIRE(log.events(copy) == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(copy[i].position == 3 + i);
  CHECK(copy[4].position == 0);
}

TEST_CASE("a copy into too little room has the newest that fit") {
  EventLog<4> log;
  record(log, 1, 6);
  Event copy[2];
  REQUIRE(log.events(copy) == 2);
  CHECK(copy[0].position == 5);
  CHECK(copy[1].position == 6);
  CHECK(log.events({}) == 0);
}

TEST_CASE("a log of one keeps the last event") {
  EventLog<1> log;
  record(log, 1, 3);
  CHECK(log.size() == 1);
  CHECK(log.lost() == 2);
  CHECK(log[0].position == 3);
}

template <std::size_t Capacity>
concept IsLog = requires { typename EventLog<Capacity>; };

TEST_CASE("a log holds at least one event") {
  CHECK(IsLog<1>);
  CHECK_FALSE(IsLog<0>);
}

}  // namespace
}  // namespace vccl::test
