// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/receiver_decides.hpp>

#include <doctest/doctest.h>
#include <sync/receiver_decides/driven.hpp>

#include <type_traits>

namespace {

using namespace vccl;
using namespace vccl::test;

TEST_CASE("without channels named both are used; else those named") {
  CHECK(sync::ReceiverDecides<>::in_band);
  CHECK(sync::ReceiverDecides<>::out_of_band);
  CHECK(sync::ReceiverDecides<sync::InBand>::in_band);
  CHECK_FALSE(sync::ReceiverDecides<sync::InBand>::out_of_band);
  CHECK(sync::ReceiverDecides<sync::OutOfBand>::out_of_band);
  CHECK_FALSE(sync::ReceiverDecides<sync::OutOfBand>::in_band);
  CHECK(sync::ReceiverDecides<>::arms_backup);
}

TEST_CASE("the machines are plain values: saved and restored by copying") {
  CHECK(std::is_trivially_copyable_v<sync::receiver_decides::Sender>);
  CHECK(std::is_trivially_copyable_v<sync::receiver_decides::Receiver>);
}

TEST_CASE("whoever detects, both ends move to the backup once") {
  Pair p;
  SUBCASE("the sender") { p.sender.fault(0); }
  SUBCASE("the receiver") { p.receiver.fault(0); }
  SUBCASE("both") {
    p.sender.fault(0);
    p.receiver.fault(0);
  }
  p.settle();
  CHECK(p.agree());
  CHECK(p.sender.common().path == 1);
  CHECK(p.sender_switches == 1);
  CHECK(p.receiver_switches == 1);
}

TEST_CASE("with 1 to 4 paths, each failure moves on, and with none left both wait without a word") {
  for (std::uint8_t paths = 1; paths <= 4; ++paths) {
    Pair p{Start{.paths = paths, .up = static_cast<std::uint8_t>((1u << paths) - 1)}};
    for (PathId q = 0; q + 1 < paths; ++q) {
      p.sender.fault(q);
      p.settle();
      CHECK(p.agree());
      CHECK(p.receiver.common().path == q + 1);
    }
    p.receiver.fault(static_cast<PathId>(paths - 1));
    p.settle();
    CHECK_FALSE(p.sender.machine.has_usable_path());
    CHECK_FALSE(p.receiver.machine.has_usable_path());
    p.arm(0);
    CHECK(p.agree());
    CHECK(p.receiver.common().path == 0);
  }
}

TEST_CASE("a repaired primary is armed and returned to, and the backup stays armed") {
  Pair p;
  p.sender.fault(0);
  p.settle();
  p.arm(0);
  CHECK(p.agree());
  CHECK(p.receiver.common().path == 1);
  p.receiver.go_back_to(0);
  p.settle();
  CHECK(p.agree());
  CHECK(p.sender.common().path == 0);
  CHECK(p.receiver.common().is_up(1));
  CHECK(p.sender.common().is_up(1));
}

TEST_CASE("an attempt on a path that is still broken costs nothing, and the next one works") {
  Pair p;
  p.sender.fault(0);
  p.settle();
  p.broken = 0b01;
  p.arm(0);
  CHECK(p.agree());
  CHECK(p.receiver.phase(0) == Phase::down);
  CHECK(p.sender.phase(0) == Phase::down);
  p.broken = 0;
  p.arm(0);
  CHECK(p.agree());
  CHECK(p.receiver.common().is_up(0));
}

TEST_CASE("hundreds of outages and returns wrap the numbers and leave both ends alike") {
  Pair p{Start{.epoch = 0xffff'fff0, .number = 0xfff8, .sequence = 0xffff'fff0}};
  for (int i = 0; i < 40; ++i) {
    (i % 2 == 0 ? p.sender.fault(0) : p.sender.tick());
    if (i % 2 == 1) p.receiver.fault(0);
    p.settle();
    REQUIRE(p.agree());
    REQUIRE(p.receiver.common().path == 1);
    p.arm(0);
    REQUIRE(p.receiver.common().is_up(0));
    p.receiver.go_back_to(0);
    p.settle();
    REQUIRE(p.agree());
    REQUIRE(p.sender.common().path == 0);
  }
  CHECK(p.receiver.common().epoch < 0x100);
  CHECK(p.sender.number(0) == p.receiver.number(0));
  CHECK(p.sender.number(0) < 0x100);
}

TEST_CASE("whatever ends it, both ends tell causes that match") {
  Pair p;
  SUBCASE("fatal at the sender") {
    p.sender.fatal(Cause::local_error);
    p.settle();
    CHECK(p.over(Cause::local_error, Cause::local_error));
  }
  SUBCASE("fatal at the receiver") {
    p.receiver.fatal(Cause::remote_error);
    p.settle();
    CHECK(p.over(Cause::remote_error, Cause::remote_error));
  }
  SUBCASE("fatal at both, with different causes") {
    p.sender.fatal(Cause::local_error);
    p.receiver.fatal(Cause::protocol_error);
    p.settle();
    CHECK(p.over(Cause::protocol_error, Cause::protocol_error));
  }
  SUBCASE("fatal at the sender while the receiver closes") {
    p.sender.fatal(Cause::local_error);
    p.receiver.close();
    p.settle();
    CHECK(p.over(Cause::local_error, Cause::local_error));
  }
  SUBCASE("fatal at the receiver while the sender closes") {
    p.sender.close();
    p.receiver.fatal(Cause::local_error);
    p.settle();
    CHECK(p.over(Cause::local_error, Cause::local_error));
  }
  SUBCASE("the sender closes") {
    p.sender.close();
    p.settle();
    CHECK(p.over(Cause::closed, Cause::peer_closed));
  }
  SUBCASE("the receiver closes") {
    p.receiver.close();
    p.settle();
    CHECK(p.over(Cause::peer_closed, Cause::closed));
  }
  SUBCASE("both close") {
    p.sender.close();
    p.receiver.close();
    p.settle();
    CHECK(p.over(Cause::closed, Cause::closed));
  }
  SUBCASE("outage deadlines with different first causes") {
    p.sender.fault(0, Cause::retry_exceeded);
    p.receiver.fault(0, Cause::port_down);
    p.receiver.fault(1);
    p.settle();
    p.sender.outage();
    p.settle();
    CHECK(p.sender_finish.cause == p.receiver_finish.cause);
    CHECK(is_path_cause(p.sender_finish.cause));
  }
  CHECK(p.sender_finish.final_position);
}

}  // namespace
