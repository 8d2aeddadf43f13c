// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Drives a machine: turns what it asks into fences, arms, probes and messages, and counts.

#include <vccl/concepts.hpp>
#include <vccl/detail/failback_timer.hpp>
#include <vccl/detail/outage_meter.hpp>
#include <vccl/detail/path_jobs.hpp>
#include <vccl/detail/records.hpp>
#include <vccl/status.hpp>

#include <array>
#include <cstdint>
#include <type_traits>

namespace vccl::detail {

/// The part of Failover that does what its machine says. `Io` is the end itself: its paths,
/// positions, clock and pipe.
///
/// Thread safety: whoever holds the end's lock.
template <class SyncP, class Policies, End end, class Io>
class FailoverCore {
 public:
  using Machine =
      std::conditional_t<end == End::sender, typename SyncP::Sender, typename SyncP::Receiver>;
  using Detector = typename Policies::Detector;
  static constexpr Timing timing = Policies::timing;

  FailoverCore() noexcept : machine_{sync::Start{}} {}

  void start(Io& io, sync::Start const& s) noexcept {
    machine_ = Machine{s};
    now_ = io.now();
    wait_since_ = now_;
    last_path_ = machine_.common().path;
    counted_up_ = s.up;
    for (PathId q = 0; q < s.paths; ++q) {
      if ((s.up >> q & 1) == 0) failback_.lost(q, now_, io.random32());
    }
  }

  /// A completion failed on path `q`.
  void on_error(Io& io, PathId q, Status s) noexcept {
    if (machine_.common().is_lost(q)) return;  // Flushes of a path that was left are no new faults.
    Verdict const v = Detector{}.on_completion(s, !io.port_usable(q));
    if (v.kind == Verdict::Kind::path) {
      fault(io, q, v.cause);
    } else {
      fatal(io, v.kind == Verdict::Kind::fatal ? v.cause : Cause::unknown_status);
    }
  }

  void fault(Io& io, PathId q, Cause why) noexcept {
    feed(io, [&](sync::Actions& out) {
      machine_.on_fault(q, machine_.common().paths[q].number, why, out);
    });
  }
  void fatal(Io& io, Cause why) noexcept {
    feed(io, [&](sync::Actions& out) { machine_.on_fatal(why, out); });
  }
  void close(Io& io) noexcept {
    feed(io, [&](sync::Actions& out) { machine_.on_close(out); });
  }
  void on_drained(Io& io) noexcept {
    drain_asked_ = false;
    feed(io, [&](sync::Actions& out) { machine_.on_drained(out); });
  }
  void on_probe_done(Io& io, PathId q, std::uint8_t queue) noexcept {
    if (!jobs_.probe_done(q, queue)) return;
    bool const active = q == machine_.common().path;
    if (active) wait_since_ = now_;
    if (jobs_.take_arm_probe(q)) return probed(io, q, true);
    if (active && !owed(io)) outage_.alive();
  }

  /// The peer's words: from a record of path `via`, or from the pipe (no_path).
  void on_message(Io& io, ControlFrame const& f, PathId via) noexcept {
    ++counts_.messages_taken;
    sync::Message const& m = f.message;
    if (m.session == machine_.common().session && m.arm != sync::Arm::none &&
        m.arm_path < max_paths) {
      jobs_.set_remote(m.arm_path, m.numbers[m.arm_path], f);
    }
    if constexpr (end == End::receiver) {
      PathId const q = machine_.arming();
      bool const answers = q != no_path && m.session == machine_.common().session &&
                           m.numbers[q] == machine_.common().paths[q].number;
      // Those that follow each other at once, as nothing else is left, are no reason to wait later.
      if (answers && machine_.has_usable_path()) failback_.count_attempt(q);
    }
    feed(io, [&](sync::Actions& out) { machine_.on_message(m, via, io.positions(), out); });
    auto const& c = machine_.common();
    // Also while it drains: a drain ends when all is confirmed.
    bool const goes_on = machine_.may_post() || drain_asked_;
    if (m.session == c.session && m.epoch == c.epoch && goes_on) io.on_confirmed(m.position);
  }

  /// What the lanes of a path can do, for the choice of whether to return to it.
  void set_speed(PathId q, std::uint64_t mbps) noexcept { jobs_.set_speed(q, mbps); }

  /// The confirmed position should reach the sender although no CTS will carry it.
  void ask_send() noexcept { send_pending_ = true; }

  /// True while a path is being fenced or brought up, so that polling should step it.
  [[nodiscard]] bool urgent() const noexcept { return jobs_.any() || send_pending_; }

