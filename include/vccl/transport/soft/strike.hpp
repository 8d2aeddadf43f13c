// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Carries out faults that are done to ports and hosts rather than to packets and calls.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/port_actions.hpp>
#include <vccl/transport/soft/queue_actions.hpp>

#include <cstdint>

namespace vccl::soft {

/// All QPs of a port to ERR without a completion: what they held is gone without a word, an event
/// tells (IBTA vol. 1, 11.6.3.2).
inline void kill_queue_pairs(Core& core, Port const& port) {
  for (Lane& lane : core.lanes) {
    if (lane.port != port.index) continue;
    for (QueuePair* qp : lane.qps) {
      if (qp->loopback || qp->state == QpState::reset || qp->state == QpState::err) continue;
      abandon(*qp);
      raise(core, port.index, PortEvent::Kind::qp_fatal, qp->number);
    }
  }
}

/// All CQs of a port break: no further completion, QPs to ERR, one event.
inline void break_completion_queues(Core& core, Port const& port) {
  for (Lane& lane : core.lanes) {
    if (lane.port != port.index || lane.qps.empty()) continue;
    lane.overrun = true;
    for (QueuePair* qp : lane.qps) to_error(core, *qp);
  }
  raise(core, port.index, PortEvent::Kind::cq_error);
}

inline void strike_port(Core& core, Port& port, Fault const& f, bool over) {
  switch (f.action) {
    case Action::link_down:
      return over ? link_up(core, port) : link_down(core, port);
    case Action::link_up:
      return link_up(core, port);
    case Action::link_speed:
      port.speed = f.rate;
      return;
    case Action::link_throttle:
      port.throttle = f.rate;
      return;
    case Action::link_latency:
      port.latency = f.by;
      return;
    case Action::gid_new:
      return gid_new(core, port);
    case Action::gid_remove:
      return gid_remove(core, port);
    case Action::gid_restore:
      return gid_restore(core, port);
    case Action::gid_move:
      return gid_move(core, port, f.index);
    case Action::device_fatal:
      return device_dies(core, port);
    case Action::device_returns:
      return device_returns(core, port);
    case Action::qp_fatal:
      return kill_queue_pairs(core, port);
    case Action::cq_error:
      return break_completion_queues(core, port);
    case Action::cq_mute:
      port.mute = !over;
      return;
    case Action::reset_breaks:
      port.reset_breaks = true;
      return;
    case Action::reset_works:
      port.reset_breaks = false;
      return;
    default:
      return;  // done to packets, calls and whole hosts elsewhere
  }
}

/// A fault begins, or is over.
inline void strike(Core& core, FaultEngine::Strike s) {
  Fault const& f = core.faults.fault(s.rule);
  // Each completion that a muted port loses counts, not the mute itself.
  if (!s.over && f.action != Action::cq_mute) core.faults.count(s.rule, 1);
  if (f.action == Action::kill) return kill_host(core, f.place.host);
  if (f.action == Action::revive) return revive_host(core, f.place.host);
  for (Port& port : core.ports) {
    if (core.faults.at(f.place, port.index)) strike_port(core, port, f, s.over);
  }
}

}  // namespace vccl::soft
