// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Which faults are in force, and what they do to packets, messages, calls and fences. What a fault
/// does to ports and hosts is handed out by take_struck(); engine.hpp does it.

#include <vccl/concepts.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>
#include <vccl/transport/soft/event_queue.hpp>
#include <vccl/transport/soft/fault.hpp>
#include <vccl/transport/soft/packet.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace vccl::soft {

/// What becomes of a packet.
struct PacketFate {
  bool lost = false;
  bool copy = false;
  Duration later{};
  Duration copy_after{};
  Time not_before{INT64_MIN};
};

/// What becomes of a message of the bootstrap network.
struct MessageFate {
  bool lost = false;
  Time at;
};

/// What becomes of a fence.
struct FenceFate {
  bool fails = false;
  bool hangs = false;
  Duration takes{};
};

[[nodiscard]] constexpr PacketKind kind_of(Packet const& p) noexcept {
  if (p.op == Op::acknowledge || p.op == Op::read_response) return PacketKind::ack;
  return p.traffic == Traffic::data  ? PacketKind::data
         : p.traffic == Traffic::cts ? PacketKind::cts
                                     : PacketKind::control;
}

/// Rules are numbered in the order in which they were given.
class FaultEngine {
 public:
  FaultEngine(std::size_t ports_per_host, std::uint64_t seed) noexcept
      : ports_per_host_{static_cast<std::uint32_t>(ports_per_host)}, chance_{mix(seed)} {}

  /// A fault given at `now`. If it begins later, an event of kind fault (subject: rule, detail 0)
  /// asks.
  void add(Fault const& f, Time now, EventQueue& events) {
    std::uint32_t const n = static_cast<std::uint32_t>(rules_.size());
    rules_.push_back({f, f.at.ns != 0, f.after_step != 0, false, never, 0, 0, 0});
    if (f.after_step != 0) stepped_.push_back(n);
    if (f.at.ns != 0) {
      events.push(now + f.at, Event::Kind::fault, n);
    } else {
      begin_if_ready(n, now, events);
    }
  }

  /// An event of a rule: 0 its time has come, 1 it is over.
  void on_event(Event const& e, EventQueue& events) {
    Rule& r = rules_[e.subject];
    if (e.detail == 0) {
      r.waits_time = false;
      begin_if_ready(e.subject, e.at, events);
    } else if (r.active) {
      r.active = false;
      if (!soft::picks_packets(r.fault.action)) struck_.push({e.subject, true});
      forget_ended();
    }
  }

  /// A step of that port is on the wire.
  void on_step(std::uint32_t port, Time now, EventQueue& events) {
    if (stepped_.empty()) return;
    for (std::uint32_t n : stepped_) {
      Rule& r = rules_[n];
      if (r.waits_step && at(r.fault.step_place, port) && ++r.steps >= r.fault.after_step) {
        r.waits_step = false;
        begin_if_ready(n, now, events);
      }
    }
    std::erase_if(stepped_, [this](std::uint32_t n) { return !rules_[n].waits_step; });
  }

  /// Something to do to a port or host: the rule, and whether it is over rather than begins.
  struct Strike {
    std::uint32_t rule = 0;
    bool over = false;
  };
  [[nodiscard]] bool has_struck() const noexcept { return !struck_.empty(); }
  Strike take_struck() noexcept { return struck_.pop(); }
  [[nodiscard]] Fault const& fault(std::uint32_t rule) const noexcept { return rules_[rule].fault; }

  /// Whether single packets of that port count, so that trains would be wrong.
  [[nodiscard]] bool picks_packets(std::uint32_t port) const noexcept {
    for (std::uint32_t n : on_packets_) {
      Fault const& f = rules_[n].fault;
      bool const spent = f.count != 0 && rules_[n].fired >= f.count;
      if (f.packets != PacketKind::oob && !spent && at(f.place, port)) return true;
    }
    return false;
  }

  [[nodiscard]] PacketFate on_packet(Packet const& p) noexcept {
    PacketFate fate;
    for (std::uint32_t const n : on_packets_) {
      Rule& r = rules_[n];
      Fault const& f = r.fault;
      if ((f.packets != PacketKind::any && f.packets != kind_of(p)) || !at(f.place, p.from_port))
        continue;
      if (!picked(r)) continue;
      count(n, p.count);
      switch (f.action) {
        case Action::drop:
          fate.lost = true;
          break;
        case Action::delay:
          fate.later = fate.later + f.by;
          break;
        case Action::reorder:
          fate.later = fate.later + Duration{1 + static_cast<std::int64_t>(chance_.below(
                                                     static_cast<std::uint64_t>(f.by.ns)))};
          break;
        case Action::duplicate:
          fate.copy = true;
          fate.copy_after = f.by;
          break;
        default:
          fate.not_before = std::max(fate.not_before, r.ends);
          break;
      }
    }
    return fate;
  }