  [[nodiscard]] bool may_post() const noexcept { return machine_.may_post(); }
  [[nodiscard]] bool drain_asked() const noexcept { return drain_asked_; }
  [[nodiscard]] Machine& machine() noexcept { return machine_; }
  [[nodiscard]] bool ending() const noexcept { return ending_since_.ns != 0; }

  void fill(ConnectionStatus& s) const noexcept {
    auto const& c = machine_.common();
    s.active_path = c.path;
    s.epoch = c.epoch;
    s.cause = c.cause;
    for (PathId q = 0; q < c.count; ++q) {
      if (c.is_up(q)) s.usable_paths = static_cast<std::uint8_t>(s.usable_paths | 1u << q);
      s.path_causes[q] = c.paths[q].cause;
    }
    s.has_backup = (s.usable_paths & ~(1u << c.path)) != 0;
    s.buffers_unsafe = c.fence_failed || (over_ && jobs_.any_fence());
    s.outage = outage_.last();
    s.on_backup = outage_.on_backup();
    s.counters = counts_;
    s.counters.arm_attempts = failback_.attempts_made();
    s.counters.probes = jobs_.probes();
  }

 protected:
  /// The NIC of this end owes completions.
  [[nodiscard]] bool owed(Io& io) noexcept {
    if constexpr (end == End::sender) {
      return io.owes();
    } else {
      return machine_.lacks(io.positions());
    }
  }

  template <class F>
  void feed(Io& io, F&& input) noexcept {
    sync::Actions out;
    input(out);
    for (sync::Action const& a : out) apply(io, a);
  }

  void apply(Io& io, sync::Action const& a) noexcept {
    using Kind = sync::Action::Kind;
    switch (a.kind) {
      case Kind::send:
        asks_ = true;
        [[fallthrough]];
      case Kind::answer:
        send_pending_ = true;
        break;
      case Kind::stop:
        drain_asked_ = false;
        outage_.stopped(io.now());
        break;
      case Kind::fence:
        failback_.lost(a.path, io.now(), io.random32());
        count_loss(io, a.path, a.cause);
        if (Policies::Fence::fences(end)) {
          jobs_.start(a.path, Stage::error, a.number, io.now());
        } else {
          jobs_.stop(a.path);
          if (a.path == machine_.common().path) outage_.stopped(io.now());  // Before the switch.
          fenced(io, a.path, a.number, true);
        }
        break;
      case Kind::prepare:
        jobs_.start(a.path, Stage::prepare, a.number, io.now());
        break;
      case Kind::connect:
        jobs_.start(a.path, Stage::connect, a.number, io.now());
        break;
      case Kind::probe:
        jobs_.start(a.path, Stage::probe, a.number, io.now());
        break;
      case Kind::drain:
        drain_asked_ = true;
        break;
      case Kind::armed:
        ++counts_.rearms;
        counted_up_ = static_cast<std::uint8_t>(counted_up_ | 1u << a.path);
        failback_.armed(a.path, io.now());
        io.record(Event::Kind::rearmed, a.path, Cause::none);
        break;
      case Kind::switch_to:
        switched(io, a);
        break;
      case Kind::finish:
        over_ = true;
        io.record(a.cause == Cause::closed || a.cause == Cause::peer_closed ? Event::Kind::closed
                                                                            : Event::Kind::aborted,
                  a.path, a.cause);
        io.on_finish(a.cause, a.position, a.final_position);
        break;
    }
    if (machine_.common().is_ending() && ending_since_.ns == 0) {
      ending_since_ = io.now();
    }
  }

  /// A path that was up is lost. Failed attempts to bring it up again, and the end, are no losses.
  void count_loss(Io& io, PathId q, Cause why) noexcept {
    if ((counted_up_ >> q & 1) == 0 || machine_.common().is_ending()) return;
    counted_up_ = static_cast<std::uint8_t>(counted_up_ & ~(1u << q));
    fence_told_ = static_cast<std::uint8_t>(fence_told_ & ~(1u << q));
    ++counts_.path_faults;
    io.record(Event::Kind::path_lost, q, why);
  }

  void switched(Io& io, sync::Action const& a) noexcept {
    bool const returned = a.path < last_path_;
    if (returned) ++counts_.failbacks;
    if (a.path > last_path_) ++counts_.failovers;
    last_path_ = a.path;
    drain_asked_ = false;
    wait_since_ = io.now();
    io.on_switch(a.path, a.epoch, a.position);
    outage_.resumed(io.progress_mark(), returned);
    io.record(returned ? Event::Kind::returned : Event::Kind::switched, a.path, Cause::none);
  }

