// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/sockets.hpp>

#include <support/sockets.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <fcntl.h>

using namespace vccl;
using namespace vccl::test;
using tcp::SystemSockets;

namespace {

/// A pair that is connected: ours, and a stranger's.
struct Dialled {
  StrangeListener listener;
  tcp::Socket<SystemSockets> ours{SystemSockets::socket(AF_INET)};
  Stranger theirs = meet();

  Stranger meet() {
    tcp::SocketAddress at;
    static_cast<void>(tcp::to_socket(listener.address(), 0, at));
    static_cast<void>(SystemSockets::connect(ours.fd(), at.get(), at.length));
    return listener.accept();
  }
};

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t n = sizeof value;
  ::getsockopt(fd, level, name, &value, &n);
  return value;
}

}  // namespace

TEST_CASE("our sockets do not block, and do not outlive an exec") {
  Dialled c;
  CHECK((::fcntl(c.ours.fd(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(c.ours.fd(), F_GETFD) & FD_CLOEXEC) != 0);
  char byte = 0;
  CHECK(SystemSockets::receive(c.ours.fd(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("so do those that accept gives") {
  tcp::Socket<SystemSockets> door{SystemSockets::socket(AF_INET)};
  tcp::Address a = tcp::parse("127.0.0.1");
  tcp::SocketAddress at;
  REQUIRE(tcp::to_socket(a, 0, at));
  REQUIRE(SystemSockets::bind(door.fd(), at.get(), at.length) == 0);
  REQUIRE(SystemSockets::listen(door.fd(), 4) == 0);
  CHECK(SystemSockets::accept(door.fd()) == -1);
  CHECK(errno == EAGAIN);
  REQUIRE(SystemSockets::local_address(door.fd(), at.get(), &at.length) == 0);
  Stranger const caller{tcp::from_socket(at.get())};
  tcp::Socket<SystemSockets> one;
  REQUIRE(until([&] {
    return one = tcp::Socket<SystemSockets>{SystemSockets::accept(door.fd())}, bool{one};
  }));
  CHECK((::fcntl(one.fd(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(one.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a write to a peer that is gone gives an errno and no signal") {
  struct sigaction before{};
  struct sigaction deadly{};
  deadly.sa_handler = SIG_DFL;
  REQUIRE(::sigaction(SIGPIPE, &deadly, &before) == 0);
  Dialled c;
  c.theirs.reset();
  char const byte = 0;
  CHECK(until([&] { return SystemSockets::send(c.ours.fd(), &byte, 1) < 0 && errno == EPIPE; }));
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_CASE("a tuned socket sends at once and notices a peer that is gone within about 8 s") {
  Dialled c;
  tcp::tune<SystemSockets>(c.ours.fd());
  CHECK(option(c.ours.fd(), IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK(option(c.ours.fd(), SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(c.ours.fd(), IPPROTO_TCP, TCP_KEEPIDLE) +
            option(c.ours.fd(), IPPROTO_TCP, TCP_KEEPINTVL) *
                option(c.ours.fd(), IPPROTO_TCP, TCP_KEEPCNT) ==
        8);
  CHECK(option(c.ours.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT) == 8'000);
}

TEST_CASE("a socket is closed once, by its last owner") {
  Sockets::Fresh const fresh;
  using Socket = tcp::Socket<Sockets>;
  {
    Socket a{Sockets::socket(AF_INET)};
    int const fd = a.fd();
    Socket b{std::move(a)};
    CHECK(b.fd() == fd);
    CHECK(Sockets::open_sockets() == 1);
    b = Socket{Sockets::socket(AF_INET)};
    CHECK(Sockets::open_sockets() == 1);
    b.close();
    b.close();
    CHECK_FALSE(b);
    CHECK(Sockets::open_sockets() == 0);
    Socket const c{Sockets::socket(AF_INET)};
  }
  CHECK(Sockets::open_sockets() == 0);
}

TEST_CASE("random numbers differ, and time does not run backwards") {
  CHECK(SystemSockets::random() != SystemSockets::random());
  Time const t = SystemSockets::now();
  CHECK(SystemSockets::now() >= t);
}
