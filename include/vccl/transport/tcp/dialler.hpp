// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The end of a pipe that dials, and dials again when it loses its connection.

#include <vccl/transport/tcp/address.hpp>
#include <vccl/transport/tcp/config.hpp>
#include <vccl/transport/tcp/stream.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <utility>

namespace vccl::tcp {

/// Each call goes a step further, and none waits. A pipe that was never open is given up at
/// Config::connect, or at once for what no trying again would mend; one that was open tries for as
/// long as it lives, unless the door says that nobody is there for it.
template <class Api>
class Dialler {
 public:
  /// @param zone interface number for link-local addresses
  Dialler(Config const& config, Address const& to, std::uint32_t zone)
      : config_{config}, line_{config.queue}, wait_{config.wait_first}, since_{Api::now()} {
    hello_.pipe = {Api::random(), Api::random()};
    hello_.secret = to.secret;
    if (to_socket(to, zone, at_) && to.port != 0) {
      begin(since_);
    } else {
      give_up(EINVAL);
    }
  }

  [[nodiscard]] Line<Api>& line() noexcept { return line_; }
  /// What ended this pipe; 0 while it has not ended.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] bool open() const noexcept { return state_ == State::open; }
  /// Connections that were tried, and those that came about.
  [[nodiscard]] std::uint32_t attempts() const noexcept { return hello_.attempt; }
  [[nodiscard]] std::uint32_t connections() const noexcept { return connections_; }

  void step(Time t) noexcept {
    if (state_ == State::waiting && t >= next_) begin(t);
    if (state_ == State::connecting) connecting(t);
    if (state_ == State::greeting) greeting(t);
  }
  /// The connection that was open is no good any more.
  void lost(Time t) noexcept { failed(ECONNRESET, t); }

 private:
  enum class State : std::uint8_t { waiting, connecting, greeting, open, ended };

  void begin(Time t) noexcept {
    ++hello_.attempt;
    tried_ = t;
    Socket<Api> socket{Api::socket(at_.get()->sa_family)};
    if (!socket) return failed(errno, t);
    tune<Api>(socket.fd());
    int const result = Api::connect(socket.fd(), at_.get(), at_.length);
    // Interrupted: it goes on by itself (connect(2)).
    if (result != 0 && errno != EINPROGRESS && errno != EINTR) return failed(errno, t);
    line_.replace(Stream<Api>{std::move(socket)});
    state_ = State::connecting;
    if (result == 0) connected(t);
  }

  void connecting(Time t) noexcept {
    pollfd p{.fd = line_.stream.fd(), .events = POLLOUT, .revents = 0};
    if (Api::poll(p) == 1 && p.revents != 0) {
      int e = 0;
      if (Api::pending_error(p.fd, e) != 0) e = errno;
      return e == 0 ? connected(t) : failed(e, t);
    }
    if (t - tried_ >= config_.connect_once || late(t)) failed(ETIMEDOUT, t);
  }

  void connected(Time t) noexcept {
    if (!line_.stream.greet(hello_)) return failed(ECONNRESET, t);
    state_ = State::greeting;
  }

  /// There is no deadline for the answer: who listens may have nobody yet who lets us in.
  void greeting(Time t) noexcept {
    Io const io = line_.stream.fill();
    Greeting g;
    Parsed const parsed = line_.stream.inbox().greeting(g);
    if (parsed == Parsed::wait) {
      if (io == Io::lost) failed(ECONNRESET, t);
      return;
    }
    bool const ours = parsed == Parsed::one && g.attempt == hello_.attempt &&
                      g.pipe == hello_.pipe && same_secret(g.secret, hello_.secret);
    if (ours && g.kind == Greeting::Kind::gone) return give_up(ECONNABORTED);
    if (!ours || g.kind != Greeting::Kind::welcome) {
      ++line_.malformed;
      return failed(EPROTO, t);
    }
    hello_.kind = Greeting::Kind::again;
    wait_ = config_.wait_first;
    state_ = State::open;
    ++connections_;
  }

  [[nodiscard]] bool never_open() const noexcept { return hello_.kind == Greeting::Kind::first; }
  [[nodiscard]] bool late(Time t) const noexcept {
    return never_open() && t - since_ >= config_.connect;
  }
  void failed(int e, Time t) noexcept {
    line_.stream.close();
    if (never_open() && (!transient(e) || late(t))) return give_up(e);
    state_ = State::waiting;
    // A quarter is left to chance, so that many do not come back at once.
    Duration const chance = wait_ / 4 * static_cast<std::int64_t>(Api::random() % 256) / 256;
    next_ = t + (wait_ - chance);
    if (never_open()) next_ = std::min(next_, since_ + config_.connect);
    wait_ = std::min(wait_ * 2, config_.wait_most);
  }
  void give_up(int e) noexcept {
    line_.stream.close();
    error_ = e;
    state_ = State::ended;
  }

  Config config_;
  SocketAddress at_;
  Greeting hello_;
  Line<Api> line_;
  State state_ = State::waiting;
  Duration wait_;
  Time since_, tried_{}, next_{};
  int error_ = 0;
  std::uint32_t connections_ = 0;
};

}  // namespace vccl::tcp
