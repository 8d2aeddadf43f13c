// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/stream.hpp>

#include <support/sockets.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace vccl;
using namespace vccl::test;
using tcp::Io;
using Call = Sockets::Call;

namespace {

/// A line that is connected to a stranger.
struct Connected {
  Sockets::Fresh fresh;
  StrangeListener listener;
  tcp::Line<Sockets> line{1 << 14};
  Stranger theirs = meet();

  Stranger meet() {
    tcp::SocketAddress at;
    static_cast<void>(tcp::to_socket(listener.address(), 0, at));
    tcp::Socket<Sockets> s{Sockets::socket(AF_INET)};
    static_cast<void>(Sockets::connect(s.fd(), at.get(), at.length));
    line.replace(tcp::Stream<Sockets>{std::move(s)});
    return listener.accept();
  }
  /// What the next thing is, and its bytes.
  Io next(std::span<std::byte> into, std::size_t& n) {
    Io io = Io::idle;
    static_cast<void>(until([&] { return (io = line.read(into, n)) != Io::idle; }));
    return io;
  }
};

}  // namespace

TEST_CASE("messages pass both ways; nothing to be had is idle") {
  Connected c;
  std::array<std::byte, 64> into;
  std::size_t n = 0;
  CHECK(c.line.read(into, n) == Io::idle);
  REQUIRE(c.line.outbox.push(message(1)));
  REQUIRE(c.line.outbox.push(message(2)));
  c.line.flush();
  CHECK(c.line.outbox.unsent().empty());
  auto const came = c.theirs.hear(24);
  CHECK(number_in(std::span{came}.subspan(8)) == 1);
  CHECK(number_in(std::span{came}.subspan(20)) == 2);
  c.theirs.say(came);
  REQUIRE(c.next(into, n) == Io::moved);
  CHECK(n == 4);
  CHECK(number_in(into) == 1);
  REQUIRE(c.next(into, n) == Io::moved);
  CHECK(number_in(into) == 2);
}

TEST_CASE("calls that are interrupted are made again") {
  Connected c;
  Sockets::fail(Call::send, EINTR, 3);
  REQUIRE(c.line.outbox.push(message(1)));
  c.line.flush();
  CHECK(Sockets::failed(Call::send) == 3);
  CHECK(c.line.outbox.unsent().empty());
  c.theirs.say(c.theirs.hear(12));
  std::array<std::byte, 64> into;
  std::size_t n = 0;
  Sockets::fail(Call::receive, EINTR, 3);
  CHECK(c.next(into, n) == Io::moved);
  CHECK(Sockets::failed(Call::receive) == 3);
}

TEST_CASE("a socket that takes a byte at a time gets every byte once") {
  Connected c;
  Sockets::short_sends(1);
  for (std::uint32_t n = 0; n < 100; ++n) REQUIRE(c.line.outbox.push(message(n)));
  c.line.flush();
  CHECK(Sockets::made(Call::send) == 1200);
  auto const came = c.theirs.hear(1200);
  REQUIRE(came.size() == 1200);
  for (std::uint32_t n = 0; n < 100; ++n)
    CHECK(number_in(std::span{came}.subspan(n * 12 + 8)) == n);
}

TEST_CASE("a full socket is idle, and goes on when the peer reads") {
  Connected c;
  std::size_t pushed = 0;
  for (; c.line.outbox.push(message(0, 4096)); ++pushed) c.line.flush();
  CHECK(c.line.writable);
  CHECK_FALSE(c.line.outbox.unsent().empty());
  CHECK(c.theirs.hear(1 << 20).size() == 1 << 20);
  CHECK(until([&] {
    c.line.flush();
    return c.line.outbox.push(message(0, 4096));
  }));
  CHECK(pushed > 4);
}

TEST_CASE("after a write that failed what came is still read; then the connection is lost") {
  Connected c;
  tcp::MessageHeader const h{.bytes = 4};
  c.theirs.say_plain(h);
  c.theirs.say(message(9));
  Sockets::fail(Call::send, EPIPE);
  REQUIRE(c.line.outbox.push(message(1)));
  c.line.flush();
  CHECK(Sockets::failed(Call::send) == 1);
  CHECK_FALSE(c.line.writable);
  c.line.flush();
  CHECK(Sockets::made(Call::send) == 1);
  c.theirs.hang_up();
  std::array<std::byte, 64> into;
  std::size_t n = 0;
  REQUIRE(c.next(into, n) == Io::moved);
  CHECK(number_in(into) == 9);
  CHECK(c.next(into, n) == Io::lost);
}

TEST_CASE("a close, a reset and a broken frame each lose the connection") {
  std::array<std::byte, 64> into;
  std::size_t n = 0;
  {
    Connected c;
    c.theirs.say("VCCM");  // Half a header.
    c.theirs.hang_up();
    CHECK(c.next(into, n) == Io::lost);
    CHECK(c.line.malformed == 0);
  }
  {
    Connected c;
    c.theirs.reset();
    CHECK(c.next(into, n) == Io::lost);
  }
  {
    Connected c;
    c.theirs.say("VCCM then something else");
    CHECK(c.next(into, n) == Io::lost);
    CHECK(c.line.malformed == 1);
  }
}

TEST_CASE("what the socket took reaches the peer although we close with bytes unread") {
  Connected c;
  c.theirs.say(std::string(5000, 'x'));
  char seen = 0;
  REQUIRE(until([&] { return ::recv(c.line.stream.fd(), &seen, 1, MSG_PEEK) == 1; }));
  // More than the peer's side holds: some of it is still here when we close.
  std::size_t took = 0;
  std::vector<std::byte> const bytes(10'000, std::byte{1});
  for (std::size_t n = 0; c.line.stream.write(bytes, n) == Io::moved;) took += n;
  REQUIRE(took > 100'000);
  c.line.stream.close();
  CHECK(Sockets::open_sockets() == 0);
  CHECK(c.theirs.hear(took + 1).size() == took);
}

TEST_CASE("a new connection takes the message that was cut off, whole") {
  Connected c;
  Sockets::short_sends(5);
  REQUIRE(c.line.outbox.push(message(1)));
  REQUIRE(c.line.outbox.push(message(2)));
  std::size_t n = 0;
  for (int i = 0; i < 3; ++i) {  // 15 bytes: the first, and a quarter of the second.
    CHECK(c.line.stream.write(c.line.outbox.unsent(), n) == Io::moved);
    c.line.outbox.sent(n);
  }
  c.theirs = c.meet();
  c.line.flush();
  auto const came = c.theirs.hear(12);
  CHECK(number_in(std::span{came}.subspan(8)) == 2);
}
