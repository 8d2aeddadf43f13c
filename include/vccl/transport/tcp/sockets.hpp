// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The system calls that the out-of-band channel makes, one forward each, and the owner of a
/// socket.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ifaddrs.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace vccl::tcp {

/// POSIX sockets. None of the calls blocks, none raises SIGPIPE, and no descriptor outlives an
/// exec; they return as the system call does, with errno. Tests give a scripted struct.
struct SystemSockets {
  static int socket(int family) noexcept {
    return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  }
  static int set_option(int fd, int level, int name, int value) noexcept {
    return ::setsockopt(fd, level, name, &value, sizeof value);
  }
  static int bind(int fd, const sockaddr* a, socklen_t n) noexcept { return ::bind(fd, a, n); }
  static int listen(int fd, int backlog) noexcept { return ::listen(fd, backlog); }
  static int local_address(int fd, sockaddr* a, socklen_t* n) noexcept {
    return ::getsockname(fd, a, n);
  }
  static int accept(int fd) noexcept {
    return ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }
  static int connect(int fd, const sockaddr* a, socklen_t n) noexcept {
    return ::connect(fd, a, n);
  }
  static int poll(pollfd& one) noexcept { return ::poll(&one, 1, 0); }
  static int pending_error(int fd, int& error) noexcept {
    socklen_t n = sizeof error;
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
  }
  static ssize_t receive(int fd, void* into, std::size_t n) noexcept {
    return ::recv(fd, into, n, 0);
  }
  static ssize_t send(int fd, const void* from, std::size_t n) noexcept {
    return ::send(fd, from, n, MSG_NOSIGNAL);
  }
  static int finish(int fd) noexcept { return ::shutdown(fd, SHUT_WR); }
  static int close(int fd) noexcept { return ::close(fd); }
  static std::uint32_t interface_index(const char* name) noexcept { return ::if_nametoindex(name); }
  static int interfaces(ifaddrs** list) noexcept { return ::getifaddrs(list); }
  static void free_interfaces(ifaddrs* list) noexcept { ::freeifaddrs(list); }

  static Time now() noexcept { return soft::monotonic_now(); }
  static std::uint64_t random() noexcept { return soft::entropy(); }
};

/// Owns a socket.
template <class Api>
class Socket {
 public:
  Socket() noexcept = default;
  explicit Socket(int fd) noexcept : fd_{fd} {}
  Socket(Socket&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Socket() { close(); }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// EINTR too leaves it closed (Linux close(2)): never again, the number may be another's.
  void close() noexcept {
    if (fd_ >= 0) static_cast<void>(Api::close(fd_));
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

/// What helps a connection of few small messages; none of it is needed. Messages leave at once. A
/// peer that is gone is noticed within about 8 s: of silence (keepalive after 5 s, three times),
/// or of data that nobody takes (TCP_USER_TIMEOUT, Linux tcp(7)).
template <class Api>
void tune(int fd) noexcept {
  static_cast<void>(Api::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1));
  static_cast<void>(Api::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1));
  static_cast<void>(Api::set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5));
  static_cast<void>(Api::set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1));
  static_cast<void>(Api::set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3));
  static_cast<void>(Api::set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 8'000));
}

}  // namespace vccl::tcp
