// SPDX-License-Identifier: Apache-2.0
// Memory behind a bus: what a NIC has written is there after a read through that NIC.
#include <support/world.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

#include <array>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

Load device_load(std::size_t steps, std::uint64_t bytes) {
  Load load = Load::uniform(steps, bytes);
  load.kind = MemoryKind::device;
  return load;
}

}  // namespace

TEST_CASE("I6: what is received has been flushed through the port that carried it") {
  World w{{.fabric = {.latency = 10_us}}};
  std::vector<std::uint16_t> ports;  // Of the flush reads.
  w.hosts[1]->hooks.flush_read = [&](PortId p) {
    ports.push_back(static_cast<std::uint16_t>(p));
    return Errc::ok;
  };
  REQUIRE(w.settle());
  w.load(device_load(100, 5000));
  CHECK(w.run());
  CHECK(ports == std::vector<std::uint16_t>(100, 0));
  w.inject("link host0.port0 down for 200ms");
  REQUIRE(w.until([&] { return w.receiver().active_path == 1; }));
  ports.clear();
  w.load(device_load(100, 5000));
  CHECK(w.run());
  CHECK(ports == std::vector<std::uint16_t>(100, 1));
  REQUIRE(w.until([&] { return w.receiver().counters.failbacks == 1; }));
  ports.clear();
  w.load(device_load(100, 5000));
  CHECK(w.run());
  CHECK(ports == std::vector<std::uint16_t>(100, 0));
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.received() == 300);
  CHECK(w.problems() == "");
}

TEST_CASE("I6: memory behind a bus that the connection takes for host memory is read too early") {
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  w.hosts[1]->hooks.really = MemoryKind::device;
  w.load(Load::uniform(10, 5000));
  w.run();
  CHECK(w.receiver().counters.flush_reads == 0);
  CHECK(w.problems().find("has wrong bytes") != std::string::npos);
}

TEST_CASE("I6: a buffer that is received and sent on has its bytes, also while a path is lost") {
  World w{{.fabric = {.latency = 10_us}}};
  auto on = links::resilient(*w.hosts[1], *w.hosts[0]);  // From the second host back to the first.
  on->listen(PortId{0});
  on->accept();
  on->connect(PortId{0}, on->handle());
  REQUIRE(w.settle());
  auto const serve = [&] {
    on->service(End::sender);
    on->service(End::receiver);
  };
  REQUIRE(w.until([&] {
    bool const ready = on->ready(End::sender);
    return on->ready(End::receiver) && ready;
  }));
  constexpr std::size_t words = 1000;
  std::vector<std::uint64_t> source(words), middle(words), target(words);
  Memory const a = w.ends->register_memory(End::sender, source.data(), 8000, MemoryKind::host);
  Memory const b = w.ends->register_memory(End::receiver, middle.data(), 8000, MemoryKind::device);
  Memory const c = on->register_memory(End::sender, middle.data(), 8000, MemoryKind::device);
  Memory const d = on->register_memory(End::receiver, target.data(), 8000, MemoryKind::device);
  std::array<RecvOp, 1> const first{{{b, Tag{1}}}};
  std::array<RecvOp, 1> const second{{{d, Tag{1}}}};
  for (std::uint64_t n = 0; n < 60; ++n) {
    CAPTURE(n);
    for (std::size_t i = 0; i < words; ++i) source[i] = n * words + i;
    if (n == 30) w.inject("link host1.port0 down");
    Request const r = w.ends->irecv(first);
    Request const s = w.ends->isend(a, Tag{1});
    Request const end = on->irecv(second);
    Result got, sent, there, here;
    REQUIRE(w.until([&] {
      serve();
      if (!sent.done) sent = w.ends->test(End::sender, s);
      if (!got.done) got = w.ends->test(End::receiver, r);
      return got.done && sent.done;
    }));
    CHECK(w.held_writes(1, w.receiver().active_path) == 0);
    Request const next = on->isend(c, Tag{1});
    REQUIRE(w.until([&] {
      serve();
      if (!there.done) there = on->test(End::sender, next);
      if (!here.done) here = on->test(End::receiver, end);
      return there.done && here.done;
    }));
    for (Result const& x : {got, sent, there, here}) CHECK(x.error == Errc::ok);
    CHECK(target == source);
  }
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(on->status(End::sender).counters.failovers == 1);
  CHECK(w.receiver().counters.flush_reads >= 60);
  on->release_memory();
  w.ends->release_memory();
}

