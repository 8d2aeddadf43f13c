// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/bootstrap.hpp>

#include <support/skip.hpp>
#include <support/sockets.hpp>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace vccl;
using namespace vccl::test;
using Call = Sockets::Call;
using Tcp = TcpBootstrap<Sockets>;

namespace {

constexpr tcp::Config loopback{
    .address = "127.0.0.1", .wait_first = 1_ms, .wait_most = 50_ms, .look_every = 0_ns};

/// Accepts, as soon as the pipe that dials has come through.
bool meet(Tcp::Door& door, Tcp::Pipe& near, Tcp::Pipe& far) {
  bool in = false;
  return until([&] {
    static_cast<void>(near.receive({}));
    if (!in) in = door.accept(far);
    return in && near.connected();
  });
}
std::uint32_t next(Tcp::Pipe& p) {
  std::array<std::byte, 8> into;
  return until([&] { return p.receive(into) != 0; }) ? number_in(into) : 0;
}
template <class F>
SetupError error_of(F f) {
  try {
    f();
  } catch (SetupError const& e) {
    return e;
  }
  return {"nothing", 0, "no error"};
}

}  // namespace

TEST_CASE("who has the address of a door comes in, over IPv4 and IPv6") {
  for (char const* address : {"127.0.0.1", "::1"}) {
    CAPTURE(address);
    Sockets::Fresh const fresh;
    tcp::Config config = loopback;
    config.address = address;
    Tcp a{config}, b{config};
    std::optional<Tcp::Door> listening;
    try {
      listening.emplace(b.listen());
    } catch (SetupError const& e) {
      REQUIRE(config.address[0] == ':');  // A machine without IPv6 has to say so.
      CHECK((e.number() == EADDRNOTAVAIL || e.number() == EAFNOSUPPORT));
      continue;
    }
    Tcp::Door& door = *listening;
    Tcp::Pipe near = a.dial(door.address()), far;
    REQUIRE(meet(door, near, far));
    CHECK(near.send(message(1)) == Errc::ok);
    CHECK(next(far) == 1);
    CHECK(far.send(message(2)) == Errc::ok);
    CHECK(next(near) == 2);
    CHECK_FALSE(door.accept(far));
  }
}

TEST_CASE("a wrong secret stays outside, and gets no answer") {
  Sockets::Fresh const fresh;
  Tcp tcp{loopback};
  Tcp::Door door = tcp.listen();
  tcp::Address wrong = door.address();
  wrong.secret[0] ^= 1;
  Tcp::Pipe near = tcp.dial(wrong), far;
  CHECK(near.send(message(1)) == Errc::ok);
  CHECK(until([&] {
    static_cast<void>(near.receive({}));
    CHECK_FALSE(door.accept(far));
    return near.attempts() >= 3;
  }));
  CHECK(door.dropped() >= 2);
  CHECK_FALSE(near.connected());
  CHECK(near.connections() == 0);
  // Who knows it comes in meanwhile.
  Tcp::Pipe good = tcp.dial(door.address());
  CHECK(meet(door, good, far));
}

TEST_CASE("pipes go on after their door, find their way back, and leave nothing behind") {
  Sockets::Fresh const fresh;
  Tcp tcp{loopback};
  {
    std::optional<Tcp::Door> door{tcp.listen()};
    tcp::Address const address = door->address();
    Tcp::Pipe near = tcp.dial(address), far;
    REQUIRE(meet(*door, near, far));
    door.reset();
    CHECK(Sockets::cut() == 2);
    CHECK(until([&] {
      static_cast<void>(near.receive({}));
      static_cast<void>(far.receive({}));
      return near.connections() == 2 && far.connections() == 2;
    }));
    CHECK(far.send(message(3)) == Errc::ok);
    CHECK(next(near) == 3);
    // Nobody new comes in.
    Tcp::Pipe late = tcp.dial(address);
    CHECK(until([&] {
      static_cast<void>(late.receive({}));
      static_cast<void>(far.receive({}));
      return late.error() != 0;
    }));
    CHECK(late.error() == ECONNABORTED);
  }
  CHECK(Sockets::open_sockets() == 0);
  Tcp::Door const again = tcp.listen();
  CHECK(Sockets::open_sockets() == 1);
}

TEST_CASE("a door that is moved from is none, and moving keeps what it had") {
  Sockets::Fresh const fresh;
  Tcp tcp{loopback};
  Tcp::Door a = tcp.listen();
  tcp::Address const address = a.address();
  Tcp::Door b{std::move(a)};
  CHECK(b.address().port == address.port);
  Tcp::Pipe p;
  CHECK(a.address().version == 0);  // NOLINT: what a moved one says is the question.
  CHECK_FALSE(a.accept(p));
  CHECK(a.dropped() == 0);
  CHECK(a.callers() == 0);
  a = std::move(b);
  CHECK(a.address().port == address.port);
}

