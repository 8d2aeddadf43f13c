// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

#include <thread>

TEST_CASE("the README's lines work") {
  vccl::soft::Fabric fabric{{.hosts = 2, .ports_per_host = 2}};
  fabric.link(0, 0).down();
  CHECK_FALSE(fabric.host(0).port_state(vccl::PortId{0}).active);
}

TEST_CASE("the same seed and the same calls give the same run") {
  auto run = [](std::uint64_t seed) {
    soft::Fabric fabric{still({.seed = seed, .latency = {1000}})};
    Pair p{fabric, {.timeout = 8}};
    fabric.inject(
        "every p=0.1 drop any any\nevery p=0.1 reorder data any by 9us\nevery p=0.05 duplicate any "
        "any by 3us");
    std::vector<std::uint64_t> trace;
    for (std::uint64_t i = 0; i < 20; ++i) {
      CHECK(p.b.post_receive(0, i) == Errc::ok);
      CHECK(p.go(p.notify(20'000, 1, i)) == Errc::ok);
      p.run();
      CHECK(p.same(20'000));
      trace.push_back(static_cast<std::uint64_t>(fabric.now().ns));
      for (Completion const& c : Pair::poll(p.a)) trace.push_back(c.id);
      trace.push_back(Pair::poll(p.b).size());
    }
    CHECK(fabric.fired(soft::Action::drop) > 0);
    CHECK(fabric.fired(soft::Action::reorder) > 0);
    CHECK(fabric.fired(soft::Action::duplicate) > 0);
    return trace;
  };
  CHECK(run(3) == run(3));
  CHECK(run(3) != run(4));
}

TEST_CASE("time moves only as far as it is told, and events in it happen at their time") {
  soft::Fabric fabric{still({.latency = {1000}})};
  Pair p{fabric};
  CHECK(p.go(p.write(8)) == Errc::ok);
  CHECK(fabric.next_event() == Time{1000});
  CHECK(fabric.step());
  CHECK(fabric.now() == Time{1000});
  CHECK(fabric.step());
  CHECK(fabric.now() == Time{2000});
  CHECK_FALSE(fabric.step());
  fabric.advance(Duration{5});
  CHECK(fabric.now() == Time{2005});
}

TEST_CASE("buffers larger than memory move, and what lands wrong is counted") {
  soft::Fabric fabric{still({.max_message = std::uint64_t{1} << 40})};
  Pair p{fabric};
  std::uint64_t const size = (std::uint64_t{4} << 30) + 1;
  auto const from = fabric.computed_memory(size, 7), into = fabric.computed_memory(size, 7);
  auto const other = fabric.computed_memory(4096, 8);
  auto keys = [&](std::size_t h, soft::Computed const& c) {
    return SoftNic::register_memory(fabric.host(h), PortId{0}, c.address, c.length,
                                    Access::remote_write, MemoryKind::host);
  };
  auto const a = keys(0, from), b = keys(1, into), c = keys(0, other);
  WorkRequest w;
  w.local = address_of(from.address);
  w.remote = address_of(into.address);
  w.length = size;
  w.keys = {a.keys().local, b.keys().remote};
  CHECK(p.go(w) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(fabric.computed(into).written_bytes() == size);
  CHECK(fabric.computed(into).wrong_bytes() == 0);
  CHECK(fabric.computed(into).written_to(4096) == 1);
  w.local = address_of(other.address);
  w.keys.local = c.keys().local;
  w.length = 4096;
  CHECK(p.go(w) == Errc::ok);
  CHECK(fabric.computed(into).wrong_bytes() > 4000);
  // To ordinary memory.
  WorkRequest d = p.write(1000);
  d.local = address_of(from.address) + 3;
  d.keys.local = a.keys().local;
  CHECK(p.go(d) == Errc::ok);
  CHECK(p.target[500] == soft::content_byte(7, 503));
}

TEST_CASE("a bad script is refused whole") {
  soft::Fabric fabric{still()};
  CHECK_THROWS_AS(fabric.inject("link host0.port0 down\nlink host0.port0 sideways"),
                  soft::ScriptError);
  CHECK_THROWS_AS(fabric.inject("link host0.port0 down\nlink host7.port0 down"), SetupError);
  CHECK(fabric.host(0).port_state(PortId{0}).active);
  CHECK_THROWS_AS((void)fabric.link(0, 2), SetupError);
  CHECK_THROWS_AS((soft::Fabric{{.mtu = 1000}}), SetupError);
}

TEST_CASE("two threads, one at each end, on a real clock") {
  soft::Fabric fabric{{.latency = {1000}}};
  Pair p{fabric};
  constexpr std::uint64_t messages = 500;
  for (std::uint64_t i = 0; i < 64; ++i) CHECK(p.b.post_receive(0, i) == Errc::ok);
  std::uint64_t received = 0, wrong = 0;
  std::thread receiver{[&] {
    std::array<Completion, 8> done;
    while (received < messages) {
      std::size_t const n = p.b.poll(done);
      for (std::size_t i = 0; i < n; ++i) {
        wrong +=
            done[i].immediate != received++ || p.target[64 * done[i].immediate] == std::byte{0};
        if (p.b.post_receive(0, i) != Errc::ok) ++wrong;
      }
      if (n == 0) std::this_thread::yield();
    }
  }};
  std::uint64_t sent = 0, acknowledged = 0;
  std::array<Completion, 8> done;
  while (acknowledged < messages) {
    while (sent < messages && sent - acknowledged < 32) {
      p.source[64 * sent] = std::byte{1};
      if (p.go(p.notify(64, static_cast<std::uint32_t>(sent), sent, 64 * sent)) != Errc::ok) break;
      ++sent;
    }
    acknowledged += p.a.poll(done);
    std::this_thread::yield();
  }
  receiver.join();
  CHECK(wrong == 0);
  CHECK(received == messages);
}
