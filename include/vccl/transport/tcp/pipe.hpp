// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// One end of a message pipe over TCP: dials, or was let in by a door; goes on over a new
/// connection when it loses one.

#include <vccl/error.hpp>
#include <vccl/transport/tcp/dialler.hpp>
#include <vccl/transport/tcp/hall.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace vccl::tcp {

/// The end that was let in. Its caller comes back to the same seat.
template <class Api>
class Guest {
 public:
  Guest(Hall<Api>& hall, Seat<Api>& seat, std::size_t queue)
      : hall_{hall}, seat_{seat}, line_{queue} {
    static_cast<void>(renew());
  }
  Guest(Guest const&) = delete;
  Guest& operator=(Guest const&) = delete;
  ~Guest() {
    line_.stream.close();
    hall_.leave(seat_);
  }

  [[nodiscard]] Line<Api>& line() noexcept { return line_; }
  [[nodiscard]] std::uint32_t connections() const noexcept { return connections_; }

  void step(Time t) noexcept {
    hall_.look_now_and_then(t);
    if (!line_.stream) static_cast<void>(renew());
    // What is written to the old one now would be lost.
    if (seat_.has_fresh.load(std::memory_order_acquire)) line_.writable = false;
  }
  /// False when the caller has not come back. Ask when everything that came on the old connection
  /// was taken: the messages of the new one are later ones.
  [[nodiscard]] bool renew() noexcept {
    if (!seat_.has_fresh.load(std::memory_order_acquire)) return false;
    line_.replace(hall_.take(seat_));
    ++connections_;
    return true;
  }

 private:
  Hall<Api>& hall_;
  Seat<Api>& seat_;
  Line<Api> line_;
  std::uint32_t connections_ = 0;
};

/// Messages of 1 to 4096 bytes, whole, in order, each at most once. Those under way when a
/// connection was lost are lost; those that wait for one are not.
///
/// State: a socket, 8 KiB of what came, Config::queue of what waits.  Hot path: not on it; receive
/// is one system call when nothing waits.  Thread safety: one thread at a time; the bootstrap
/// outlives it. Call receive() now and then, also where you only send: it notices a lost
/// connection, and dials or looks for a new one.
template <class Api>
class Pipe {
 public:
  Pipe() noexcept = default;
  explicit Pipe(std::unique_ptr<Dialler<Api>> d) noexcept : dialler_{std::move(d)} {}
  explicit Pipe(std::unique_ptr<Guest<Api>> g) noexcept : guest_{std::move(g)} {}

  /// ok: taken; it goes out when it can. would_block: the queue is full, nothing was taken.
  /// invalid_argument: empty, or longer than 4096 bytes. path_down: the pipe has ended, see
  /// error().
  [[nodiscard]] Errc send(std::span<std::byte const> message) noexcept {
    if (message.empty() || message.size() > max_message) return Errc::invalid_argument;
    if (ended()) return Errc::path_down;
    step(Api::now());
    if (ended()) return Errc::path_down;
    if (!line().outbox.push(message)) return Errc::would_block;
    if (connected()) line().flush();
    return Errc::ok;
  }

  /// Bytes of the oldest message, cut to the size of `into`; 0: none waits.
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) noexcept {
    if (ended()) return 0;
    Time const t = Api::now();
    step(t);
    for (std::size_t n = 0; connected();) {
      Io const io = line().read(into, n);
      if (io == Io::moved) return n;
      if (dialler_) {
        if (io == Io::lost) dialler_->lost(t);
        return 0;
      }
      if (io == Io::lost) line().stream.close();
      if (!guest_->renew()) return 0;
      line().flush();
    }
    return 0;
  }

  /// 0 while the pipe can be used, or come back. Otherwise the errno of its last attempt, see
  /// advice(); ECONNABORTED: nobody is at the other end any more. A door never knows.
  [[nodiscard]] int error() const noexcept { return dialler_ ? dialler_->error() : 0; }
  [[nodiscard]] bool connected() const noexcept {
    return dialler_ ? dialler_->open() : guest_ && guest_->line().stream;
  }
  /// That it has had so far.
  [[nodiscard]] std::uint32_t connections() const noexcept {
    if (nobody()) return 0;
    return dialler_ ? dialler_->connections() : guest_->connections();
  }
  /// Connections that were tried; 0 when it was let in.
  [[nodiscard]] std::uint32_t attempts() const noexcept {
    return dialler_ ? dialler_->attempts() : 0;
  }
  /// Connections that were dropped for what came on them.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return nobody() ? 0 : line().malformed; }

 private:
  /// Made without a peer, or moved from.
  [[nodiscard]] bool nobody() const noexcept { return !dialler_ && !guest_; }
  [[nodiscard]] bool ended() const noexcept { return error() != 0 || nobody(); }
  [[nodiscard]] Line<Api>& line() const noexcept {
    return dialler_ ? dialler_->line() : guest_->line();
  }
  void step(Time t) noexcept {
    if (dialler_) {
      dialler_->step(t);
    } else {
      guest_->step(t);
    }
    if (connected()) line().flush();
  }

  std::unique_ptr<Dialler<Api>> dialler_;
  std::unique_ptr<Guest<Api>> guest_;
};

}  // namespace vccl::tcp
