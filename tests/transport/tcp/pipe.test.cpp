// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/pipe.hpp>

#include <support/sockets.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

using namespace vccl;
using namespace vccl::test;
using Call = Sockets::Call;
using Hall = tcp::Hall<Sockets>;
using TcpPipe = tcp::Pipe<Sockets>;

namespace {

/// Both ends of a pipe.
struct Both {
  Sockets::Fresh fresh;
  tcp::Config config{.address = "127.0.0.1", .wait_first = 1_ms, .look_every = 0_ns};
  Hall hall{config};
  TcpPipe near{std::make_unique<tcp::Dialler<Sockets>>(config, hall.address(), 0)};
  TcpPipe far;

  Both() {
    REQUIRE(until([&] {
      static_cast<void>(near.receive({}));
      if (tcp::Seat<Sockets>* const seat = hall.next())
        far = TcpPipe{std::make_unique<tcp::Guest<Sockets>>(hall, *seat, config.queue)};
      return near.connected() && far.connected();
    }));
  }
  /// Both ends have had `n` connections, and have one.
  bool reconnects(std::uint32_t n) {
    return until([&] {
      CHECK(near.receive({}) == 0);
      CHECK(far.receive({}) == 0);
      return near.connected() && far.connected() && near.connections() == n &&
             far.connections() == n;
    });
  }
};

/// The next message's number; 0 when none comes.
std::uint32_t next_number(TcpPipe& p) {
  std::array<std::byte, tcp::max_message> into;
  return until([&] { return p.receive(into) != 0; }) ? number_in(into) : 0;
}

}  // namespace

TEST_CASE("messages go both ways, whole and in order") {
  Both b;
  for (std::uint32_t n = 1; n <= 100; ++n) {
    REQUIRE(b.near.send(message(n, 4 + n * 40)) == Errc::ok);
    REQUIRE(b.far.send(message(1000 + n)) == Errc::ok);
    CHECK(next_number(b.far) == n);
    CHECK(next_number(b.near) == 1000 + n);
  }
  CHECK(b.near.connections() == 1);
  CHECK(b.far.connections() == 1);
  CHECK(b.near.malformed() + b.far.malformed() == 0);
}

TEST_CASE("a message is 1 to 4096 bytes; a short buffer gets the beginning") {
  Both b;
  CHECK(b.near.send({}) == Errc::invalid_argument);
  CHECK(b.near.send(message(1, 4097)) == Errc::invalid_argument);
  CHECK(b.near.send(message(1, 4096)) == Errc::ok);
  CHECK(b.near.send(message(2, 1)) == Errc::ok);
  std::array<std::byte, 10> into;
  std::size_t n = 0;
  CHECK(until([&] { return (n = b.far.receive(into)) != 0; }));
  CHECK(n == 10);
  CHECK(until([&] { return (n = b.far.receive(into)) != 0; }));
  CHECK(n == 1);
}

TEST_CASE("messages may be sent before there is a connection") {
  Sockets::Fresh const fresh;
  tcp::Config const config{.address = "127.0.0.1"};
  Hall hall{config};
  TcpPipe near{std::make_unique<tcp::Dialler<Sockets>>(config, hall.address(), 0)};
  for (std::uint32_t n = 1; n <= 3; ++n) CHECK(near.send(message(n)) == Errc::ok);
  TcpPipe far;
  CHECK(until([&] {
    static_cast<void>(near.receive({}));
    if (tcp::Seat<Sockets>* const seat = hall.next())
      far = TcpPipe{std::make_unique<tcp::Guest<Sockets>>(hall, *seat, config.queue)};
    return near.connected() && far.connected();
  }));
  for (std::uint32_t n = 1; n <= 3; ++n) CHECK(next_number(far) == n);
}

TEST_CASE("a connection that is cut or reset comes back with the same two ends") {
  Both b;
  for (std::uint32_t n = 1; n <= 10; ++n) {
    CAPTURE(n);
    CHECK((n % 2 == 0 ? Sockets::cut() : Sockets::reset()) >= 1);
    CHECK(b.reconnects(n + 1));
    CHECK(b.hall.next() == nullptr);
    CHECK(b.near.send(message(n)) == Errc::ok);
    CHECK(b.far.send(message(100 + n)) == Errc::ok);
    CHECK(next_number(b.far) == n);
    CHECK(next_number(b.near) == 100 + n);
  }
  CHECK(b.near.error() == 0);
}