  /// A message from a host that would arrive at `arrives`. Pipes keep order and never double a
  /// message, so only drop, delay and hold do something.
  [[nodiscard]] MessageFate on_message(std::uint32_t host, Time arrives) noexcept {
    MessageFate fate{false, arrives};
    for (std::uint32_t const n : on_packets_) {
      Rule& r = rules_[n];
      Fault const& f = r.fault;
      if (f.packets != PacketKind::oob || (f.place.host != Place::all && f.place.host != host) ||
          !picked(r))
        continue;
      count(n, 1);
      if (f.action == Action::drop) fate.lost = true;
      if (f.action == Action::delay) fate.at = fate.at + f.by;
      if (f.action == Action::hold) fate.at = std::max(fate.at, r.ends);
    }
    return fate;
  }

  /// The errno that a call gives, 0 for none. Calls are counted by rule, from its beginning on.
  [[nodiscard]] int on_call(Call call, std::uint32_t port) noexcept {
    for (std::uint32_t const n : on_calls_) {
      Rule& r = rules_[n];
      Fault const& f = r.fault;
      if (f.action != Action::call_fails || f.call != call || !at(f.place, port)) continue;
      ++r.seen;
      if (r.seen < f.first || (f.last != 0 && r.seen > f.last)) continue;
      count(n, 1);
      return f.error;
    }
    return 0;
  }

  [[nodiscard]] FenceFate on_fence(std::uint32_t port, FenceStep step) noexcept {
    FenceFate fate;
    for (std::uint32_t const n : on_calls_) {
      Rule& r = rules_[n];
      Fault const& f = r.fault;
      if (f.action == Action::call_fails || !at(f.place, port)) continue;
      if (f.steps != FenceSteps::both &&
          (f.steps == FenceSteps::error) != (step == FenceStep::error))
        continue;
      if (f.count != 0 && r.fired == f.count) continue;
      count(n, 1);
      fate.fails = fate.fails || f.action == Action::fence_fails;
      fate.hangs = fate.hangs || f.action == Action::fence_hangs;
      fate.takes = std::max(fate.takes, f.by);
    }
    return fate;
  }

  /// A muted port has lost a completion.
  void count_muted(std::uint32_t port) noexcept {
    for (std::uint32_t n = 0; n < rules_.size(); ++n) {
      Rule const& r = rules_[n];
      if (r.active && r.fault.action == Action::cq_mute && at(r.fault.place, port)) count(n, 1);
    }
  }
  /// A strike has been carried out.
  void count(std::uint32_t rule, std::uint64_t times) noexcept {
    rules_[rule].fired += times;
    fired_[static_cast<std::size_t>(rules_[rule].fault.action)] += times;
  }
  [[nodiscard]] std::uint64_t fired(Action a) const noexcept {
    return fired_[static_cast<std::size_t>(a)];
  }
  [[nodiscard]] std::size_t rules() const noexcept { return rules_.size(); }
  [[nodiscard]] std::uint64_t fired_by_rule(std::size_t n) const noexcept {
    return n < rules_.size() ? rules_[n].fired : 0;
  }

  /// Whether a port (over all hosts) is in a place.
  [[nodiscard]] bool at(Place place, std::uint32_t port) const noexcept {
    return place.holds(port / ports_per_host_, port % ports_per_host_);
  }

 private:
  struct Rule {
    Fault fault;
    bool waits_time = false;
    bool waits_step = false;
    bool active = false;
    Time ends = never;
    std::uint64_t steps = 0;
    std::uint64_t seen = 0;
    std::uint64_t fired = 0;
  };

  void begin_if_ready(std::uint32_t n, Time now, EventQueue& events) {
    Rule& r = rules_[n];
    if (r.waits_time || r.waits_step) return;
    Fault const& f = r.fault;
    r.active = true;
    if (f.lasts.ns != 0) {
      r.ends = now + f.lasts;
      events.push(r.ends, Event::Kind::fault, n, 1);
    }
    if (soft::picks_packets(f.action)) {
      on_packets_.push_back(n);
    } else if (f.action >= Action::fence_takes && f.action <= Action::call_fails) {
      on_calls_.push_back(n);
    } else {
      struck_.push({n, false});
    }
  }

  /// Whether a rule picks this packet, which matches it.
  bool picked(Rule& r) noexcept {
    Fault const& f = r.fault;
    if (f.count != 0 && r.fired >= f.count) return false;
    std::uint64_t const n = r.seen++;
    if (n < f.after_packet || (n - f.after_packet) % f.every != 0) return false;
    return f.chance == Fault::always || chance_.below(Fault::always) < f.chance;
  }

  void forget_ended() {
    std::erase_if(on_packets_, [this](std::uint32_t n) { return !rules_[n].active; });
  }

  std::uint32_t ports_per_host_;
  Random chance_;
  std::deque<Rule> rules_;
  std::vector<std::uint32_t> stepped_;     ///< Rules that wait for a step.
  std::vector<std::uint32_t> on_packets_;  ///< Active rules that pick packets or messages.
  std::vector<std::uint32_t> on_calls_;    ///< Active rules about calls and fences.
  Ring<Strike> struck_;
  std::array<std::uint64_t, actions> fired_{};
};

}  // namespace vccl::soft
