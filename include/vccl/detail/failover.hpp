// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Turns the passing of time into inputs of a machine: ports watched, waits, outages, failback.

#include <vccl/detail/failover_core.hpp>

#include <cstdint>

namespace vccl::detail {

/// The failover part of one end. Not on the hot path: asked when a completion fails, a message has
/// come, or time has passed.
///
/// Thread safety: whoever holds the end's lock.
template <class SyncP, class Policies, End end, class Io>
class Failover : public FailoverCore<SyncP, Policies, end, Io> {
  using Core = FailoverCore<SyncP, Policies, end, Io>;
  using Core::failback_;
  using Core::jobs_;
  using Core::machine_;
  using Core::now_;
  using Core::outage_;
  using Core::timing;
  using Core::wait_since_;
  using typename Core::Detector;

 public:
  /// Everything that depends on time. Call about once a millisecond, and whenever urgent().
  void service(Io& io, Time now) noexcept {
    now_ = now;
    io.on_tick();
    this->run_jobs(io);
    watch_ports(io);
    watch_waits(io);
    watch_outage(io);
    if constexpr (end == End::receiver) failback(io);
    repeat(io);
    this->send_now(io);
  }

 private:
  void watch_ports(Io& io) noexcept {
    for (PathId q = 0; q < machine_.common().count; ++q) {
      PortWatch const w = io.watch(q);
      if constexpr (end == End::receiver) failback_.port(q, w.down, now_, io.random32());
      if (!machine_.common().is_up(q)) continue;
      Verdict const v = Detector{}.on_port(w);
      if (v.kind == Verdict::Kind::path) {
        if (q == machine_.common().path) outage_.stopped(Time{now_.ns - w.down_for.ns});
        this->fault(io, q, v.cause);
      }
      if (v.kind == Verdict::Kind::fatal) this->fatal(io, v.cause);
    }
  }

  /// Who waits, probes: an end that waits for its peer cannot tell a slow one from a dead path.
  void watch_waits(Io& io) noexcept {
    std::uint64_t const sign = io.signs_of_life();
    if (sign != last_sign_ || !io.waits() || !machine_.has_usable_path() || this->ending()) {
      if (sign != last_sign_) jobs_.progress(machine_.common().path, now_);
      last_sign_ = sign;
      wait_since_ = now_;
    }
    std::uint64_t const mark = io.progress_mark();
    if (mark != owed_mark_ || !this->owed(io) || !machine_.has_usable_path()) {
      owed_mark_ = mark;
      owed_since_ = now_;
    }
    // Within its retry window the NIC answers for what it holds. After that a completion was lost,
    // whatever probes say.
    Duration const overdue = now_ - owed_since_ - timing.nic_retry_window();
    for (PathId q = 0; q < machine_.common().count; ++q) {
      bool const active = q == machine_.common().path;
      Duration probing = jobs_.probing_for(q, now_);
      if (active && overdue > probing) probing = overdue;
      if (machine_.common().is_lost(q) || (!active && probing.ns == 0)) continue;
      Wait const w{.waiting = active ? now_ - wait_since_ : Duration{},
                   .probing = probing,
                   .outstanding = active ? io.outstanding_bytes() : 0};
      Verdict const v = Detector{}.on_wait(w);
      if (v.kind == Verdict::Kind::path) {
        if (active) outage_.stopped(wait_since_);
        this->fault(io, q, v.cause);
      }
      if (v.kind == Verdict::Kind::probe && active) this->post_probe(io, q, false);
    }
  }

  void watch_outage(Io& io) noexcept {
    if (this->ending()) {
      if (!this->over_ && now_ - this->ending_since_ >= timing.linger_for_peer()) {
        this->feed(io, [&](sync::Actions& out) { machine_.on_linger_deadline(out); });
      }
      return;
    }
    Duration const dark = outage_.update(now_, io.progress_mark(), machine_.has_usable_path(),
                                         io.waits(), machine_.common().path);
    if (dark >= timing.outage) {
      this->feed(io, [&](sync::Actions& out) { machine_.on_outage_deadline(out); });
    }
  }

  /// The receiver brings lost paths up again, and returns to the primary once it is trusted.
  void failback(Io& io) noexcept {
    if (this->ending()) return;
    auto const& c = machine_.common();
    bool const stranded = !machine_.has_usable_path();
    PathId const arming = machine_.arming();
    if (arming != no_path) {
      if (failback_.too_long(arming, now_))
        this->feed(io, [&](sync::Actions& out) { machine_.on_retry_timeout(arming, out); });
      return;
    }
    PathId next = no_path;  // The due one longest untried, or two would keep a third out.
    for (PathId q = 0; q < c.count; ++q) {
      if (!io.has_path(q) || !failback_.due(q, now_, stranded, timing.repeat_cap)) continue;
      if (!c.is_lost(q) || jobs_.busy(q)) continue;
      if (next == no_path || failback_.tried_at(q) < failback_.tried_at(next)) next = q;
    }
    if (next != no_path) {
      failback_.begin(next, now_, io.random32());
      this->feed(io, [&](sync::Actions& out) { machine_.on_retry(next, out); });
      return;
    }
    for (PathId q = 0; q < c.path; ++q) {
      if (!c.is_up(q)) continue;
      if (failback_.wants_probe(q, now_) && jobs_.probing_for(q, now_).ns == 0)
        this->post_probe(io, q, false);
      if (failback_.trusted(q, now_) && jobs_.speed(q) >= jobs_.speed(c.path)) {
        this->feed(io, [&](sync::Actions& out) { machine_.on_return(q, out); });
        return;
      }
    }
  }

  /// Control messages repeat with back-off until their effect is seen.
  void repeat(Io& io) noexcept {
    if (!machine_.awaiting()) {
      repeater_.reset();
    } else if (repeater_.due(now_, timing.repeat_first, timing.repeat_cap)) {
      this->feed(io, [&](sync::Actions& out) { machine_.on_tick(out); });
    }
  }

  Repeater repeater_;
  std::uint64_t last_sign_ = 0, owed_mark_ = 0;
  Time owed_since_;
};

}  // namespace vccl::detail
