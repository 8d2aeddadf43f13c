// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/fault_engine.hpp>

#include <vccl/transport/soft/fault_script.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::soft;

namespace {

struct Bench {
  EventQueue events;
  FaultEngine engine{2, 1};
  void add(const char* line, Time now = Time{}) { engine.add(parse_faults(line)[0], now, events); }
  void reach(Time t) {
    while (events.due(t)) engine.on_event(events.pop(), events);
  }
  bool lost(std::uint32_t port, Op op = Op::write) {
    Packet p;
    p.op = op;
    p.from_port = port;
    return engine.on_packet(p).lost;
  }
};

}  // namespace

TEST_CASE("a packet fault picks its kind at its port, after and at most as many as it says") {
  Bench b;
  b.add("after packet 2 every 2 drop data host0.port1 count 2");
  CHECK(b.engine.picks_packets(1));
  CHECK_FALSE(b.engine.picks_packets(0));
  CHECK_FALSE(b.lost(0));
  CHECK_FALSE(b.lost(1, Op::acknowledge));
  int lost = 0;
  for (int i = 0; i < 12; ++i) {
    bool const l = b.lost(1);
    CHECK(l == (i == 2 || i == 4));
    lost += l;
  }
  CHECK(lost == 2);
  CHECK(b.engine.fired(Action::drop) == 2);
  CHECK(b.engine.fired_by_rule(0) == 2);
  CHECK_FALSE(b.engine.picks_packets(1));  // spent
}

TEST_CASE("a fault begins at its time and ends after its duration") {
  Bench b;
  b.add("at 5ns drop any any for 10ns");
  CHECK_FALSE(b.lost(0));
  b.reach(Time{5});
  CHECK(b.lost(0));
  b.reach(Time{14});
  CHECK(b.lost(0));
  b.reach(Time{15});
  CHECK_FALSE(b.lost(0));
  CHECK_FALSE(b.engine.picks_packets(0));
}

TEST_CASE("a fault after a step waits for steps of the place that it names") {
  Bench b;
  b.add("after step 2 of host0.port1 link host0.port1 down for 5ns");
  b.engine.on_step(0, Time{}, b.events);
  b.engine.on_step(1, Time{}, b.events);
  CHECK_FALSE(b.engine.has_struck());
  b.engine.on_step(1, Time{}, b.events);
  REQUIRE(b.engine.has_struck());
  CHECK_FALSE(b.engine.take_struck().over);
  b.engine.on_step(1, Time{}, b.events);
  CHECK_FALSE(b.engine.has_struck());
  b.reach(Time{5});
  CHECK(b.engine.take_struck().over);
}

TEST_CASE("a fault by chance strikes about as often as it says") {
  Bench b;
  b.add("every p=0.25 drop any any");
  int lost = 0;
  for (int i = 0; i < 4000; ++i) lost += b.lost(0);
  CHECK(lost > 900);
  CHECK(lost < 1100);
}

TEST_CASE("a call fault refuses the calls that it counts") {
  Bench b;
  b.add("call poll 2..3 host0 fails EIO");
  CHECK(b.engine.on_call(Call::flush, 0) == 0);
  CHECK(b.engine.on_call(Call::poll, 2) == 0);
  CHECK(b.engine.on_call(Call::poll, 0) == 0);
  CHECK(b.engine.on_call(Call::poll, 1) == EIO);
  CHECK(b.engine.on_call(Call::poll, 0) == EIO);
  CHECK(b.engine.on_call(Call::poll, 0) == 0);
  CHECK(b.engine.fired(Action::call_fails) == 2);
}

TEST_CASE("messages of the bootstrap network are lost, late or held, never doubled") {
  Bench b;
  b.add("drop oob host0 count 1");
  b.add("hold oob host1 for 50ns");
  b.add("drop any any");
  CHECK(b.engine.on_message(0, Time{3}).lost);
  CHECK(b.engine.on_message(0, Time{3}).at == Time{3});
  CHECK_FALSE(b.engine.on_message(0, Time{3}).lost);
  CHECK(b.engine.on_message(1, Time{3}).at == Time{50});
}

TEST_CASE("fence faults name a step or both, and how often") {
  Bench b;
  b.add("fence host0.port0 takes 20ns on reset count 1");
  b.add("fence host0.port1 hangs");
  CHECK(b.engine.on_fence(0, FenceStep::error).takes == Duration{});
  CHECK(b.engine.on_fence(0, FenceStep::reset).takes == Duration{20});
  CHECK(b.engine.on_fence(0, FenceStep::reset).takes == Duration{});
  CHECK(b.engine.on_fence(1, FenceStep::error).hangs);
}
