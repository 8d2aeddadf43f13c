// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The system calls of the TCP channel with faults in them, and the other side of a socket: a
/// caller or a listener that is none of ours.

#include <vccl/transport/tcp/address.hpp>
#include <vccl/transport/tcp/frames.hpp>
#include <vccl/transport/tcp/sockets.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace vccl::test {

/// Real sockets. A call can be made to fail so many times, connections can be cut, and time can
/// stand still. What is set is shared by the process: make a Sockets::Fresh first in each test.
class Sockets : public tcp::SystemSockets {
 public:
  enum class Call : std::uint8_t {
    socket,
    bind,
    listen,
    accept,
    connect,
    pending_error,
    receive,
    send,
    interfaces
  };
  static constexpr std::size_t calls = 9;

  /// Nothing set, nothing counted.
  class Fresh {
   public:
    Fresh() { state() = {}; }
    Fresh(Fresh const&) = delete;
    Fresh& operator=(Fresh const&) = delete;
    ~Fresh() { state() = {}; }
  };

  // ---- Faults

  /// The next `times` calls fail with `error`; 0: call and look whether it did.
  static void fail(Call c, int error, std::size_t times = 1) {
    std::scoped_lock const lock{mutex_};
    state().fault[index(c)] = {error, times};
  }
  /// How often fail() struck.
  static std::size_t failed(Call c) { return read(state().failed[index(c)]); }
  static std::size_t made(Call c) { return read(state().made[index(c)]); }
  /// A send takes at most so many bytes.
  static void short_sends(std::size_t most) { state().most = most; }
  /// Ends the connections that there are now, both ways. Gives how many.
  static std::size_t cut() {
    return each([](int fd) { return ::shutdown(fd, SHUT_RDWR) == 0; });
  }
  /// The same by a reset: what is under way is lost (Linux: connect to AF_UNSPEC disconnects).
  static std::size_t reset() {
    return each([](int fd) {
      sockaddr nowhere{};
      nowhere.sa_family = AF_UNSPEC;
      return ::connect(fd, &nowhere, sizeof nowhere) == 0;
    });
  }
  static std::size_t open_sockets() {
    std::scoped_lock const lock{mutex_};
    return state().open.size();
  }
  static std::vector<int> descriptors() {
    std::scoped_lock const lock{mutex_};
    return state().open;
  }
  /// Time stands still from now on, and moves by what pass() is given.
  static void stand_still() { state().now = SystemSockets::now(); }
  static void pass(Duration d) { state().now = state().now + d; }

  // ---- The calls

  static int socket(int family) {
    if (struck(Call::socket)) return -1;
    return opened(SystemSockets::socket(family));
  }
  static int bind(int fd, const sockaddr* a, socklen_t n) {
    return struck(Call::bind) ? -1 : SystemSockets::bind(fd, a, n);
  }
  static int listen(int fd, int backlog) {
    return struck(Call::listen) ? -1 : SystemSockets::listen(fd, backlog);
  }
  static int accept(int fd) {
    if (struck(Call::accept)) return -1;
    return opened(SystemSockets::accept(fd));
  }
  static int connect(int fd, const sockaddr* a, socklen_t n) {
    return struck(Call::connect) ? -1 : SystemSockets::connect(fd, a, n);
  }
  static int pending_error(int fd, int& error) {
    if (!struck(Call::pending_error)) return SystemSockets::pending_error(fd, error);
    error = errno;
    return 0;
  }
  static ssize_t receive(int fd, void* into, std::size_t n) {
    return struck(Call::receive) ? -1 : SystemSockets::receive(fd, into, n);
  }
  static ssize_t send(int fd, const void* from, std::size_t n) {
    if (struck(Call::send)) return -1;
    std::size_t const most = state().most;
    return SystemSockets::send(fd, from, most != 0 && n > most ? most : n);
  }
  static int close(int fd) {
    std::scoped_lock const lock{mutex_};
    std::erase(state().open, fd);
    return SystemSockets::close(fd);
  }
  static int interfaces(ifaddrs** list) {
    return struck(Call::interfaces) ? -1 : SystemSockets::interfaces(list);
  }
  static Time now() { return state().now.ns != 0 ? state().now : SystemSockets::now(); }

