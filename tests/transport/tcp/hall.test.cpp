// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/hall.hpp>

#include <support/sockets.hpp>

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <string>

using namespace vccl;
using namespace vccl::test;
using Call = Sockets::Call;
using Hall = tcp::Hall<Sockets>;
using Seat = tcp::Seat<Sockets>;
using Kind = tcp::Greeting::Kind;

namespace {

constexpr tcp::Config here{.address = "127.0.0.1", .callers = 4, .waiting = 3};

tcp::Greeting hello(Hall const& hall, std::uint64_t pipe, std::uint32_t attempt = 1,
                    Kind kind = Kind::first) {
  tcp::Greeting g;
  g.kind = kind;
  g.attempt = attempt;
  g.pipe = {pipe, 1};
  g.secret = hall.address().secret;
  return g;
}
Kind answer(Stranger const& s) {
  auto const came = s.hear(sizeof(tcp::Greeting));
  tcp::Greeting g;
  REQUIRE(came.size() == sizeof g);
  std::memcpy(&g, came.data(), sizeof g);
  return g.kind;
}
Seat* comes_in(Hall& hall) {
  Seat* seat = nullptr;
  static_cast<void>(until([&] { return (seat = hall.next()) != nullptr; }));
  return seat;
}
/// Looks until so many were dropped.
bool drops(Hall& hall, std::uint64_t n) {
  return until([&] {
    CHECK(hall.next() == nullptr);
    return hall.dropped() == n;
  });
}

}  // namespace

TEST_CASE("who greets with the secret is welcomed, and let in once") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  CHECK(hall.next() == nullptr);
  Stranger const caller{hall.address()};
  caller.say_plain(hello(hall, 7));
  Seat* const seat = comes_in(hall);
  REQUIRE(seat != nullptr);
  CHECK(answer(caller) == Kind::welcome);
  CHECK(hall.next() == nullptr);
  CHECK(hall.take(*seat));
  CHECK(hall.dropped() == 0);
}

