// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Behind a door: who has called and not greeted yet, who waits to be let in, and the pipes that
/// were let in, which a caller finds again when its connection is lost.

#include <vccl/error.hpp>
#include <vccl/transport/tcp/config.hpp>
#include <vccl/transport/tcp/interfaces.hpp>
#include <vccl/transport/tcp/stream.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace vccl::tcp {

/// A pipe as the door knows it.
template <class Api>
struct Seat {
  Secret pipe{};
  std::uint32_t attempt = 0;  ///< Of the connection that it has.
  bool let_in = false;        ///< A Pipe owns it.
  Stream<Api> fresh;          ///< The caller's newest connection, until the pipe takes it.
  std::atomic<bool> has_fresh = false;  ///< Read without the lock.
};

/// The listening socket and its seats. Belongs to the bootstrap; used by a door and by the pipes
/// that came through it. Listens as long as any of them is there: they go on after the door.
///
/// A caller that says something else than the right greeting, or nothing in time, is dropped; when
/// too many have said nothing yet, the one that has had the most time.
/// Thread safety: any thread; one mutex, held for at most 64 accepts and a read of each caller.
template <class Api>
class Hall {
 public:
  /// Throws SetupError: no such address or interface here, port in use.
  explicit Hall(Config const& config) : config_{config}, address_{local_address<Api>(config)} {
    address_.port = config.port;
    address_.secret = {Api::random(), Api::random()};
    SocketAddress at;
    static_cast<void>(to_socket(address_, zone_of<Api>(config), at));
    socket_ = Socket<Api>{check(Api::socket(at.get()->sa_family), "socket")};
    // A process that starts again may have its port at once; one that is in use stays refused.
    static_cast<void>(Api::set_option(socket_.fd(), SOL_SOCKET, SO_REUSEADDR, 1));
    if (address_.version == 6)
      static_cast<void>(Api::set_option(socket_.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 1));
    check(Api::bind(socket_.fd(), at.get(), at.length), "bind");
    check(Api::listen(socket_.fd(), backlog), "listen");
    check(Api::local_address(socket_.fd(), at.get(), &at.length), "getsockname");
    address_.port = from_socket(at.get()).port;
    callers_.reserve(config_.callers + 1);
  }

  [[nodiscard]] Address const& address() const noexcept { return address_; }

  /// The next pipe that may be let in; nullptr when there is none.
  [[nodiscard]] Seat<Api>* next() noexcept {
    std::scoped_lock const lock{mutex_};
    if (waiting_ == 0) look(Api::now());  // Or more would come in than are let in.
    for (auto const& seat : seats_) {
      if (seat->let_in) continue;
      seat->let_in = true;
      --waiting_;
      return seat.get();
    }
    return nullptr;
  }

  /// For pipes, as often as they like: looks at most every `look_every`.
  void look_now_and_then(Time t) noexcept {
    Time const last{looked_.load(std::memory_order_relaxed)};
    if (t - last < config_.look_every) return;
    std::scoped_lock const lock{mutex_};
    look(t);
  }

  /// The connection that a caller came back with.
  [[nodiscard]] Stream<Api> take(Seat<Api>& seat) noexcept {
    std::scoped_lock const lock{mutex_};
    seat.has_fresh.store(false, std::memory_order_relaxed);
    return std::move(seat.fresh);
  }

  /// The pipe is no more.
  void leave(Seat<Api>& seat) noexcept {
    std::scoped_lock const lock{mutex_};
    std::erase_if(seats_, [&](auto const& s) { return s.get() == &seat; });
    close_when_empty();
  }

  /// The door is no more: who was not let in is sent away, and nobody new comes in.
  void close_door() noexcept {
    std::scoped_lock const lock{mutex_};
    door_open_ = false;
    std::erase_if(seats_, [](auto const& s) { return !s->let_in; });
    waiting_ = 0;
    close_when_empty();
  }