TEST_CASE("I7: half a buffer on each port of a path is two flushes, each through its own port") {
  Route route{Ports{PortId{0}, PortId{1}}};
  route.backups[0] = Ports{PortId{2}, PortId{3}};
  World w{{.fabric = {.ports_per_host = 4, .latency = 10_us}, .sender = route, .receiver = route}};
  std::array<std::size_t, 4> flushes{};
  w.hosts[1]->hooks.flush_read = [&](PortId p) {
    ++flushes[static_cast<std::size_t>(p)];
    return Errc::ok;
  };
  REQUIRE(w.settle());
  w.load(device_load(50, 200'000));
  CHECK(w.run());
  CHECK(flushes == std::array<std::size_t, 4>{50, 50, 0, 0});
  CHECK(w.data_bytes(0, 0) > 50 * 90'000);
  CHECK(w.data_bytes(0, 1) > 50 * 90'000);
  w.inject("link host1.port1 down");  // One of the two ports: the path is left.
  REQUIRE(w.until([&] { return w.receiver().active_path == 1; }));
  flushes = {};
  w.load(device_load(50, 200'000));
  CHECK(w.run());
  CHECK(flushes == std::array<std::size_t, 4>{0, 0, 50, 50});
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.received() == 100);
  CHECK(w.problems() == "");
}

namespace {

/// The primary dies when half of a message is behind its port's bus.
void half_and_half(std::string const& script) {
  CAPTURE(script);
  constexpr std::uint64_t bytes = 1 << 20;
  World w{{.fabric = {.latency = 10_us, .bytes_per_second = 1'000'000'000}, .connect = false}};
  for (auto& host : w.hosts) host->hooks.max_message = {65536, 65536};
  std::array<std::size_t, 2> flushes{};
  w.hosts[1]->hooks.flush_read = [&](PortId p) {
    ++flushes[static_cast<std::size_t>(p)];
    return Errc::ok;
  };
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  Load load = device_load(5, bytes);
  load.depth = 1;
  w.load(load);
  REQUIRE(w.run_until(2));
  w.until([] { return false; }, 500_us);
  CHECK(w.held_writes(1, 0) > 4);  // Half of it, and nobody can see it.
  CHECK(w.received() == 2);
  w.inject(script);
  CHECK(w.run());
  CHECK(w.fired(soft::Action::link_down) >= 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.sender().counters.resent_steps == 1);
  CHECK(w.sender().counters.resent_bytes == bytes);  // What was behind the bus as well.
  CHECK(w.data_bytes(0, 1) == 3 * bytes);
  CHECK(flushes == std::array<std::size_t, 2>{2, 3});
  CHECK(w.received() == 5);
  CHECK(w.problems() == "");
}

}  // namespace

TEST_CASE("I7: what a lost port had not flushed is sent again on the other one, all of it") {
  half_and_half("link host0.port0 down");
  half_and_half("link host1.port0 down");
  half_and_half("link host0.port0 down\nlink host1.port0 down");
}

TEST_CASE("I8: there are as many flush reads as receives that need one") {
  for (MemoryKind const kind : {MemoryKind::host, MemoryKind::device}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(seed);
      World w{{.fabric = {.latency = 10_us}}};
      std::uint64_t posted = 0;
      w.hosts[1]->hooks.flush_read = [&](PortId) {
        ++posted;
        return Errc::ok;
      };
      REQUIRE(w.settle());
      Load load = Load::random(seed, 300, 3000);
      load.kind = kind;
      std::uint64_t need = 0;
      std::uint64_t empty = 0;
      for (auto const& step : load.steps) {
        for (Piece const& p : step) ++(p.send != 0 ? need : empty);
      }
      w.load(load);
      CHECK(w.run());
      CHECK(empty > 20);
      CHECK(posted == (kind == MemoryKind::device ? need : 0));
      CHECK(w.receiver().counters.flush_reads == posted);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("I8: a flush of nothing is refused, and what is flushed must be registered") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {}, MemoryKind::device};
  auto const memory = [&](std::uint64_t bytes) {
    return Memory{address_of(p.target.data()), bytes, nullptr, MemoryKind::device};
  };
  CHECK(p.b.post_flush_read(memory(0), p.into.keys(), 1) == Errc::invalid_argument);
  for (void* at : {static_cast<void*>(nullptr), static_cast<void*>(p.target.data())}) {
    std::size_t const bytes = at == nullptr ? 8 : 0;
    CHECK_THROWS_AS(
        static_cast<void>(SoftNic::register_memory(fabric.host(1), PortId{0}, at, bytes,
                                                   Access::remote_write, MemoryKind::device)),
        SetupError);
  }
  World w;
  REQUIRE(w.settle());
  CHECK_THROWS_AS(
      static_cast<void>(w.ends->register_memory(End::receiver, nullptr, 8, MemoryKind::device)),
      SetupError);
  CHECK_THROWS_AS(static_cast<void>(w.ends->register_memory(End::receiver, p.target.data(), 0,
                                                            MemoryKind::device)),
                  SetupError);
  // One byte is enough, of what the key is for.
  REQUIRE(p.b.post_receive(0, 1) == Errc::ok);
  REQUIRE(p.go(p.notify(4096, 1)) == Errc::ok);
  p.run();
  CHECK(fabric.link(1, 0).held_writes() == 1);
  CHECK(Pair::statuses(p.b) == std::vector{0});
  CHECK(p.b.post_flush_read(memory(1), p.into.keys(), 2) == Errc::ok);
  CHECK(p.b.flush() == Errc::ok);
  p.run();
  CHECK(fabric.link(1, 0).held_writes() == 0);
  CHECK(p.same(4096));
  CHECK(Pair::statuses(p.b) == std::vector{0});
  CHECK(p.b.post_flush_read(memory(1), Keys{1, 1}, 3) == Errc::ok);
  CHECK(p.b.flush() == Errc::ok);
  p.run();
  std::vector<int> const bad = Pair::statuses(p.b);
  REQUIRE(bad.size() == 1);
  CHECK(bad[0] != 0);
}

}  // namespace vccl::test
