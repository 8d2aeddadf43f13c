// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What both ends of a connection are made of: paths and their records, the failover driver, the
/// lock; and what the driver asks of them.

#include <vccl/context.hpp>
#include <vccl/detail/failover.hpp>
#include <vccl/detail/lanes.hpp>
#include <vccl/detail/offers.hpp>
#include <vccl/detail/ports.hpp>
#include <vccl/detail/setup.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <sched.h>
#include <span>

namespace vccl::detail {

struct NoFailover {};

/// Whose turn it is at an end: the owner's or the service thread's. The first base, because an
/// exchange at the address of the end itself is the cheapest.
class Turn {
 public:
  /// `polled`: free, and the last call was a poll. An owner whose last call was another is stepped
  /// once although it is there, which costs it at most a wait.
  enum class State : std::uint8_t { free, taken, polled };

  void take_turn() noexcept {
    if (try_turn() == State::taken) [[unlikely]]
      wait_turn();
  }
  /// Takes it, unless it is taken already. Returns what it was.
  [[nodiscard]] State try_turn() noexcept {
    return turn_.exchange(State::taken, std::memory_order_acquire);
  }
  void give_turn(State after) noexcept { turn_.store(after, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait_turn() noexcept {
    do {
      sched_yield();
    } while (try_turn() == State::taken);
  }

  std::atomic<State> turn_{State::free};
};
/// Without failover there is one thread.
struct NoTurn {};

/// The inner part of Sender and Receiver (`Derived`), which bring the data: progress(),
/// positions(), waits(), on_arrival(), on_switch(), on_finish(), on_frame().
template <class Derived, class Link, End end>
class EndCore : protected std::conditional_t<Link::resilient, Turn, NoTurn> {
 public:
  using Primary = typename Link::Primary;
  using Policies = typename Link::PoliciesType;
  using Host = typename Primary::Host;
  using Paths = typename Link::Transports::template apply<PathSet>;
  static constexpr bool resilient = Link::resilient;
  static constexpr Timing timing = Policies::timing;

  EndCore(EndCore const&) = delete;
  EndCore& operator=(EndCore const&) = delete;

  // ---- For Failover

  [[nodiscard]] Time now() noexcept { return context_.host().now(); }
  [[nodiscard]] std::uint32_t random32() noexcept {
    return static_cast<std::uint32_t>(context_.host().random());
  }
  [[nodiscard]] Paths& paths() noexcept { return paths_; }
  [[nodiscard]] bool has_path(PathId q) const noexcept { return (present_ >> q & 1) != 0; }
  void poll_path(PathId q) noexcept {
    paths_.with(q, [&](auto& path) { return poll_one(path); });
  }
  /// The worst of the ports of a path, as events tell.
  [[nodiscard]] PortWatch watch(PathId q) noexcept {
    Time const t = now();
    return paths_.with(q, [&](auto& path) {
      PortWatch worst;
      for (std::size_t l = 0; l < path.lane_count(); ++l) {
        PortWatch const w = context_.health().watch(path.port(l), t);
        if (w.down && (!worst.down || w.down_for > worst.down_for)) worst = w;
      }
      return worst;
    });
  }
  [[nodiscard]] bool port_usable(PathId q) noexcept {
    bool usable = true;
    paths_.each([&](auto id, auto& path) {
      if (id != q) return;
      for (std::size_t l = 0; l < path.lane_count(); ++l) {
        usable = usable && context_.hosts().get(id).port_state(path.port(l)).active &&
                 address_stands(path.lane(l));
      }
    });
    return usable;
  }
  [[nodiscard]] std::uint64_t signs_of_life() noexcept {
    return paths_.chosen([](auto& path) { return path.completions(); }) + self().progress_mark();
  }
  void send_out_of_band(ControlFrame const& f) noexcept {
    write_frame(frame_, Frame::control, session_, &f, frame_bytes(f));
    static_cast<void>(pipe_.send(frame_.view()));
  }
  void record(Event::Kind kind, PathId path, Cause cause) noexcept {
    telemetry_.record({.kind = kind,
                       .end = end,
                       .path = path,
                       .cause = cause,
                       .epoch = epoch_,
                       .position = self().positions().done,
                       .at = now()});
  }

 protected:
  /// Opens every path's lanes and the memory that their records need. Throws SetupError for what is
  /// wrong with the route or the primary; a backup that cannot be opened is done without.
  EndCore(Context<Link>& context, Route const& route) : context_{context}, route_{route} {
    blocks_ = Blocks{static_cast<PathBlock*>(
        ::operator new(sizeof(PathBlock) * Paths::count, std::align_val_t{4096}))};
    std::memset(static_cast<void*>(blocks_.get()), 0, sizeof(PathBlock) * Paths::count);
    check_route(route_);
    paths_.each([&](auto id, auto& path) { open_path(id, path); });
  }
  ~EndCore() = default;

  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
  [[nodiscard]] Derived const& self() const noexcept { return static_cast<Derived const&>(*this); }
  /// For a connection that was ready: may it post. Without failover it may until it ends, and after
  /// that nothing is left to post.
  [[nodiscard]] bool may_go_on() const noexcept {
    return !resilient || (look_.load(std::memory_order_relaxed) & stopped) == 0;
  }
  /// True when a poll is more than taking what has come.
  [[nodiscard]] bool must_look() const noexcept {
    return look_.load(std::memory_order_relaxed) != 0;
  }
  void ask_attention() noexcept { look_.fetch_or(attention, std::memory_order_relaxed); }
  void use_path(PathId q) noexcept {
    active_ = q;
    paths_.choose(q);
  }
  [[nodiscard]] Primary& primary_lane() noexcept { return paths_.template get<0>().lane(0); }

  /// The owner's path pays one uncontended exchange; the service thread steps an end between two
  /// polls.
  struct Guard {
    explicit Guard(EndCore& e, Turn::State after = Turn::State::free) noexcept
        : end_{e}, after_{after} {
      if constexpr (resilient) e.take_turn();
    }
    Guard(Guard const&) = delete;
    Guard& operator=(Guard const&) = delete;
    ~Guard() {
      if constexpr (resilient) end_.give_turn(after_);
    }
    EndCore& end_;
    Turn::State after_;
  };

  /// False when nothing has come.
  template <class P>
  [[gnu::always_inline]] bool poll_one(P& path) noexcept {
    return path.poll([&](Arrival const& a) __attribute__((always_inline)) {
      if (a.status != Status::success) [[unlikely]]
        return on_error(path.id(), a.status);
      if (self().on_arrival(path, a)) return;
      if constexpr (resilient) {
        if (a.id.work == Work::probe) [[unlikely]]
          failover_.on_probe_done(self(), path.id(), a.id.queue);
      }
    });
  }

  [[gnu::noinline]] void on_error(PathId q, Status s) noexcept {
    if constexpr (resilient) {
      failover_.on_error(self(), q, s);
      refresh();
    } else {
      static_cast<void>(q);
      end_now(typename Policies::Detector{}.on_completion(s, false).cause);
    }
  }

  /// A post or a doorbell was refused for good on the active path.
  [[gnu::always_inline]] void on_refused(Errc e) noexcept {
    if (e > Errc::would_block) [[unlikely]]
      on_call_failed();
  }
  [[gnu::noinline]] void on_call_failed() noexcept {
    if constexpr (resilient) {
      failover_.fault(self(), active_, Cause::call_failed);
      refresh();
    } else {
      end_now(Cause::call_failed);
    }
  }
  /// A path that the peer has connected could not be connected here.
  void on_path_refused(PathId q) noexcept {
    if constexpr (resilient) {
      failover_.fault(self(), q, Cause::not_armed);
      refresh();
    } else if (q == active_) {
      end_now(Cause::not_armed);
    }
  }
  /// The peer did something that cannot be. After the end it means nothing.
  [[gnu::noinline]] void on_impossible() noexcept {
    if (ended_) return;
    if constexpr (resilient) {
      failover_.fatal(self(), Cause::protocol_error);
      refresh();
    } else {
      end_now(Cause::protocol_error);
    }
  }

  /// One test of everything that is not data: a flag, and a word per path. The words are looked at
  /// when a poll has brought nothing: what comes shows that the path works, and a tick of the
  /// service thread sets the flag.
  [[nodiscard]] bool needs_service() noexcept {
    if ((look_.load(std::memory_order_relaxed) & attention) != 0) return true;
    if constexpr (resilient) {
      for (PathId q = 0; q < Paths::count; ++q) {
        if (__atomic_load_n(&control_in(q).elements[0].sequence, __ATOMIC_RELAXED) != seen_[q])
          return true;
      }
    }
    return false;
  }

  /// Messages, jobs and timers. The lock is held.
  void serve([[maybe_unused]] Time t) noexcept {
    if (!ready_ || ended_silently_) return;
    look_.fetch_and(static_cast<std::uint8_t>(~attention), std::memory_order_relaxed);
    read_messages();
    failover_.service(self(), t);
    refresh();
  }

  /// What the fast path looks at, after anything that may have changed it.
  void refresh() noexcept {
    if constexpr (resilient) {
      set_may_post(ready_ && failover_.may_post());
      if (failover_.urgent()) ask_attention();
    }
  }
  void set_may_post(bool may) noexcept {
    takes_ = may && !self().closing();
    if constexpr (resilient) {
      if (may) {
        look_.fetch_and(static_cast<std::uint8_t>(~stopped), std::memory_order_relaxed);
      } else {
        look_.fetch_or(stopped, std::memory_order_relaxed);
      }
      self().on_refresh();
    }
  }

  [[nodiscard]] ControlRecord const& control_in(PathId q) const noexcept {
    return *reinterpret_cast<ControlRecord const*>(blocks_.get()[q].control_in.data());
  }

  void read_messages() noexcept {
    ControlFrame f;
    // Also where messages travel out of band only: a probe is heard on the path that it proves.
    for (PathId q = 0; q < Paths::count; ++q) {
      std::uint32_t const sequence =
          __atomic_load_n(&control_in(q).elements[0].sequence, __ATOMIC_RELAXED);
      if (sequence == seen_[q] || !read_control(control_in(q), f)) continue;
      seen_[q] = f.message.sequence;
      failover_.on_message(self(), f, q);
    }
    for (std::size_t n; (n = pipe_.receive(frame_.bytes)) != 0;) {
      FrameHeader h;
      std::span<std::byte const> const in{frame_.bytes.data(), n};
      if (!read_header(in, h)) continue;
      if (h.kind == Frame::control && h.session == session_) {
        if (read_control_frame(in, f)) failover_.on_message(self(), f, vccl::no_path);
      } else {
        self().on_frame(h, in);
      }
    }
  }

  void make_offer(Offer& o) noexcept {
    detail::make_offer(o, paths_, first_number);
    o.first_step = route_.first_step;
    if constexpr (resilient) {
      for (PathId q = 0; q < Paths::count; ++q) failover_.set_speed(q, speed_of(o.path[q]));
    }
  }

  void become_ready(std::uint8_t up) noexcept {
    ready_ = true;
    if constexpr (resilient) {
      failover_.start(self(), {.session = session_,
                               .epoch = epoch_,
                               .paths = Paths::count,
                               .up = up,
                               .number = first_number});
      use_path(failover_.machine().common().path);
      record(Event::Kind::ready, active_, Cause::none);
      ask_attention();
      refresh();
    } else {
      set_may_post(true);
    }
  }

  /// Ends this end alone, at once: set-up failed, or there is no agreement with the peer.
  void end_now(Cause why) noexcept {
    if (ended_) return;
    ended_silently_ = true;
    set_may_post(false);
    if (ready_) {
      // Nothing may touch the buffers once their requests are over.
      paths_.each([this](auto, auto& path) {
        static_cast<void>(path.fence(FenceStep::error));
        if (path.fence(FenceStep::reset) != Errc::ok) unsafe_ = true;
      });
    }
    finish(why, 0, false);
  }

  void finish(Cause why, Step position, bool final_position) noexcept {
    ended_ = true;
    settled_ = true;
    set_may_post(false);
    cause_ = why;
    Errc const e = why == Cause::closed        ? Errc::closed
                   : why == Cause::peer_closed ? Errc::peer_closed
                   : ready_                    ? Errc::aborted
                                               : Errc::refused;
    self().finish_queue(e, position, final_position);
  }

  static constexpr std::uint16_t first_number = 1;
  static constexpr Duration setup_repeat{10'000'000};

  struct Free {
    void operator()(PathBlock* p) const noexcept { ::operator delete(p, std::align_val_t{4096}); }
  };
  using Blocks = std::unique_ptr<PathBlock, Free>;

  Blocks blocks_;  // Outlives the lanes that know it.
  Paths paths_;
  Context<Link>& context_;
  Route route_;
  bool settled_ = false;  ///< Set-up is over here, or the connection is: the fast path may run.
  bool ready_ = false;
  bool ended_ = false;
  bool ended_silently_ = false;
  bool unsafe_ = false;  ///< It ended at once, and a path could not be made quiet.
  bool takes_ = false;   ///< Operations are taken and posted.
  PathId active_ = 0;
  std::uint8_t present_ = 0;
  Epoch epoch_ = 1;
  Cause cause_ = Cause::none;
  /// What a poll must look at besides data: messages, jobs and timers; that it may not post.
  static constexpr std::uint8_t attention = 1, stopped = 2;
  std::atomic<std::uint8_t> look_{stopped};
  std::array<std::uint32_t, max_paths> seen_{};
  std::uint64_t session_ = 0;
  [[no_unique_address]] std::conditional_t<
      resilient, Failover<typename Link::Sync, Policies, end, Derived>, NoFailover> failover_;
  [[no_unique_address]] typename Policies::Telemetry telemetry_;
  typename Host::Pipe pipe_;
  FrameBuffer frame_;
  Time setup_since_{}, setup_next_{};
  std::array<std::unique_ptr<SetupError const>, Paths::count - 1> path_errors_;

 private:
  template <class Id, class P>
  void open_path(Id id, P& path) {
    auto& host = context_.hosts().get(id);
    Ports const ports = ports_of<typename Policies::PathSelector>(host, route_, id);
    if (ports.count == 0) return;  // No backup: status().has_backup says so.
    LaneConfig const config = lane_config(route_, timing, window);
    std::span<PortId const> const at{ports.at.data(), ports.count};
    if constexpr (id() == 0) {
      path.open(host, at, config, blocks_.get()[0], end == End::receiver);
    } else {
      try {
        path.open(host, at, config, blocks_.get()[id], end == End::receiver);
      } catch (SetupError const& e) {
        path_errors_[id - 1u] = std::make_unique<SetupError>(e);
      }
    }
  }
};

}  // namespace vccl::detail
