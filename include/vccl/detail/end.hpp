// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What users see of both ends, and how an end lives: enlisted for service, closed, destroyed.

#include <vccl/detail/end_core.hpp>
#include <vccl/registration.hpp>

#include <sched.h>
#include <type_traits>
#include <utility>

namespace vccl::detail {

/// Base of Sender and Receiver.
///
/// Thread safety: one owner thread; close(), abort(), closed() and status() from any. With NoSync
/// all of them belong to the owner: then there is no lock.
template <class Derived, class Link, End end>
class EndBase : public EndCore<Derived, Link, end> {
  using Core = EndCore<Derived, Link, end>;

 public:
  using Core::resilient;
  using Core::timing;
  using typename Core::Guard;
  using Registered = typename Link::Transports::template apply<Registration>;

  /// The thinnest calls: the primary's first lane as it is, for work that needs no matching and no
  /// replay.
  Errc post(WorkRequest const& wr) noexcept
    requires(!resilient)
  {
    return this->primary_lane().post(wr);
  }
  /// Rings the doorbell for everything that post() has taken: before that it need not go out.
  Errc flush() noexcept
    requires(!resilient)
  {
    return this->primary_lane().flush();
  }
  [[nodiscard]] std::size_t poll(std::span<Completion> out) noexcept
    requires(!resilient)
  {
    return this->primary_lane().poll(out);
  }

  /// Makes progress. True once both ends are set up; operations may be posted before.
  [[nodiscard]] bool ready() noexcept {
    Guard const guard{*this};
    this->self().progress();
    return this->ready_;
  }

  /// Registers a contiguous buffer (span, vector, array) on every path at once. Throws SetupError.
  template <class Buffer>
  [[nodiscard]] Registered register_memory(Buffer&& b, MemoryKind kind = MemoryKind::host) {
    auto* p = b.data();
    return register_memory(const_cast<void*>(static_cast<const void*>(p)), b.size() * sizeof *p,
                           kind);
  }
  [[nodiscard]] Registered register_memory(void* p, std::size_t bytes,
                                           MemoryKind kind = MemoryKind::host) {
    if (p == nullptr || bytes == 0) {
      throw SetupError{"register_memory", 0,
                       "the buffer is empty: operations of zero bytes need no registration"};
    }
    return Registered{this->paths_,
                      this->context_.hosts(),
                      p,
                      bytes,
                      end == End::sender ? Access::local : Access::remote_write_relaxed,
                      kind};
  }

  /// Any thread. With NoSync: the owner's.
  [[nodiscard]] ConnectionStatus status() noexcept {
    Guard const guard{*this};
    ConnectionStatus s;
    s.ready = this->ready_;
    s.epoch = this->epoch_;
    s.active_path = this->active_;
    if constexpr (resilient) {
      if (this->ready_) this->failover_.fill(s);
    }
    s.ended = this->ended_;
    s.buffers_unsafe = s.buffers_unsafe || this->unsafe_;
    if (this->ended_) s.cause = this->cause_;
    for (PathId q = 1; q < Core::Paths::count; ++q) {
      if (this->path_errors_[q - 1u] != nullptr) s.path_causes[q] = Cause::not_opened;
    }
    this->self().count(s.counters);
    this->paths_.each([&](auto, auto& path) { s.counters.stale += path.stale(); });
    return s;
  }

  /// Why this end has no path `q` although it has ports for it: the call that failed, its errno and
  /// what to do. Empty when it has one. Any thread.
  [[nodiscard]] const char* path_error(PathId q) const noexcept {
    bool const failed = q > 0 && q < Core::Paths::count && this->path_errors_[q - 1u] != nullptr;
    return failed ? this->path_errors_[q - 1u]->what() : "";
  }

  /// Calls `f(telemetry)` while nothing records. Any thread; with NoSync: the owner's.
  template <class F>
  decltype(auto) telemetry(F&& f) {
    Guard const guard{*this};
    return f(std::as_const(this->telemetry_));
  }

  /// Ends the connection in good order: a sender's writes under way get their time, the peer is
  /// told. Where time passes by itself it waits for that, less than 2 s; elsewhere closed() tells.
  /// Any thread.
  void close() noexcept {
    begin_end(
        [&] {
          if constexpr (resilient) this->self().begin_close();
        },
        Cause::closed);
  }
  /// Ends the connection at both ends now, with Cause::user_abort. Waits like close(). Any thread.
  void abort() noexcept {
    begin_end(
        [&] {
          if constexpr (resilient) this->failover_.fatal(this->self(), Cause::user_abort);
        },
        Cause::user_abort);
  }
  /// True when it has ended and nothing is left to be said to the peer.
  [[nodiscard]] bool closed() noexcept {
    Guard const guard{*this};
    return this->ended_;
  }

 protected:
  using Core::Core;

  /// From here on the service thread may step this end: the last thing that a constructor does.
  void enlist() {
    if constexpr (resilient) {
      node_.step = [](ServiceNode& n, Time t) noexcept {
        static_cast<Node&>(n).owner->on_service(t);
      };
      node_.owner = this;
      this->context_.services().add(node_);
    }
  }

  /// The first thing that a destructor does: the peer is told, as far as that does not block, and
  /// nothing touches the buffers any more.
  void farewell() noexcept {
    if constexpr (resilient) {
      this->context_.services().remove(node_);
      if (this->ready_ && !this->ended_) {
        this->failover_.close(this->self());
        this->serve(this->now());
      }
    } else if (!this->ended_) {
      this->end_now(Cause::closed);
    }
  }

 private:
  struct Node : ServiceNode {
    EndBase* owner = nullptr;
  };

  /// A tick. An end whose owner polls is only nudged; one that nobody polls is stepped here.
  void on_service(Time t) noexcept {
    Turn::State const was = this->try_turn();
    if (was == Turn::State::taken) return this->ask_attention();
    if (!this->context_.host().real_time() || was != Turn::State::polled) {
      this->self().progress();
      this->serve(t);
    } else {
      this->ask_attention();
    }
    this->give_turn(Turn::State::free);
  }

  template <class F>
  void begin_end(F begin, Cause why) noexcept {
    Time since{};
    {
      Guard const guard{*this};
      if (this->ended_) return;
      since = this->now();
      if (!resilient || !this->ready_) return this->end_now(why);
      if constexpr (resilient) {
        begin();
        this->refresh();
        this->serve(since);
      }
    }
    while (resilient && this->context_.host().real_time()) {
      Guard const guard{*this};
      if (this->ended_) return;
      this->self().progress();
      if constexpr (resilient) this->serve(this->now());
      if (this->now() - since >= timing.linger) return;
      sched_yield();
    }
  }

  [[no_unique_address]] std::conditional_t<resilient, Node, NoFailover> node_;
};

}  // namespace vccl::detail
