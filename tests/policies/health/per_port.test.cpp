// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/health/per_port.hpp>

#include <contracts/health_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using Kind = vccl::PortEvent::Kind;
using health::PerPort;

constexpr Time at(Duration since_start) { return Time{} + since_start; }

/// Down for how long; -1 ns when up.
Duration down_for(PerPort const& board, PortId port, Time now) {
  PortWatch const seen = board.watch(port, now);
  return seen.down ? seen.down_for : Duration{-1};
}

constexpr Duration up{-1};
constexpr PortId port{5};

TEST_CASE("the board of ports keeps the contract of health") {
  CHECK(contracts::health<PerPort>() == "");
}

TEST_CASE("readers on other threads see whole outages only") {
  CHECK(contracts::health_while_watched<PerPort>() == "");
}

TEST_CASE("a port is down from its first error event on") {
  PerPort board;
  CHECK(down_for(board, port, at(1_s)) == up);
  board.note({.kind = Kind::port_error, .port = port}, at(1_s));
  CHECK(down_for(board, port, at(1_s)) == 0_ns);
  CHECK(down_for(board, port, at(1_s) + 50_ms) == 50_ms);
  board.note({.kind = Kind::port_error, .port = port}, at(2_s));
  CHECK(down_for(board, port, at(3_s)) == 2_s);
}

TEST_CASE(
    "a port is up again after its active event, and the next outage counts from its own event") {
  PerPort board;
  board.note({.kind = Kind::port_error, .port = port}, at(1_s));
  board.note({.kind = Kind::port_active, .port = port}, at(2_s));
  CHECK(down_for(board, port, at(9_s)) == up);
  board.note({.kind = Kind::port_error, .port = port}, at(3_s));
  CHECK(down_for(board, port, at(9_s)) == 6_s);
}

TEST_CASE("a dead device is down since the first event of its outage, until its port is active") {
  PerPort board;
  board.note({.kind = Kind::port_error, .port = port}, at(1_s));
  board.note({.kind = Kind::device_fatal, .port = port}, at(2_s));
  CHECK(down_for(board, port, at(3_s)) == 2_s);
  board.note({.kind = Kind::port_active, .port = port}, at(4_s));
  CHECK(down_for(board, port, at(5_s)) == up);
}

TEST_CASE("events about addresses and queues leave a port as it is") {
  PerPort board;
  for (Kind const kind : {Kind::address_change, Kind::qp_fatal, Kind::cq_error}) {
    board.note({.kind = kind, .port = port, .qp_num = 7}, at(1_s));
    CHECK(down_for(board, port, at(9_s)) == up);
  }
  board.note({.kind = Kind::port_error, .port = port}, at(2_s));
  for (Kind const kind : {Kind::address_change, Kind::qp_fatal, Kind::cq_error}) {
    board.note({.kind = kind, .port = port, .qp_num = 7}, at(3_s));
    CHECK(down_for(board, port, at(9_s)) == 7_s);
  }
}

TEST_CASE("an event that is newer than the reader's clock has lasted no time") {
  PerPort board;
  board.note({.kind = Kind::port_error, .port = port}, at(2_s));
  CHECK(down_for(board, port, at(1_s)) == 0_ns);
}

TEST_CASE("every one of the 64 ports has its own state") {
  PerPort board;
  auto const number = [](unsigned i) { return static_cast<PortId>(i); };
  for (unsigned i = 0; i < 64; ++i) {
    board.note({.kind = Kind::port_error, .port = number(i)}, Time{i});
  }
  for (unsigned i = 0; i < 64; ++i)
    CHECK(down_for(board, number(i), Time{100}) == Duration{100 - i});
  board.note({.kind = Kind::device_fatal, .port = number(63)}, Time{100});
  for (unsigned i = 0; i < 63; ++i) {
    board.note({.kind = Kind::port_active, .port = number(i)}, Time{100});
  }
  for (unsigned i = 0; i < 63; ++i) CHECK(down_for(board, number(i), Time{100}) == up);
  CHECK(down_for(board, number(63), Time{100}) == 37_ns);
}

TEST_CASE("a port beyond the 64th is ignored and looks up") {
  PerPort board;
  for (PortId const beyond : {PortId{64}, PortId{64 + 5}, PortId{0xfffe}, no_port}) {
    board.note({.kind = Kind::device_fatal, .port = beyond}, at(1_s));
    CHECK(down_for(board, beyond, at(9_s)) == up);
  }
  CHECK(down_for(board, PortId{0}, at(9_s)) == up);
  CHECK(down_for(board, port, at(9_s)) == up);
}

TEST_CASE("an outage that began at time zero, or before it, is an outage") {
  PerPort board;
  board.note({.kind = Kind::port_error, .port = port}, Time{0});
  CHECK(down_for(board, port, Time{0}) == 0_ns);
  CHECK(down_for(board, port, Time{1}) == 1_ns);
  board.note({.kind = Kind::port_active, .port = port}, Time{1});
  board.note({.kind = Kind::port_error, .port = port}, Time{-5});
  CHECK(down_for(board, port, Time{5}) == 10_ns);
}

}  // namespace
}  // namespace vccl::test
