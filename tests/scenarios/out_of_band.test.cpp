// SPDX-License-Identifier: Apache-2.0
// What concerns the out-of-band channel, on real sockets.
#include <support/sockets.hpp>
#include <support/tcp_links.hpp>
#include <support/world.hpp>
#include <vccl/transport/tcp/bootstrap.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace vccl::test {

namespace {

using Call = Sockets::Call;
using Tcp = TcpBootstrap<Sockets>;

constexpr tcp::Config loopback{.address = "127.0.0.1"};

/// Dials while every connect fails for so long, on a clock that stands still between the steps.
/// Gives how long the set-up took.
Duration dials(int error, Duration fails_for) {
  CAPTURE(std::strerror(error));
  CAPTURE(fails_for.ns);
  Sockets::Fresh const fresh;
  Sockets::stand_still();
  Tcp tcp{loopback};
  Tcp::Door door = tcp.listen();
  Time const begin = Sockets::now();
  if (fails_for.ns != 0) Sockets::fail(Call::connect, error, 1'000'000);
  Tcp::Pipe near = tcp.dial(door.address()), far;
  bool in = false;
  CHECK(until([&] {
    if (Sockets::now() - begin >= fails_for) Sockets::fail(Call::connect, 0, 0);
    static_cast<void>(near.receive({}));
    if (!in) in = door.accept(far);
    // Once connect has worked, only the sockets need time, and time stands still.
    if (Sockets::made(Call::connect) == Sockets::failed(Call::connect)) Sockets::pass(5_ms);
    return in && near.connected();
  }));
  if (fails_for.ns != 0) CHECK(Sockets::failed(Call::connect) > 0);
  CHECK(near.error() == 0);
  return Sockets::now() - begin;
}

}  // namespace

TEST_CASE("D10: a peer that cannot be reached for up to 5 s is tried again, with growing pauses") {
  for (int error : {EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ECONNREFUSED}) {
    for (Duration d : {0_s, 1_ms, 500_ms, 2_s, 5_s}) {
      Duration const took = dials(error, d);
      CHECK(took >= d);
      CHECK(took <= d + 1_s + 10_ms);  // The longest pause, and steps of 5 ms.
    }
  }
}

TEST_CASE("D10: it ends at the deadline, with what was wrong last") {
  Sockets::Fresh const fresh;
  Sockets::stand_still();
  Tcp tcp{loopback};
  Tcp::Door const door = tcp.listen();
  Sockets::fail(Call::connect, ENETUNREACH, 1'000'000);
  Time const begin = Sockets::now();
  Tcp::Pipe near = tcp.dial(door.address());
  while (near.error() == 0 && Sockets::now() - begin < 20_s) {
    Sockets::pass(1_ms);
    static_cast<void>(near.receive({}));
  }
  CHECK(Sockets::now() - begin == 10_s);
  CHECK(near.error() == ENETUNREACH);
  CHECK(Sockets::failed(Call::connect) == near.attempts());
  CHECK(near.attempts() < 30);
}

TEST_CASE("D10: what no trying again would mend is said at once") {
  for (int error : {EACCES, EPERM, EAFNOSUPPORT}) {
    Sockets::Fresh const fresh;
    Tcp tcp{loopback};
    Tcp::Door const door = tcp.listen();
    Sockets::fail(Call::connect, error);
    CHECK_THROWS_AS(static_cast<void>(tcp.dial(door.address())), SetupError);
    CHECK(Sockets::failed(Call::connect) == 1);
    CHECK(Sockets::made(Call::connect) == 1);
  }
}

