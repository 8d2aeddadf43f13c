// SPDX-License-Identifier: Apache-2.0
// Whole connections on a real clock whose set-up and control messages travel over TCP.
#include <support/sockets.hpp>
#include <support/tcp_links.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace vccl;
using namespace vccl::test;
using Call = Sockets::Call;

TEST_CASE("connections set up over TCP, with and without a backup") {
  for (MakeEnds link : {links::plain_tcp, links::quick_tcp, links::quick_tcp_only}) {
    Sockets::Fresh const fresh;
    {
      World w{{.link = link, .virtual_time = false}};
      REQUIRE(w.settle());
      w.load(Load::random(3, 500, 2000));
      CHECK(w.run());
      CHECK(w.received() == 500);
      CHECK(w.problems() == "");
    }
    CHECK(Sockets::made(Call::connect) == 1);
    CHECK(Sockets::open_sockets() == 0);
  }
}

TEST_CASE("a set-up whose connections are reset again and again still comes about") {
  Sockets::Fresh const fresh;
  // At most four for each connection: both ends read, and read once more when they hang up.
  Sockets::fail(Call::receive, ECONNRESET, 16);
  World w{{.link = links::quick_tcp, .virtual_time = false}};
  CHECK(w.settle());
  CHECK(Sockets::failed(Call::receive) == 16);
  CHECK(Sockets::made(Call::connect) >= 4);
  w.load(Load::uniform(50, 1000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE("a port is lost while the TCP connection is cut: one failover, every byte right") {
  for (MakeEnds link : {links::quick_tcp_only, links::quick_tcp}) {
    Sockets::Fresh const fresh;
    World w{{.link = link, .virtual_time = false}};
    REQUIRE(w.settle());
    std::size_t const before = Sockets::made(Call::connect);
    Load load = Load::random(5, 2000, 2000);
    load.pause = 100_us;
    w.load(load);
    REQUIRE(w.run_until(200, 10_s));
    // The port goes, and from the moment at which that is noticed until the ends have switched,
    // the connection is cut every 5 ms: most of the words get lost.
    std::atomic<bool> over{false};
    std::atomic<std::size_t> cut{0};
    std::thread cutter{[&] {
      for (int n = 0; n < 40 && !over.load(); ++n) {
        cut += Sockets::cut();
        ::usleep(5'000);
      }
    }};
    w.inject("link host0.port0 down");
    CHECK(w.run(20_s));
    over = true;
    cutter.join();
    CHECK(w.fired(soft::Action::link_down) == 1);
    CHECK(cut >= 2);
    CHECK(Sockets::made(Call::connect) > before);
    CHECK(w.received() == 2000);
    for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
      CHECK(s.counters.failovers == 1);
      CHECK(s.active_path == 1);
      CHECK_FALSE(s.ended);
    }
    CHECK(w.problems() == "");
    MESSAGE(cut.load() << " sockets cut, " << Sockets::made(Call::connect) - before
                       << " connections made again");
  }
}

TEST_CASE("failover and failback work over TCP only, with a cut before each") {
  Sockets::Fresh const fresh;
  World w{{.link = links::quick_tcp_only, .virtual_time = false}};
  REQUIRE(w.settle());
  Load load = Load::random(9, 100'000, 1000);
  load.pause = 200_us;
  w.load(load);
  REQUIRE(w.run_until(100, 5_s));
  std::size_t cut = 0;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    CAPTURE(n);
    cut += Sockets::cut();
    w.inject("link host0.port0 down for 100ms");
    CHECK(w.until([&] { return w.sender().counters.failovers == n; }));
    cut += Sockets::cut();
    CHECK(w.until([&] { return w.sender().counters.failbacks == n; }));
    CHECK(w.until([&] { return w.receiver().counters.failbacks == n; }));
  }
  w.wind_up();
  CHECK(w.run(20_s));
  CHECK(w.fired(soft::Action::link_down) == 3);
  CHECK(cut >= 6);
  CHECK(Sockets::made(Call::connect) >= 4);
  CHECK(w.problems() == "");
}

TEST_CASE("a connection without any TCP left goes on, and fails over by its paths") {
  Sockets::Fresh const fresh;
  World w{{.link = links::quick_tcp, .virtual_time = false}};
  REQUIRE(w.settle());
  Load load = Load::random(11, 2000, 1000);
  load.pause = 100_us;
  w.load(load);
  REQUIRE(w.run_until(100, 5_s));
  Sockets::fail(Call::connect, EHOSTUNREACH, 1'000'000);
  CHECK(Sockets::cut() >= 2);
  w.inject("link host0.port0 down");
  CHECK(w.run(20_s));
  CHECK(Sockets::failed(Call::connect) > 0);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.received() == 2000);
  CHECK(w.problems() == "");
}