TEST_CASE("what waits when the connection is lost goes over the next one") {
  Both b;
  CHECK(Sockets::cut() == 2);
  // Each end learns it with its first receive; what it sends from there on waits.
  CHECK(until([&] { return b.near.receive({}) == 0 && !b.near.connected(); }));
  CHECK(until([&] { return b.far.receive({}) == 0 && !b.far.connected(); }));
  for (std::uint32_t n = 1; n <= 3; ++n) {
    CHECK(b.near.send(message(n)) == Errc::ok);
    CHECK(b.far.send(message(n)) == Errc::ok);
  }
  for (std::uint32_t n = 1; n <= 3; ++n) {
    std::array<std::byte, 8> into;
    bool near = false, far = false;
    CHECK(until([&] {
      if (!near) near = b.near.receive(into) != 0 && number_in(into) == n;
      if (!far) far = b.far.receive(into) != 0 && number_in(into) == n;
      return near && far;
    }));
  }
  CHECK(b.near.connections() == 2);
}

TEST_CASE("what came on the old connection is read first, and then it is dropped") {
  Sockets::Fresh const fresh;
  tcp::Config const config{.address = "127.0.0.1", .look_every = 0_ns};
  Hall hall{config};
  TcpPipe far;
  auto const call = [&](std::uint32_t attempt, tcp::Greeting::Kind kind) {
    tcp::Greeting g;
    g.kind = kind;
    g.attempt = attempt;
    g.pipe = {7, 7};
    g.secret = hall.address().secret;
    Stranger s{hall.address()};
    s.say_plain(g);
    return s;
  };
  auto const say = [](Stranger const& s, std::uint32_t number) {
    s.say_plain(tcp::MessageHeader{.bytes = 4});
    s.say(message(number));
  };
  Stranger const before = call(1, tcp::Greeting::Kind::first);
  REQUIRE(until([&] {
    tcp::Seat<Sockets>* const seat = hall.next();
    if (seat != nullptr)
      far = TcpPipe{std::make_unique<tcp::Guest<Sockets>>(hall, *seat, config.queue)};
    return seat != nullptr;
  }));
  CHECK(far.send(message(100)) == Errc::ok);
  CHECK(before.hear(sizeof(tcp::Greeting) + 12).size() == sizeof(tcp::Greeting) + 12);
  say(before, 1);
  say(before, 2);
  CHECK(until([] {  // Both have arrived.
    std::array<std::byte, 64> waiting;
    return ::recv(Sockets::descriptors().back(), waiting.data(), waiting.size(),
                  MSG_PEEK | MSG_DONTWAIT) == 24;
  }));
  Stranger const after = call(2, tcp::Greeting::Kind::again);
  say(after, 3);
  CHECK(until([&] {
    hall.look_now_and_then(Sockets::now());
    return hall.callers() == 0 && Sockets::open_sockets() == 3;
  }));
  // Not to the old connection: it would be lost.
  CHECK(far.send(message(101)) == Errc::ok);
  CHECK(next_number(far) == 1);
  CHECK(next_number(far) == 2);
  CHECK(next_number(far) == 3);
  CHECK(far.connections() == 2);
  CHECK(before.is_dropped());
  std::array<std::byte, 8> into;
  CHECK(far.receive(into) == 0);
  auto const came = after.hear(sizeof(tcp::Greeting) + 12);
  REQUIRE(came.size() == sizeof(tcp::Greeting) + 12);
  CHECK(number_in(std::span{came}.subspan(sizeof(tcp::Greeting) + 8)) == 101);
}