TEST_CASE("strangers are dropped without a word, and disturb nobody") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  Stranger const before{hall.address()};
  before.say_plain(hello(hall, 1));
  Seat* const seat = comes_in(hall);
  REQUIRE(seat != nullptr);
  CHECK(answer(before) == Kind::welcome);
  tcp::Stream<Sockets> kept = hall.take(*seat);

  std::deque<Stranger> strangers;
  auto const call = [&]() -> Stranger& { return strangers.emplace_back(hall.address()); };
  call().say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  call().say(std::string(20'000, '\xff'));
  call().hang_up();
  call().reset();
  tcp::Greeting g = hello(hall, 2);
  g.version = 2;
  call().say_plain(g);
  g = hello(hall, 2);
  g.bytes = 0xffff;
  call().say_plain(g);
  g = hello(hall, 2);
  g.secret[1] ^= std::uint64_t{1} << 63;
  call().say_plain(g);
  g = hello(hall, 2);
  g.secret = {};
  call().say_plain(g);
  call().say_plain(hello(hall, 2, 1, Kind::welcome));
  call().say_plain(hello(hall, 2, 1, Kind::gone));
  call().say_plain(
      hello(hall, 1, 1));  // A pipe that is there, with a connection that is not newer.
  call().say_plain(hello(hall, 2, 0));
  CHECK(drops(hall, strangers.size()));
  for (Stranger const& s : strangers) {
    if (s.fd() >= 0) CHECK(s.is_dropped());
  }
  CHECK(hall.callers() == 0);

  Stranger const after{hall.address()};
  after.say_plain(hello(hall, 3));
  CHECK(comes_in(hall) != nullptr);
  CHECK(answer(after) == Kind::welcome);
  std::byte byte{};
  CHECK(Sockets::receive(kept.fd(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("a greeting may come byte by byte, but not for ever") {
  Sockets::Fresh const fresh;
  Sockets::stand_still();
  Hall hall{here};
  Stranger const slow{hall.address()};
  Stranger const slower{hall.address()};
  tcp::Greeting const g = hello(hall, 7);
  auto const bytes = std::as_bytes(std::span{&g, 1});
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    slow.say(bytes.subspan(i, 1));
    slower.say(bytes.subspan(i, 1));
    CHECK(hall.next() == nullptr);
    if (i == 0) REQUIRE(until([&] { return hall.next() == nullptr && hall.callers() == 2; }));
    if (i < 40) Sockets::pass(here.patience / 40);
    if (i == 38) {
      CHECK(hall.callers() == 2);
      slow.say(bytes.subspan(i + 1));
      CHECK(comes_in(hall) != nullptr);
      CHECK(answer(slow) == Kind::welcome);
      CHECK(hall.callers() == 1);
      break;
    }
  }
  Sockets::pass(here.patience);
  CHECK(drops(hall, 1));
  CHECK(slower.is_dropped());
}

TEST_CASE("of too many silent callers the oldest go, and who greets gets in between") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  std::deque<Stranger> silent;
  for (std::size_t n = 0; n < 20; ++n) silent.emplace_back(hall.address());
  Stranger const caller{hall.address()};
  caller.say_plain(hello(hall, 7));
  CHECK(comes_in(hall) != nullptr);
  CHECK(drops(hall, 16));
  CHECK(hall.callers() == here.callers);
  for (std::size_t n = 0; n < 16; ++n) CHECK(silent[n].is_dropped());
  CHECK(Sockets::open_sockets() == 1 + 1 + here.callers);
}

TEST_CASE("no more wait to be let in than there may; the others call again") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  std::deque<Stranger> callers;
  for (std::uint64_t n = 0; n < 5; ++n)
    callers.emplace_back(hall.address()).say_plain(hello(hall, n));
  CHECK(until([&] {
    hall.look_now_and_then(Sockets::now());
    return hall.dropped() == 2;
  }));
  for (int n = 0; n < 3; ++n) CHECK(hall.next() != nullptr);
  CHECK(hall.next() == nullptr);
  Stranger const again{hall.address()};
  again.say_plain(hello(hall, 4, 2));
  CHECK(comes_in(hall) != nullptr);
}

TEST_CASE("a caller that comes back finds its pipe, and no door sees it") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  Stranger const first{hall.address()};
  first.say_plain(hello(hall, 7));
  Seat* const seat = comes_in(hall);
  REQUIRE(seat != nullptr);
  int const old = hall.take(*seat).fd();
  Stranger const second{hall.address()};
  second.say_plain(hello(hall, 7, 2, Kind::again));
  CHECK(until([&] {
    hall.look_now_and_then(Sockets::now());
    return seat->has_fresh.load();
  }));
  CHECK(answer(second) == Kind::welcome);
  CHECK(hall.next() == nullptr);
  // Also when the door is closed.
  hall.close_door();
  Stranger const third{hall.address()};
  third.say_plain(hello(hall, 7, 3, Kind::again));
  CHECK(until([&] {
    hall.look_now_and_then(Sockets::now());
    return seat->attempt == 3;
  }));
  CHECK(answer(third) == Kind::welcome);
  CHECK(second.is_dropped());
  CHECK(old >= 0);
}

TEST_CASE("who comes back to nobody, or calls at a closed door, is told so") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  Stranger const lost{hall.address()};
  lost.say_plain(hello(hall, 7, 2, Kind::again));
  CHECK(drops(hall, 1));
  CHECK(answer(lost) == Kind::gone);
  Stranger const guest{hall.address()};
  guest.say_plain(hello(hall, 8));
  Seat* const seat = comes_in(hall);
  REQUIRE(seat != nullptr);
  Stranger const unseen{hall.address()};
  unseen.say_plain(hello(hall, 9));
  CHECK(until([&] {
    hall.look_now_and_then(Sockets::now());
    return Sockets::open_sockets() == 3 && hall.callers() == 0;
  }));
  hall.close_door();
  CHECK(answer(unseen) == Kind::welcome);
  CHECK(unseen.is_dropped());
  CHECK_FALSE(hall.vacant());
  Stranger const late{hall.address()};
  late.say_plain(hello(hall, 10));
  CHECK(until([&] {
    hall.look_now_and_then(Sockets::now());
    return hall.dropped() == 2;
  }));
  CHECK(answer(late) == Kind::gone);
  hall.leave(*seat);
  CHECK(hall.vacant());
  CHECK(Sockets::open_sockets() == 0);
  CHECK_THROWS(Stranger{hall.address()});
}

