// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// TcpBootstrap: set-up and out-of-band messages over TCP.

#include <vccl/concepts.hpp>
#include <vccl/error.hpp>
#include <vccl/transport/tcp/pipe.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace vccl {

namespace tcp {

/// Where others dial. Its listening socket stays, for callers that come back, while a pipe that it
/// let in is there. Thread safety: one thread at a time.
template <class Api>
class Door {
 public:
  Door(Hall<Api>& hall, std::size_t queue) noexcept : hall_{&hall}, queue_{queue} {}
  Door(Door&& other) noexcept : hall_{std::exchange(other.hall_, nullptr)}, queue_{other.queue_} {}
  Door& operator=(Door&& other) noexcept {
    std::swap(hall_, other.hall_);
    std::swap(queue_, other.queue_);
    return *this;
  }
  ~Door() {
    if (hall_ != nullptr) hall_->close_door();
  }

  [[nodiscard]] tcp::Address address() const noexcept {
    return hall_ == nullptr ? tcp::Address{} : hall_->address();
  }
  /// True with a new pipe; false when nobody waits.
  [[nodiscard]] bool accept(tcp::Pipe<Api>& into) noexcept {
    if (hall_ == nullptr) return false;
    Seat<Api>* const seat = hall_->next();
    if (seat == nullptr) return false;
    into = tcp::Pipe<Api>{std::make_unique<Guest<Api>>(*hall_, *seat, queue_)};
    return true;
  }
  /// Callers that were dropped so far: malformed, wrong secret, silent, too many.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return hall_ == nullptr ? 0 : hall_->dropped();
  }
  /// Callers that have not greeted yet.
  [[nodiscard]] std::size_t callers() const noexcept {
    return hall_ == nullptr ? 0 : hall_->callers();
  }

 private:
  Hall<Api>* hall_;
  std::size_t queue_;
};

}  // namespace tcp

/// How set-up and out-of-band messages travel over plain TCP, IPv4 or IPv6. A Host takes its doors
/// and pipes from here. It has no thread: everything happens in the calls, and none blocks. So
/// somebody has to call; for connections, a context's service thread does.
///
/// The secret of an address travels in clear text: it keeps strays out, not who can read the
/// network.
///
/// State: listening sockets.  Hot path: not on it.  Thread safety: any thread; outlives its doors
/// and pipes.  Use when the ends are in different processes, on a network that you trust.
template <class Api = tcp::SystemSockets>
class TcpBootstrap {
 public:
  using Address = tcp::Address;
  using Door = tcp::Door<Api>;
  using Pipe = tcp::Pipe<Api>;

  explicit TcpBootstrap(tcp::Config const& config = {}) noexcept : config_{config} {}
  TcpBootstrap(TcpBootstrap const&) = delete;
  TcpBootstrap& operator=(TcpBootstrap const&) = delete;

  /// Throws SetupError: no such address or interface here, port in use.
  [[nodiscard]] Door listen() {
    auto hall = std::make_unique<tcp::Hall<Api>>(config_);
    std::scoped_lock const lock{mutex_};
    std::erase_if(halls_, [](auto const& h) { return h->vacant(); });
    return Door{*halls_.emplace_back(std::move(hall)), config_.queue};
  }

  /// A pipe to whoever accepts there, tried as Config says: a peer that is not up yet, or has no
  /// route yet, is no error; see Pipe::error(). Throws SetupError for what no trying again would
  /// mend.
  [[nodiscard]] Pipe dial(Address const& to) {
    std::uint32_t const zone = tcp::zone_of<Api>(config_);
    tcp::check_zone("connect", to, zone);
    auto d = std::make_unique<tcp::Dialler<Api>>(config_, to, zone);
    if (int const e = d->error(); e != 0) throw SetupError{"connect", e, tcp::advice(e)};
    return Pipe{std::move(d)};
  }

 private:
  tcp::Config config_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<tcp::Hall<Api>>> halls_;
};
static_assert(Bootstrap<TcpBootstrap<>>);

}  // namespace vccl