TEST_CASE("under cuts at any byte no message is repeated, torn or out of order") {
  Both b;
  std::array<std::uint32_t, 2> sent{}, last{}, got{};
  std::size_t cuts = 0;
  std::uint64_t random = 1;
  std::vector<std::byte> into(tcp::max_message);
  while (sent[0] < 20'000 || sent[1] < 20'000) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    Sockets::short_sends(1 + (random >> 40) % 3000);
    std::size_t i = 0;
    for (TcpPipe* from : {&b.near, &b.far}) {
      std::size_t const size = 4 + (random >> 33) % 1000;
      if (from->send(message(sent[i] + 1, size)) == Errc::ok) ++sent[i];
      TcpPipe& to = i == 0 ? b.far : b.near;
      for (std::size_t n; (n = to.receive(into)) != 0;) {
        REQUIRE(number_in(into) > last[i]);
        REQUIRE(number_in(into) <= sent[i]);
        REQUIRE((n == 4 || into[n - 1] == std::byte{0x5a}));
        last[i] = number_in(into);
        ++got[i];
      }
      ++i;
    }
    if (random >> 56 == 0) cuts += (random & 1) != 0 ? Sockets::cut() : Sockets::reset();
  }
  CHECK(cuts > 50);
  CHECK(b.near.connections() > 25);
  CHECK(b.far.connections() > 25);
  CHECK(b.near.malformed() + b.far.malformed() == 0);
  for (std::size_t i = 0; i < 2; ++i) CHECK(got[i] > 10'000);
  MESSAGE(cuts << " cuts, " << got[0] << " and " << got[1] << " of 20000 messages came");
}

TEST_CASE("a peer that reads nothing makes send say would_block, and later gets it all in order") {
  Both b;
  std::uint32_t sent = 0;
  Errc e = Errc::ok;
  for (; sent < 100'000; ++sent) {
    e = b.near.send(message(sent + 1, 4000));
    if (e != Errc::ok) break;
  }
  REQUIRE(e == Errc::would_block);
  CHECK(sent > 4);
  std::array<std::byte, tcp::max_message> into;
  for (std::uint32_t n = 1; n <= sent; ++n) {
    REQUIRE(until([&] {
      static_cast<void>(b.near.receive({}));  // Lets what waits go on.
      return b.far.receive(into) != 0;
    }));
    REQUIRE(number_in(into) == n);
  }
  CHECK(b.near.send(message(sent + 1)) == Errc::ok);
  CHECK(next_number(b.far) == sent + 1);
}

TEST_CASE("a peer that breaks the frame loses that connection, not the pipe") {
  Both b;
  // Says something of its own on our end's socket: three bytes, then a message of ours.
  for (int fd : Sockets::descriptors()) static_cast<void>(::send(fd, "bad", 3, MSG_NOSIGNAL));
  CHECK(b.near.send(message(1)) == Errc::ok);
  CHECK(b.far.send(message(1)) == Errc::ok);
  CHECK(b.reconnects(2));
  CHECK(b.near.malformed() + b.far.malformed() >= 1);
  CHECK(b.far.send(message(2)) == Errc::ok);
  CHECK(next_number(b.near) == 2);
}

TEST_CASE("a pipe whose other end is destroyed ends; the end that was let in waits for ever") {
  {
    Both b;
    b.far = TcpPipe{};
    CHECK(until([&] {
      static_cast<void>(b.near.receive({}));
      CHECK(b.hall.next() == nullptr);
      return b.near.error() != 0;
    }));
    CHECK(b.near.error() == ECONNABORTED);
    CHECK(b.near.send(message(1)) == Errc::path_down);
    CHECK_FALSE(b.near.connected());
  }
  {
    Both b;
    b.near = TcpPipe{};
    CHECK(until([&] { return b.far.receive({}) == 0 && !b.far.connected(); }));
    CHECK(b.far.error() == 0);
    CHECK(b.far.send(message(1)) == Errc::ok);
  }
}

TEST_CASE("the last words of a pipe arrive") {
  Both b;
  CHECK(b.near.send(message(1)) == Errc::ok);
  CHECK(b.far.send(message(2)) == Errc::ok);
  b.near = TcpPipe{};
  CHECK(next_number(b.far) == 1);
}

TEST_CASE("a pipe that nobody made has ended") {
  TcpPipe p;
  CHECK(p.send(message(1)) == Errc::path_down);
  CHECK(p.receive({}) == 0);
  CHECK_FALSE(p.connected());
  CHECK(p.error() == 0);
  CHECK(p.connections() == 0);
  CHECK(p.attempts() == 0);
  CHECK(p.malformed() == 0);
}