TEST_CASE("a dial without a listener waits for one, and ends at the deadline with a reason") {
  Sockets::Fresh const fresh;
  Sockets::stand_still();
  Tcp tcp{loopback};
  tcp::Address address;
  {
    Tcp::Door const door = tcp.listen();
    address = door.address();
  }
  Tcp::Pipe near = tcp.dial(address);
  CHECK(until([&] {
    Sockets::pass(10_ms);
    static_cast<void>(near.receive({}));
    return near.error() != 0;
  }));
  CHECK(near.error() == ECONNREFUSED);
  CHECK(near.attempts() > 10);
  CHECK(near.send(message(1)) == Errc::path_down);
}

TEST_CASE("a new listener on the same port knows nothing of the old one's pipes") {
  Sockets::Fresh const fresh;
  Tcp client{loopback};
  auto server = std::make_unique<Tcp>(loopback);
  std::optional<Tcp::Door> door{server->listen()};
  tcp::Config same = loopback;
  same.port = static_cast<std::uint16_t>(door->address().port);
  Tcp::Pipe near = client.dial(door->address()), far;
  REQUIRE(meet(*door, near, far));
  far = {};
  door.reset();
  server = std::make_unique<Tcp>(same);
  door.emplace(server->listen());  // At once, although the old connections linger.
  CHECK(door->address().port == same.port);
  CHECK(until([&] {
    static_cast<void>(near.send(message(1)));
    static_cast<void>(near.receive({}));
    CHECK_FALSE(door->accept(far));
    return door->dropped() >= 3;
  }));
  CHECK_FALSE(near.connected());
  Tcp::Pipe fresh_one = client.dial(door->address());
  CHECK(meet(*door, fresh_one, far));
}

TEST_CASE("errors of listen and dial are one SetupError each, with the way out") {
  Sockets::Fresh const fresh;
  Tcp tcp{loopback};
  Tcp::Door const door = tcp.listen();
  auto const listen = [](tcp::Config const& c) {
    return error_of([&] { static_cast<void>(Tcp{c}.listen()); });
  };
  auto const dial = [&](tcp::Address const& to) {
    return error_of([&] { static_cast<void>(tcp.dial(to)); });
  };
  auto const has = [](SetupError const& e, char const* text) {
    return std::string{e.what()}.find(text) != std::string::npos;
  };
  auto const port = static_cast<std::uint16_t>(door.address().port);
  SetupError e = listen({.address = "127.0.0.1", .port = port});
  CHECK(e.number() == EADDRINUSE);
  CHECK(has(e, "another socket listens on this port"));
  e = listen({.address = "192.0.2.7"});
  CHECK(e.number() == EADDRNOTAVAIL);
  CHECK(has(e, "no such address"));
  e = listen({.interface = "nowhere0"});
  CHECK(e.number() == ENODEV);
  CHECK(has(e, "no such interface"));
  CHECK(has(listen({.address = "fe80::1"}), "link-local"));
  CHECK(has(dial({}), "no address of a door"));
  tcp::Address link = tcp::parse("fe80::1");
  link.port = 1;
  CHECK(has(dial(link), "link-local"));
  Sockets::fail(Call::connect, EACCES);
  e = dial(door.address());
  CHECK(e.number() == EACCES);
  CHECK(std::string{e.call()} == "connect");
  Sockets::fail(Call::socket, EMFILE);
  CHECK(has(dial(door.address()), "ulimit"));
  CHECK(Sockets::open_sockets() == 1);
}

TEST_CASE("a thousand pipes on one door each carry their own, also after all were cut") {
  Sockets::Fresh const fresh;
  constexpr std::uint32_t count = 1000;
  tcp::Config config = loopback;
  config.look_every = 5_ms;
  config.wait_most = 1_s;
  config.queue = 0;
  Tcp a{config}, b{config};
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_cur < 2 * count + 100)
    return skip("this machine does not let a process open 2,100 files");
  Tcp::Door door = b.listen();
  std::vector<Tcp::Pipe> near, far;
  for (std::uint32_t n = 0; n < count; ++n) {
    near.push_back(a.dial(door.address()));
    CHECK(near.back().send(message(n)) == Errc::ok);
  }
  CHECK(until([&] {
    for (Tcp::Pipe& p : near) static_cast<void>(p.receive({}));
    Tcp::Pipe fresh_one;
    while (door.accept(fresh_one)) far.push_back(std::move(fresh_one));
    return far.size() == count;
  }));
  CHECK(door.dropped() == 0);
  std::vector<std::uint32_t> number(count, count);
  auto const exchange = [&](std::uint32_t round) {
    // Each far end sends back what it got, and its near end must be the one that said it.
    std::size_t back = 0;
    std::array<std::byte, 8> into;
    return until([&] {
      for (std::uint32_t i = 0; i < count; ++i) {
        if (far[i].receive(into) != 0) {
          if (round == 0) number[i] = number_in(into);
          CHECK(number_in(into) == number[i] + round * count);
          CHECK(far[i].send(message(number_in(into))) == Errc::ok);
        }
        if (near[i].receive(into) != 0) {
          CHECK(number_in(into) == i + round * count);
          ++back;
        }
      }
      return back == count;
    });
  };
  CHECK(exchange(0));
  CHECK(Sockets::cut() == 2 * count);
  CHECK(until([&] {
    std::size_t whole = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      static_cast<void>(near[i].receive({}));
      static_cast<void>(far[i].receive({}));
      whole += near[i].connected() && near[i].connections() == 2 && far[i].connections() == 2;
    }
    return whole == count;
  }));
  for (std::uint32_t n = 0; n < count; ++n) CHECK(near[n].send(message(n + count)) == Errc::ok);
  CHECK(exchange(1));
}

