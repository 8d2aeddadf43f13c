// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// One TCP connection, and what a pipe's end keeps from one connection to the next.

#include <vccl/transport/tcp/frames.hpp>
#include <vccl/transport/tcp/sockets.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace vccl::tcp {

enum class Io : std::uint8_t {
  idle,   ///< Nothing to be had now.
  moved,  ///< Some bytes went.
  lost,   ///< Closed by the peer, reset, or timed out.
};

/// A socket and the bytes that came of it. Non-blocking; interrupted calls are made again.
template <class Api>
class Stream {
 public:
  Stream() noexcept = default;
  explicit Stream(Socket<Api>&& socket)
      : socket_{std::move(socket)}, inbox_{std::make_unique<Inbox>()} {}
  Stream(Stream&&) noexcept = default;
  Stream& operator=(Stream&& other) noexcept {
    if (this != &other) {
      close();
      socket_ = std::move(other.socket_);
      inbox_ = std::move(other.inbox_);
    }
    return *this;
  }
  ~Stream() { close(); }

  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  [[nodiscard]] Inbox& inbox() noexcept { return *inbox_; }

  /// Reads once.
  [[nodiscard]] Io fill() noexcept {
    std::span<std::byte> const room = inbox_->room();
    if (room.empty()) return Io::idle;
    ssize_t n = 0;
    do {
      n = Api::receive(socket_.fd(), room.data(), room.size());
    } while (n < 0 && errno == EINTR);
    if (n > 0) inbox_->filled(static_cast<std::size_t>(n));
    return outcome(n);
  }

  /// Writes once; `n` is what went.
  [[nodiscard]] Io write(std::span<std::byte const> bytes, std::size_t& n) noexcept {
    ssize_t went = 0;
    do {
      went = Api::send(socket_.fd(), bytes.data(), bytes.size());
    } while (went < 0 && errno == EINTR);
    n = went > 0 ? static_cast<std::size_t>(went) : 0;
    return outcome(went);
  }

  /// A new socket takes so little at once, or has failed.
  [[nodiscard]] bool greet(Greeting const& g) noexcept {
    std::size_t n = 0;
    return write(std::as_bytes(std::span{&g, 1}), n) == Io::moved && n == sizeof g;
  }

  /// What was written still reaches the peer. What the peer wrote and nobody read is read away: a
  /// close with bytes unread resets the connection (RFC 2525, 2.17), and ours would be lost too.
  void close() noexcept {
    if (!socket_) return;
    static_cast<void>(Api::finish(socket_.fd()));
    char waste[512];
    for (int tries = 0; tries < 64; ++tries) {
      if (Api::receive(socket_.fd(), waste, sizeof waste) <= 0) break;
    }
    socket_.close();
  }

 private:
  static Io outcome(ssize_t n) noexcept {
    if (n > 0) return Io::moved;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Io::idle : Io::lost;
  }

  Socket<Api> socket_;
  std::unique_ptr<Inbox> inbox_;
};

/// The connection that a pipe's end has, if any, and what waits to go.
template <class Api>
struct Line {
  Stream<Api> stream;
  Outbox outbox;
  bool writable = true;         ///< Until a write fails; then what came is still read.
  std::uint64_t malformed = 0;  ///< Connections dropped for what came on them.

  explicit Line(std::size_t queue) : outbox{queue} {}

  void replace(Stream<Api>&& fresh) noexcept {
    stream = std::move(fresh);
    outbox.restart();
    writable = true;
  }
  void flush() noexcept {
    while (writable && stream && !outbox.unsent().empty()) {
      std::size_t n = 0;
      Io const io = stream.write(outbox.unsent(), n);
      outbox.sent(n);
      if (io == Io::idle) return;
      if (io == Io::lost) writable = false;
    }
  }
  /// The next message. `lost`: none is left, and the connection is no good.
  [[nodiscard]] Io read(std::span<std::byte> into, std::size_t& n) noexcept {
    for (;;) {
      Parsed const parsed = stream.inbox().message(into, n);
      if (parsed == Parsed::one) return Io::moved;
      if (parsed == Parsed::bad) {
        ++malformed;
        return Io::lost;
      }
      Io const io = stream.fill();
      if (io != Io::moved) return io;
    }
  }
};

}  // namespace vccl::tcp
