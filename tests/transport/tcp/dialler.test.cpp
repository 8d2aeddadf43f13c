// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/dialler.hpp>

#include <support/sockets.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace vccl;
using namespace vccl::test;
using Call = Sockets::Call;
using Dialler = tcp::Dialler<Sockets>;
using Kind = tcp::Greeting::Kind;

namespace {

/// Time stands still; a listener is there, unless a test closes it.
struct Setting {
  Sockets::Fresh fresh;
  std::optional<StrangeListener> listener{std::in_place};
  tcp::Config config{};
  tcp::Address to = [this] {
    Sockets::stand_still();
    tcp::Address a = listener->address();
    a.secret = {5, 6};
    return a;
  }();

  [[nodiscard]] Dialler dial() const { return {config, to, 0}; }
};

bool steps_until(Dialler& d, auto condition) {
  return until([&] {
    d.step(Sockets::now());
    return condition();
  });
}
tcp::Greeting heard(Stranger const& s) {
  auto const came = s.hear(sizeof(tcp::Greeting));
  tcp::Greeting g;
  REQUIRE(came.size() == sizeof g);
  std::memcpy(&g, came.data(), sizeof g);
  return g;
}
void replies(Stranger const& s, tcp::Greeting g, Kind kind) {
  g.kind = kind;
  s.say_plain(g);
}
/// Greets, and is welcomed. Gives the peer.
Stranger opens(Setting const& s, Dialler& d, std::uint32_t attempt, Kind kind) {
  Stranger peer = s.listener->accept();
  std::uint32_t const before = d.connections();
  static_cast<void>(steps_until(d, [&] {
    char byte = 0;
    return ::recv(peer.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }));
  tcp::Greeting const g = heard(peer);
  CHECK(g.kind == kind);
  CHECK(g.attempt == attempt);
  CHECK(tcp::same_secret(g.secret, s.to.secret));
  replies(peer, g, Kind::welcome);
  CHECK(steps_until(d, [&] { return d.open(); }));
  CHECK(d.connections() == before + 1);
  return peer;
}

}  // namespace

TEST_CASE("a dialler connects, greets with the secret, and is open when welcomed") {
  Setting s;
  Dialler d = s.dial();
  CHECK_FALSE(d.open());
  Stranger const peer = opens(s, d, 1, Kind::first);
  CHECK(d.error() == 0);
  CHECK(d.attempts() == 1);
}

TEST_CASE("an open pipe dials again, as the same pipe, for as long as it lives") {
  Setting s;
  Dialler d = s.dial();
  Stranger peer = opens(s, d, 1, Kind::first);
  for (std::uint32_t attempt = 2; attempt < 5; ++attempt) {
    peer.hang_up();
    d.lost(Sockets::now());
    CHECK_FALSE(d.open());
    d.step(Sockets::now());
    CHECK(d.attempts() == attempt - 1);  // Not before the pause is over.
    Sockets::pass(s.config.wait_first);
    d.step(Sockets::now());
    CHECK(d.attempts() == attempt);
    peer = opens(s, d, attempt, Kind::again);
  }
  peer.hang_up();
  s.listener.reset();
  d.lost(Sockets::now());
  for (int n = 0; n < 100; ++n) {
    Sockets::pass(s.config.wait_most);
    d.step(Sockets::now());
  }
  CHECK(d.attempts() > 50);
  CHECK(d.error() == 0);
}

TEST_CASE("what may pass is tried again, at growing intervals, until the deadline") {
  for (int error : {EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ECONNREFUSED, ECONNRESET, EAGAIN}) {
    CAPTURE(std::strerror(error));
    Setting s;
    Sockets::fail(Call::connect, error, 1'000'000);
    Dialler d = s.dial();
    Time const begin = Sockets::now();
    std::uint32_t seen = d.attempts();
    Time last = begin;
    Duration longest{};
    while (d.error() == 0 && Sockets::now() - begin < 20_s) {
      Sockets::pass(1_ms);
      d.step(Sockets::now());
      if (d.attempts() == seen) continue;
      seen = d.attempts();
      longest = std::max(longest, Sockets::now() - last);
      last = Sockets::now();
    }
    CHECK(d.error() == error);
    CHECK(Sockets::now() - begin == s.config.connect);
    CHECK(longest > s.config.wait_most / 2);
    CHECK(longest <= s.config.wait_most + 1_ms);
    // 10, 20, ... 640 ms and then 1 s: 7 pauses, and 9 to 13 of the longest.
    CHECK(seen >= 16);
    CHECK(seen <= 24);
    CHECK(Sockets::failed(Call::connect) == seen);
    CHECK(Sockets::open_sockets() == 0);
  }
}

TEST_CASE("an error that comes later counts as one that comes at once") {
  for (int error : {EHOSTUNREACH, ECONNREFUSED}) {
    Setting s;
    Sockets::fail(Call::pending_error, error, 3);
    Dialler d = s.dial();
    CHECK(until([&] {
      Sockets::pass(1_ms);
      d.step(Sockets::now());
      return Sockets::failed(Call::pending_error) == 3;
    }));
    CHECK(d.error() == 0);
    CHECK(d.attempts() >= 3);
  }
  Setting s;
  Sockets::fail(Call::pending_error, EACCES);
  Dialler d = s.dial();
  CHECK(steps_until(d, [&] { return d.error() != 0; }));
  CHECK(d.error() == EACCES);
}

TEST_CASE("what no trying again would mend ends a first connection at once") {
  for (Call call : {Call::connect, Call::socket}) {
    for (int error : {EACCES, EPERM, EAFNOSUPPORT, EMFILE}) {
      Setting s;
      Sockets::fail(call, error);
      Dialler const d = s.dial();
      CHECK(Sockets::failed(call) == 1);
      CHECK(d.error() == error);
      CHECK(d.attempts() == 1);
      CHECK(Sockets::open_sockets() == 0);
    }
  }
}

TEST_CASE("but not a pipe that was open") {
  Setting s;
  Dialler d = s.dial();
  Stranger peer = opens(s, d, 1, Kind::first);
  peer.hang_up();
  d.lost(Sockets::now());
  Sockets::fail(Call::socket, EMFILE, 2);
  for (int n = 0; n < 10; ++n) {
    Sockets::pass(10_ms);
    d.step(Sockets::now());
  }
  CHECK(Sockets::failed(Call::socket) == 2);
  CHECK(d.error() == 0);
  peer = opens(s, d, 4, Kind::again);
}

TEST_CASE("an address that is none ends it at once") {
  Setting s;
  s.to.port = 0;
  CHECK(s.dial().error() == EINVAL);
  s.to = {};
  CHECK(s.dial().error() == EINVAL);
  CHECK(Sockets::made(Call::socket) == 0);
}

TEST_CASE("a connection that does not come about is given up and tried again") {
  Setting s;
  // A listener whose queue is full lets the next one wait.
  StrangeListener const full{0, 0};
  Stranger const sits{full.address()};
  s.to = full.address();
  std::optional<Dialler> waits;
  std::vector<Dialler> others;
  for (int n = 0; n < 4 && !waits; ++n) {
    Dialler d = s.dial();
    bool const through = d.attempts() == 1 && Sockets::open_sockets() > 0 && [&] {
      pollfd p{.fd = d.line().stream.fd(), .events = POLLOUT, .revents = 0};
      return ::poll(&p, 1, 50) == 1;
    }();
    if (through) {
      others.push_back(std::move(d));
    } else {
      waits.emplace(std::move(d));
    }
  }
  REQUIRE(waits);
  waits->step(Sockets::now());
  CHECK(waits->attempts() == 1);
  Sockets::pass(s.config.connect_once);
  waits->step(Sockets::now());
  CHECK(waits->attempts() == 1);
  Sockets::pass(s.config.wait_first);
  waits->step(Sockets::now());
  CHECK(waits->attempts() == 2);
  Sockets::pass(s.config.connect);
  waits->step(Sockets::now());
  CHECK(waits->error() == ETIMEDOUT);
}

TEST_CASE("an interrupted connect goes on by itself") {
  // The call is made, and says EINTR.
  struct Interrupted : Sockets {
    static int connect(int fd, const sockaddr* a, socklen_t n) {
      static_cast<void>(Sockets::connect(fd, a, n));
      errno = EINTR;
      return -1;
    }
  };
  Setting const s;
  tcp::Dialler<Interrupted> d{s.config, s.to, 0};
  Stranger const peer = s.listener->accept();
  d.step(Sockets::now());
  CHECK(heard(peer).attempt == 1);
}

TEST_CASE("who answers something else than our greeting is no door; a door may come in its place") {
  for (int what = 0; what < 6; ++what) {
    CAPTURE(what);
    Setting s;
    Dialler d = s.dial();
    Stranger const peer = s.listener->accept();
    d.step(Sockets::now());
    tcp::Greeting g = heard(peer);
    switch (what) {
      case 0:
        peer.say("HTTP/1.1 400 Bad Request\r\n");
        break;
      case 1:
        peer.say_plain(g);  // An echo.
        break;
      case 2:
        g.pipe[0] ^= 1;
        replies(peer, g, Kind::welcome);
        break;
      case 3:
        g.secret[0] ^= 1;
        replies(peer, g, Kind::welcome);
        break;
      case 4:
        ++g.attempt;
        replies(peer, g, Kind::welcome);
        break;
      default:
        g.version = 9;
        replies(peer, g, Kind::welcome);
    }
    CHECK(steps_until(d, [&] { return d.line().malformed == 1; }));
    CHECK(d.error() == 0);
    Sockets::pass(s.config.wait_first);
    d.step(Sockets::now());
    Stranger const door = opens(s, d, 2, Kind::first);
  }
}

TEST_CASE("half a welcome is none, and the next connection starts clean") {
  Setting s;
  Dialler d = s.dial();
  Stranger peer = s.listener->accept();
  d.step(Sockets::now());
  tcp::Greeting g = heard(peer);
  g.kind = Kind::welcome;
  peer.say(std::as_bytes(std::span{&g, 1}).first(47));
  peer.hang_up();
  CHECK(until([&] {
    d.step(Sockets::now());
    Sockets::pass(1_ms);
    return d.attempts() == 2;
  }));
  CHECK(d.line().malformed == 0);
  peer = opens(s, d, 2, Kind::first);
}

TEST_CASE("told that nobody is there any more, a pipe ends") {
  Setting s;
  Dialler d = s.dial();
  Stranger peer = opens(s, d, 1, Kind::first);
  peer.reset();
  d.lost(Sockets::now());
  Sockets::pass(s.config.wait_first);
  d.step(Sockets::now());
  Stranger const door = s.listener->accept();
  d.step(Sockets::now());
  replies(door, heard(door), Kind::gone);
  CHECK(steps_until(d, [&] { return d.error() != 0; }));
  CHECK(d.error() == ECONNABORTED);
  CHECK(Sockets::open_sockets() == 0);
}

TEST_CASE("who listens may take its time to let us in") {
  Setting s;
  Dialler d = s.dial();
  Stranger const peer = s.listener->accept();
  d.step(Sockets::now());
  tcp::Greeting const g = heard(peer);
  Sockets::pass(s.config.connect * 10);
  d.step(Sockets::now());
  CHECK(d.error() == 0);
  replies(peer, g, Kind::welcome);
  CHECK(steps_until(d, [&] { return d.open(); }));
  CHECK(d.attempts() == 1);
}

TEST_CASE("a greeting that cannot be sent costs an attempt") {
  Setting s;
  Sockets::fail(Call::send, ECONNRESET);
  Dialler d = s.dial();
  CHECK(until([&] {
    d.step(Sockets::now());
    Sockets::pass(1_ms);
    return d.attempts() == 2;
  }));
  CHECK(Sockets::failed(Call::send) == 1);
  CHECK(d.error() == 0);
}

TEST_CASE("pauses differ from one dialler to the next") {
  Setting s;
  s.listener.reset();
  std::vector<std::int64_t> pauses;
  for (int n = 0; n < 20; ++n) {
    Sockets::fail(Call::connect, ECONNREFUSED);
    Dialler d = s.dial();
    Sockets::fail(Call::connect, ECONNREFUSED);
    Time const begin = Sockets::now();
    while (d.attempts() == 1) {
      Sockets::pass(10_us);
      d.step(Sockets::now());
    }
    pauses.push_back((Sockets::now() - begin).ns);
  }
  auto const [least, most] = std::minmax_element(pauses.begin(), pauses.end());
  CHECK(*least >= s.config.wait_first.ns * 3 / 4);
  CHECK(*most <= s.config.wait_first.ns + 10'000);
  CHECK(*least != *most);
}