  /// Neither a door nor a pipe is left.
  [[nodiscard]] bool vacant() const noexcept {
    std::scoped_lock const lock{mutex_};
    return !socket_;
  }
  /// Callers that were dropped: malformed, wrong secret, silent, too many.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    std::scoped_lock const lock{mutex_};
    return dropped_;
  }
  /// Callers that have not greeted yet.
  [[nodiscard]] std::size_t callers() const noexcept {
    std::scoped_lock const lock{mutex_};
    return callers_.size();
  }

 private:
  static constexpr int backlog = 1024;       // The kernel cuts it to net.core.somaxconn.
  static constexpr int accepts_a_look = 64;  // So that nobody can hold up who looks.

  struct Caller {
    Stream<Api> stream;
    Time since;
  };

  static int check(int result, const char* call) {
    if (result >= 0) return result;
    int const e = errno;
    throw SetupError{call, e, advice(e)};
  }

  // The lock is held in all of these.

  void look(Time t) noexcept {
    looked_.store(t.ns, std::memory_order_relaxed);
    if (!socket_) return;
    for (int n = 0; n < accepts_a_look; ++n) {
      Socket<Api> one{Api::accept(socket_.fd())};
      if (!one) {
        // These are about the one that called (accept(2)); the next may be well.
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
        break;
      }
      tune<Api>(one.fd());
      callers_.push_back({Stream<Api>{std::move(one)}, t});
      if (hear(callers_.back(), t)) {
        callers_.pop_back();
      } else if (callers_.size() > config_.callers) {
        callers_.erase(callers_.begin());
        ++dropped_;
      }
    }
    std::erase_if(callers_, [&](Caller& c) { return hear(c, t); });
  }

  /// True when nothing is left to be heard.
  bool hear(Caller& c, Time t) noexcept {
    Io const io = c.stream.fill();
    Greeting g;
    Parsed const parsed = c.stream.inbox().greeting(g);
    if (parsed == Parsed::wait && io != Io::lost && t - c.since < config_.patience) return false;
    if (parsed != Parsed::one || !same_secret(g.secret, address_.secret) || !seat(c.stream, g))
      ++dropped_;
    return true;
  }

  /// False when it is sent away.
  bool seat(Stream<Api>& stream, Greeting g) noexcept {
    if (g.kind != Greeting::Kind::first && g.kind != Greeting::Kind::again) return false;
    Seat<Api>* seat = nullptr;
    for (auto const& s : seats_) {
      if (s->pipe == g.pipe) seat = s.get();
    }
    if (seat != nullptr && g.attempt <= seat->attempt) return false;
    if (seat == nullptr && (g.kind == Greeting::Kind::again || !door_open_)) {
      g.kind = Greeting::Kind::gone;
      static_cast<void>(stream.greet(g));
      return false;
    }
    if (seat == nullptr && waiting_ >= config_.waiting) return false;  // It will call again.
    g.kind = Greeting::Kind::welcome;
    if (!stream.greet(g)) return false;
    if (seat == nullptr) {
      seat = seats_.emplace_back(std::make_unique<Seat<Api>>()).get();
      seat->pipe = g.pipe;
      ++waiting_;
    }
    seat->attempt = g.attempt;
    seat->fresh = std::move(stream);
    seat->has_fresh.store(true, std::memory_order_release);
    return true;
  }

  void close_when_empty() noexcept {
    if (door_open_ || !seats_.empty()) return;
    callers_.clear();
    socket_.close();
  }

  Config const config_;
  Address address_;
  mutable std::mutex mutex_;
  Socket<Api> socket_;
  std::vector<Caller> callers_;  ///< Oldest first.
  std::vector<std::unique_ptr<Seat<Api>>> seats_;
  std::size_t waiting_ = 0;  ///< Seats that nobody has let in yet.
  std::atomic<std::int64_t> looked_ = 0;
  std::uint64_t dropped_ = 0;
  bool door_open_ = true;
};

}  // namespace vccl::tcp