TEST_CASE("D10: a connection whose peer cannot be reached at first comes about") {
  Sockets::Fresh const fresh;
  Sockets::fail(Call::connect, EHOSTUNREACH, 6);
  World w{{.link = links::quick_tcp, .virtual_time = false}};
  CHECK(w.settle());
  CHECK(Sockets::failed(Call::connect) == 6);
  w.load(Load::uniform(20, 1000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

namespace {

/// Runs another program, which says whether it has got any socket from us.
[[noreturn]] void look_for_sockets() {
  ::execl("/bin/sh", "sh", "-c",
          "for f in /proc/self/fd/*; do"
          "  case ${f##*/} in 0 | 1 | 2) continue ;; esac;"
          "  [ -S \"$f\" ] && exit 1;"
          "done; exit 0",
          nullptr);
  ::_exit(2);
}
/// Forks and waits, working on `w` meanwhile. Gives the exit status.
template <class F>
int run_child(World& w, F child) {
  pid_t const pid = ::fork();
  if (pid == 0) child();
  REQUIRE(pid > 0);
  int status = 0;
  CHECK(w.until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("J6: children that touch the heap and exit, or run something else, take nothing along") {
  Sockets::Fresh const fresh;
  World w{{.link = links::quick_tcp, .virtual_time = false}};
  REQUIRE(w.settle());
  std::size_t const before = Sockets::made(Call::connect);
  CHECK(Sockets::open_sockets() >= 3);
  Load load = Load::random(6, 100'000, 1000);
  load.pause = 100_us;
  w.load(load);
  REQUIRE(w.run_until(100, 5_s));
  w.inject("link host0.port0 down");
  for (int n = 0; n < 4; ++n) {
    CHECK(run_child(w, [] {
            volatile char* const heap = static_cast<char*>(std::malloc(1 << 20));
            for (std::size_t i = 0; i < 1 << 20; i += 512) heap[i] = 1;
            ::_exit(heap[512] == 1 ? 0 : 1);
          }) == 0);
    CHECK(run_child(w, look_for_sockets) == 0);
  }
  // A socket that is not ours is seen.
  int const inherited = ::socket(AF_INET, SOCK_STREAM, 0);
  CHECK(run_child(w, look_for_sockets) == 1);
  ::close(inherited);
  CHECK(w.until([&] { return w.sender().counters.failovers == 1; }));
  w.wind_up();
  CHECK(w.run());
  CHECK(w.problems() == "");
  CHECK(Sockets::made(Call::connect) == before);  // Nobody's exit ended the connection.
}

namespace {

/// What the TCP connection is doing when an end is ended.
enum class State { unreachable, unanswered, open, cut, reset };

void end_from_outside(State state, End end, bool abort) {
  CAPTURE(static_cast<int>(state));
  CAPTURE(static_cast<int>(end));
  CAPTURE(abort);
  Sockets::Fresh const fresh;
  World w{{.link = links::quick_tcp, .virtual_time = false, .connect = false}};
  w.ends->accept();
  if (state == State::unreachable) Sockets::fail(Call::connect, EHOSTUNREACH, 1'000'000);
  if (state == State::unanswered) Sockets::fail(Call::accept, EMFILE, 1'000'000);
  w.ends->connect(PortId{0}, w.ends->handle());
  if (state >= State::open) {
    REQUIRE(w.settle());
    Load load = Load::uniform(100'000, 500);
    load.pause = 200_us;
    w.load(load);
    REQUIRE(w.run_until(20, 5_s));
    if (state != State::open) {
      Sockets::fail(Call::connect, ECONNREFUSED, 1'000'000);
      CHECK((state == State::cut ? Sockets::cut() : Sockets::reset()) == 2);
      w.until([] { return false; }, 20_ms);
      CHECK(Sockets::failed(Call::connect) > 0);
    }
  } else {
    w.until([] { return false; }, 50_ms);
    CHECK(Sockets::failed(state == State::unreachable ? Call::connect : Call::accept) > 0);
  }
  std::atomic<bool> returned{false};
  Duration took{};
  std::thread other{[&] {
    Time const begin = w.now();
    if (abort) {
      w.ends->abort(end);
    } else {
      w.ends->close(end);
    }
    took = w.now() - begin;
    returned = true;
  }};
  CHECK(w.until([&] { return returned.load(); }, 4_s));
  other.join();
  CHECK(took < 2_s);
  CHECK(w.ends->closed(end));
  Time const begin = w.now();
  w.ends->destroy(End::sender);
  w.ends->destroy(End::receiver);
  CHECK(w.now() - begin < 4_s);
}

}  // namespace

TEST_CASE("O3: close and abort return within two seconds whatever the TCP connection does") {
  bool abort = false;
  for (int s = 0; s <= static_cast<int>(State::reset); ++s) {
    for (End const end : {End::sender, End::receiver}) {
      end_from_outside(static_cast<State>(s), end, abort);
      if (end == End::sender) abort = !abort;
    }
  }
}

}  // namespace vccl::test