TEST_CASE("a process that is stopped makes send say would_block, and goes on where it was") {
  Sockets::Fresh const fresh;
  Tcp tcp{loopback};
  Tcp::Door door = tcp.listen();
  tcp::Address const address = door.address();
  pid_t const child = ::fork();
  if (child == 0) {
    // Counts what comes, in order, until it is told to stop; then says how many.
    TcpBootstrap<> mine{loopback};
    auto pipe = mine.dial(address);
    std::array<std::byte, tcp::max_message> into;
    std::uint32_t last = 0;
    for (Time const end = Sockets::now() + 60_s; Sockets::now() < end; ::usleep(100)) {
      while (pipe.receive(into) != 0) {
        if (number_in(into) == 0) {
          static_cast<void>(pipe.send(message(last)));
          while (pipe.connected() && Sockets::now() < end) static_cast<void>(pipe.receive({}));
          ::_exit(0);
        }
        if (number_in(into) != last + 1) ::_exit(1);
        last = number_in(into);
      }
    }
    ::_exit(2);
  }
  REQUIRE(child > 0);
  {
    Tcp::Pipe far;
    REQUIRE(until([&] { return door.accept(far); }));
    std::uint32_t sent = 0;
    auto const send = [&](std::size_t size) {
      Errc const e = far.send(message(sent + 1, size));
      if (e == Errc::ok) ++sent;
      return e;
    };
    for (int n = 0; n < 10; ++n) CHECK(send(100) == Errc::ok);
    REQUIRE(::kill(child, SIGSTOP) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    REQUIRE(WIFSTOPPED(status));
    Time const begin = Sockets::now();
    Errc e = Errc::ok;
    while (e == Errc::ok && sent < 100'000) e = send(4000);
    CHECK(e == Errc::would_block);
    CHECK(Sockets::now() - begin < 5_s);
    REQUIRE(::kill(child, SIGCONT) == 0);
    CHECK(until([&] { return send(100) == Errc::ok; }));
    CHECK(until([&] { return far.send(message(0)) == Errc::ok; }));
    CHECK(next(far) == sent);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a thread accepts while others use their pipes, and callers come and go") {
  Sockets::Fresh const fresh;
  Tcp tcp{loopback};
  Tcp::Door door = tcp.listen();
  tcp::Address const address = door.address();
  constexpr std::size_t count = 4;
  constexpr std::uint32_t rounds = 200;
  std::vector<std::thread> threads;
  std::array<std::uint32_t, count> echoed{};
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      Tcp::Pipe near = tcp.dial(address);
      std::array<std::byte, 8> into;
      for (std::uint32_t n = 1; n <= rounds; ++n) {
        // Messages may be lost: again every 2 ms until the echo is there.
        bool back = false;
        for (Time next{}, end = Sockets::now() + 20_s; !back && Sockets::now() < end;) {
          if (Sockets::now() >= next) {
            static_cast<void>(near.send(message(n)));
            next = Sockets::now() + 2_ms;
          }
          back = near.receive(into) != 0 && number_in(into) == n;
          std::this_thread::yield();
        }
        if (back) ++echoed[i];
        if (n % 50 == 0) {
          Stranger const stranger{address};
          stranger.say("GET / HTTP/1.0\r\n\r\n");
        }
      }
    });
  }
  std::atomic<bool> over{false};
  std::vector<std::thread> guests;
  for (std::size_t i = 0; i < count; ++i) {
    auto far = std::make_unique<Tcp::Pipe>();
    REQUIRE(until([&] { return door.accept(*far); }));
    guests.emplace_back([&over, pipe = std::move(far)] {
      std::array<std::byte, 8> into;
      while (!over.load()) {
        if (std::size_t const n = pipe->receive(into); n != 0)
          static_cast<void>(pipe->send(std::span{into}.first(n)));
        std::this_thread::yield();
      }
    });
  }
  std::size_t cut = 0;
  for (int n = 0; n < 5; ++n) {
    Tcp::Pipe none;
    CHECK_FALSE(door.accept(none));
    cut += Sockets::cut();
    ::usleep(5'000);
  }
  for (std::thread& t : threads) t.join();
  over = true;
  for (std::thread& t : guests) t.join();
  CHECK(cut >= count);
  for (std::uint32_t n : echoed) CHECK(n == rounds);
}