TEST_CASE("a call that fails to be accepted costs that caller only") {
  for (int error : {ECONNABORTED, EPROTO, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    CAPTURE(std::strerror(error));
    Sockets::Fresh const fresh;
    Hall hall{here};
    Stranger const caller{hall.address()};
    caller.say_plain(hello(hall, 7));
    Sockets::fail(Call::accept, error, 3);
    CHECK(comes_in(hall) != nullptr);
    CHECK(Sockets::failed(Call::accept) == 3);
    CHECK(answer(caller) == Kind::welcome);
  }
}

TEST_CASE("who cannot be answered is dropped, and may call again") {
  Sockets::Fresh const fresh;
  Hall hall{here};
  Stranger const caller{hall.address()};
  caller.say_plain(hello(hall, 7));
  Sockets::fail(Call::send, EPIPE);
  CHECK(drops(hall, 1));
  CHECK(Sockets::failed(Call::send) == 1);
  Stranger const again{hall.address()};
  again.say_plain(hello(hall, 7, 2));
  CHECK(comes_in(hall) != nullptr);
}

TEST_CASE("pipes do not look more often than they should") {
  Sockets::Fresh const fresh;
  Sockets::stand_still();
  Hall hall{here};
  for (int n = 0; n < 1000; ++n) hall.look_now_and_then(Sockets::now());
  CHECK(Sockets::made(Call::accept) == 1);
  Sockets::pass(here.look_every);
  for (int n = 0; n < 1000; ++n) hall.look_now_and_then(Sockets::now());
  CHECK(Sockets::made(Call::accept) == 2);
}

TEST_CASE("each call that a door needs may fail: one error, which says what to do; nothing leaks") {
  struct Fault {
    Call call;
    int error;
    char const* name;
    char const* says;
  };
  for (Fault const& f : {Fault{Call::socket, EMFILE, "socket", "ulimit"},
                         {Call::socket, EAFNOSUPPORT, "socket", "family"},
                         {Call::bind, EADDRNOTAVAIL, "bind", "no such address"},
                         {Call::bind, EACCES, "bind", "1024"},
                         {Call::listen, EADDRINUSE, "listen", "give another"}}) {
    CAPTURE(f.name);
    Sockets::Fresh const fresh;
    Sockets::fail(f.call, f.error);
    try {
      Hall const hall{here};
      FAIL("no error");
    } catch (SetupError const& e) {
      CHECK(std::string{e.call()} == f.name);
      CHECK(e.number() == f.error);
      CHECK(std::string{e.what()}.find(f.says) != std::string::npos);
    }
    CHECK(Sockets::failed(f.call) == 1);
    CHECK(Sockets::open_sockets() == 0);
  }
}

TEST_CASE("two doors do not share a port, and a door's secret is its own") {
  Sockets::Fresh const fresh;
  Hall const one{here};
  tcp::Config same = here;
  same.port = static_cast<std::uint16_t>(one.address().port);
  CHECK_THROWS_WITH_AS(Hall{same}, doctest::Contains("another socket listens"), SetupError);
  Hall const other{here};
  CHECK(one.address().port != other.address().port);
  CHECK_FALSE(tcp::same_secret(one.address().secret, other.address().secret));
  CHECK_THROWS_WITH_AS(Hall{tcp::Config{.address = "192.0.2.1"}},
                       doctest::Contains("no such address"), SetupError);
}