  void fenced(Io& io, PathId q, std::uint16_t number, bool ok) noexcept {
    if ((fence_told_ >> q & 1) == 0) {
      fence_told_ = static_cast<std::uint8_t>(fence_told_ | 1u << q);
      io.record(Event::Kind::fenced, q, ok ? Cause::none : Cause::fence_failed);
    }
    feed(io, [&](sync::Actions& out) { machine_.on_fenced(q, number, ok, io.positions(), out); });
  }

  void probed(Io& io, PathId q, bool ok) noexcept {
    std::uint16_t const n = machine_.common().paths[q].number;
    feed(io, [&](sync::Actions& out) {
      if constexpr (end == End::sender) {
        machine_.on_probed(q, n, ok, out);
      } else {
        machine_.on_probed(q, n, ok, io.positions(), out);
      }
    });
  }

  void run_jobs(Io& io) noexcept {
    io.paths().each([&](auto id, auto& path) {
      PathId const q = id;
      // The data path polls the active path only; control records and probes finish on the others
      // too.
      if (jobs_.is_draining(q) || !machine_.common().is_lost(q)) io.poll_path(q);
      if (jobs_.repeat_probe(q, path, now_) > Errc::would_block) fault(io, q, Cause::call_failed);
      JobEnd const e = jobs_.step(q, path, now_, Policies::Fence::deadline(), timing.linger);
      std::uint16_t const n = jobs_.number(q);
      bool const ok = e.ok;
      switch (e.stage) {
        case Stage::none:
          break;
        case Stage::error:
        case Stage::drain:
        case Stage::reset:
          fenced(io, q, n, ok);
          break;
        case Stage::prepare:
          feed(io, [&](sync::Actions& out) { machine_.on_prepared(q, n, ok, out); });
          break;
        case Stage::connect:
          feed(io, [&](sync::Actions& out) { machine_.on_connected(q, n, ok, out); });
          break;
        case Stage::probe:
          if (!ok) {
            io.record(Event::Kind::probe_failed, q, Cause::stall);
            probed(io, q, false);
          } else {
            post_probe(io, q, true);
          }
          break;
      }
    });
  }

  void post_probe(Io& io, PathId q, bool arms) noexcept {
    ControlFrame f = frame(io);
    if (!arms) f.message.asks = 1;  // What the peer's NIC has seen tells what this one has lost.
    Errc const e =
        io.paths().with(q, [&](auto& path) { return jobs_.post_probe(q, path, f, now_, arms); });
    if (e > Errc::would_block) fault(io, q, Cause::call_failed);
  }

  [[nodiscard]] ControlFrame frame(Io& io) noexcept {
    ControlFrame f;
    f.message = machine_.snapshot(io.positions());
    if (f.message.arm != sync::Arm::none) jobs_.put_local(f.message.arm_path, f);
    return f;
  }

  void send_now(Io& io) noexcept {
    if (!send_pending_) return;
    send_pending_ = false;
    ++counts_.messages_sent;
    ControlFrame f = frame(io);
    if (!asks_) f.message.asks = 0;  // An answer asks nothing, or two ends would talk for ever.
    asks_ = false;
    if constexpr (SyncP::in_band) {
      io.paths().each([&](auto id, auto& path) {
        if (may_write(id)) path.send_control(f);
      });
    }
    if constexpr (SyncP::out_of_band) io.send_out_of_band(f);
  }

  /// A sender's QP on a path that is being armed may be ahead of the receiver's: it keeps silent
  /// there until the receiver has been heard on it.
  [[nodiscard]] bool may_write(PathId q) const noexcept {
    auto const& c = machine_.common();
    auto const& p = c.paths[q];
    using Phase = std::remove_cvref_t<decltype(p.phase)>;
    // A path that could not be fenced still carries the news of that.
    if (c.fence_failed && c.is_ending()) return true;
    return p.phase == Phase::up ||
           (p.phase == Phase::probing && (end == End::receiver || p.probe_asked));
  }

  Machine machine_;
  PathJobs jobs_;
  FailbackTimer<typename Policies::Failback> failback_;
  OutageMeter outage_;
  Counters counts_;
  Time now_, wait_since_, ending_since_;
  PathId last_path_ = 0;
  std::uint8_t counted_up_ = 0;     ///< Bit per path whose loss would be one.
  std::uint8_t fence_told_ = 0xff;  ///< Bit per path whose fence is no news.
  bool send_pending_ = false, asks_ = false, drain_asked_ = false, over_ = false;
};

}  // namespace vccl::detail