 private:
  struct Fault {
    int error = 0;
    std::size_t times = 0;
  };
  struct State {
    std::array<Fault, calls> fault{};
    std::array<std::size_t, calls> failed{}, made{};
    std::vector<int> open;
    std::size_t most = 0;
    Time now{};
  };
  static State& state() {
    static State s;
    return s;
  }
  static std::size_t index(Call c) { return static_cast<std::size_t>(c); }
  static std::size_t read(std::size_t const& n) {
    std::scoped_lock const lock{mutex_};
    return n;
  }
  static bool struck(Call c) {
    std::scoped_lock const lock{mutex_};
    ++state().made[index(c)];
    Fault& f = state().fault[index(c)];
    if (f.times == 0) return false;
    --f.times;
    ++state().failed[index(c)];
    errno = f.error;
    return true;
  }
  static int opened(int fd) {
    int const e = errno;
    std::scoped_lock const lock{mutex_};
    if (fd >= 0) state().open.push_back(fd);
    errno = e;
    return fd;
  }
  template <class F>
  static std::size_t each(F f) {
    std::scoped_lock const lock{mutex_};
    std::size_t n = 0;
    for (int fd : state().open) {
      int listens = 0;
      socklen_t size = sizeof listens;
      ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
      if (listens == 0 && f(fd)) ++n;
    }
    return n;
  }

  static inline std::mutex mutex_;
};

/// Asks until it is so. False after 60 s.
template <class F>
bool until(F condition) {
  for (Time const end = tcp::SystemSockets::now() + Duration{60'000'000'000};;) {
    if (condition()) return true;
    if (tcp::SystemSockets::now() > end) return false;
    ::usleep(100);
  }
}

/// A socket of somebody else's; blocks, but never for longer than 20 s.
class Stranger {
 public:
  explicit Stranger(int fd) noexcept : fd_{fd} {}
  /// Calls a door.
  explicit Stranger(tcp::Address const& to) {
    tcp::SocketAddress at;
    if (!tcp::to_socket(to, 0, at)) throw std::runtime_error{"no address"};
    fd_ = ::socket(at.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, at.get(), at.length) != 0) throw std::runtime_error{"nobody answers"};
  }
  Stranger(Stranger&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  Stranger& operator=(Stranger&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Stranger() { hang_up(); }

  [[nodiscard]] int fd() const { return fd_; }
  void say(std::span<std::byte const> bytes) const {
    if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != std::ssize(bytes))
      throw std::runtime_error{"cannot say it"};
  }
  void say(std::string_view text) const { say(std::as_bytes(std::span{text})); }
  template <class Plain>
    requires std::is_trivially_copyable_v<Plain>
  void say_plain(Plain const& p) const {
    say(std::as_bytes(std::span{&p, 1}));
  }
  /// What comes, up to `most` bytes, until the other side hangs up.
  [[nodiscard]] std::vector<std::byte> hear(std::size_t most) const {
    std::vector<std::byte> all(most);
    std::size_t n = 0;
    while (n < most) {
      pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
      if (::poll(&p, 1, 20'000) != 1) throw std::runtime_error{"hears nothing"};
      ssize_t const came = ::recv(fd_, all.data() + n, most - n, 0);
      if (came <= 0) break;
      n += static_cast<std::size_t>(came);
    }
    all.resize(n);
    return all;
  }
  /// True when the other side hangs up and has said nothing.
  [[nodiscard]] bool is_dropped() const { return hear(1).empty(); }
  void hang_up() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// Hangs up by a reset.
  void reset() {
    linger const at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    hang_up();
  }

 private:
  int fd_ = -1;
};

/// Listens on a port of its own, or a given one, and is no door.
class StrangeListener {
 public:
  explicit StrangeListener(std::uint16_t port = 0, int backlog = 16)
      : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    int const on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    tcp::Address a = tcp::parse("127.0.0.1");
    a.port = port;
    tcp::SocketAddress at;
    static_cast<void>(tcp::to_socket(a, 0, at));
    if (::bind(fd_, at.get(), at.length) != 0 || ::listen(fd_, backlog) != 0)
      throw std::runtime_error{"cannot listen"};
    ::getsockname(fd_, at.get(), &at.length);
    address_ = tcp::from_socket(at.get());
  }
  StrangeListener(StrangeListener const&) = delete;
  StrangeListener& operator=(StrangeListener const&) = delete;
  ~StrangeListener() { ::close(fd_); }

  [[nodiscard]] tcp::Address const& address() const { return address_; }
  [[nodiscard]] Stranger accept() const {
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&p, 1, 20'000) != 1) throw std::runtime_error{"nobody calls"};
    return Stranger{::accept(fd_, nullptr, nullptr)};
  }

 private:
  int fd_;
  tcp::Address address_;
};

/// A message of `n` bytes that says which one it is.
inline std::vector<std::byte> message(std::uint32_t number, std::size_t n = 4) {
  std::vector<std::byte> m(n, std::byte{0x5a});
  std::memcpy(m.data(), &number, n < sizeof number ? n : sizeof number);
  return m;
}
inline std::uint32_t number_in(std::span<std::byte const> m) {
  std::uint32_t number = 0;
  std::memcpy(&number, m.data(), sizeof number);
  return number;
}

}  // namespace vccl::test
