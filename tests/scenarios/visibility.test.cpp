// SPDX-License-Identifier: Apache-2.0
// When data can be seen: writes out of order, relaxed memory, memory behind a bus.
#include <support/soak.hpp>
#include <support/world.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

/// How a fabric and its memory may disorder writes.
struct Disorder {
  bool routing = false;   ///< Adaptive routing: between two ports.
  bool relaxed = false;   ///< Relaxed ordering: between a port and memory, of data ...
  bool flag_too = false;  ///< ... and of the flag.
};

/// A consumer that trusts a flag in memory: data and the flag are two writes of one QP. How often
/// of 50 it saw the flag before the data.
std::size_t flag_before_data(Disorder const& d) {
  std::size_t early = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    soft::Fabric fabric{still({.seed = seed, .latency = {1000}, .relaxed_ordering = d.relaxed})};
    fabric.adaptive_routing(d.routing);
    Pair p{fabric, {}, MemoryKind::host, 64 * 1024, Access::remote_write_relaxed};
    std::uint64_t one = 1;
    std::uint64_t flag = 0;
    auto const from = SoftNic::register_memory(fabric.host(0), PortId{0}, &one, 8, Access::local,
                                               MemoryKind::host);
    auto const into = SoftNic::register_memory(
        fabric.host(1), PortId{0}, &flag, 8,
        d.flag_too ? Access::remote_write_relaxed : Access::remote_write, MemoryKind::host);
    REQUIRE(p.a.post(p.write(16384)) == Errc::ok);
    WorkRequest w = p.write(8, 2);
    w.local = address_of(&one);
    w.remote = address_of(&flag);
    w.keys = {from.keys().local, into.keys().remote};
    REQUIRE(p.go(w) == Errc::ok);
    while (flag == 0 && fabric.step()) {
    }
    if (flag == 1 && !p.same(16384)) ++early;
  }
  return early;
}

/// The same for a consumer that waits for a notify.
std::size_t notify_before_data(Disorder const& d) {
  std::size_t early = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    soft::Fabric fabric{still({.seed = seed, .latency = {1000}, .relaxed_ordering = d.relaxed})};
    fabric.adaptive_routing(d.routing);
    Pair p{fabric, {}, MemoryKind::host, 64 * 1024, Access::remote_write_relaxed};
    REQUIRE(p.b.post_receive(0, 1) == Errc::ok);
    REQUIRE(p.a.post(p.write(16384)) == Errc::ok);
    REQUIRE(p.go(p.notify(0, 7, 2)) == Errc::ok);
    bool notified = false;
    while (!notified && fabric.step()) notified = !Pair::poll(p.b).empty();
    REQUIRE(notified);
    if (!p.same(16384)) ++early;
  }
  return early;
}

/// Loads of all sizes, in several writes each, over a path that is lost and returned to.
void goes_on(soft::FabricConfig const& fabric, bool routing) {
  for (MemoryKind const kind : {MemoryKind::host, MemoryKind::device}) {
    for (std::uint64_t seed = 1; seed <= soak_count(2, 50); ++seed) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(seed);
      Start start{.fabric = fabric, .connect = false};
      start.fabric.seed = seed;
      World w{start};
      w.fabric().adaptive_routing(routing);
      for (auto& host : w.hosts) host->hooks.max_message = {4096, 4096};
      w.ends->accept();
      w.ends->connect(PortId{0}, w.ends->handle());
      REQUIRE(w.settle());
      Load load = Load::random(seed, 80, 20'000);
      load.kind = kind;
      w.load(load);
      w.inject("after step 30 link host0.port0 down for 100ms");
      CHECK(w.run());
      CHECK(w.until([&] { return w.sender().counters.failbacks == 1; }));
      CHECK(w.fired(soft::Action::link_down) == 1);
      w.load(load);
      CHECK(w.run());
      CHECK(w.received() == 160);
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.problems() == "");
    }
  }
}

}  // namespace

TEST_CASE("I1: writes of a QP that land in any order are ready with their notify, not before") {
  CHECK(notify_before_data({.routing = true}) == 0);
  goes_on({.latency = 10_us, .mtu = 256}, true);
}

TEST_CASE("I1: a consumer of a flag in memory is early when writes pass each other") {
  CHECK(flag_before_data({}) == 0);
  CHECK(flag_before_data({.routing = true}) > 5);
}

TEST_CASE("I4: payload may be placed in any order, records never") {
  for (bool const backup : {false, true}) {
    World w{{.link = backup ? links::resilient : links::plain, .connect = false}};
    std::array<std::vector<Access>, 2> at;
    for (std::size_t h = 0; h < 2; ++h) {
      w.hosts[h]->hooks.registers = [&, h](PortId, Access a) { at[h].push_back(a); };
    }
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    std::size_t const paths = backup ? 2 : 1;
    // What the ends register for themselves are rings, sizes and control records.
    CHECK(at[0] == std::vector(paths, Access::remote_write));
    CHECK(at[1] == std::vector(paths, Access::remote_write));
    REQUIRE(w.settle());
    w.load(Load::uniform(10, 100));
    for (std::size_t i = paths; i < at[0].size(); ++i) CHECK(at[0][i] == Access::local);
    for (std::size_t i = paths; i < at[1].size(); ++i)
      CHECK(at[1][i] == Access::remote_write_relaxed);
    CHECK(at[1].size() == paths * 11);
    CHECK(w.run());
  }
}

TEST_CASE(
    "I4: with writes out of order in relaxed memory nothing is early, over a switch as well") {
  CHECK(notify_before_data({.relaxed = true}) == 0);
  CHECK(notify_before_data({.routing = true, .relaxed = true}) == 0);
  goes_on({.latency = 10_us, .relaxed_ordering = true}, false);
  goes_on({.latency = 10_us, .mtu = 256, .relaxed_ordering = true}, true);
}

TEST_CASE("I4: a flag in relaxed memory is early, one in ordered memory is not") {
  CHECK(flag_before_data({.relaxed = true, .flag_too = true}) > 5);
  CHECK(flag_before_data({.relaxed = true}) == 0);
}

}  // namespace vccl::test
