// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Makes happen what is due: packets arrive, ports send, timers run out, faults strike.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/network.hpp>
#include <vccl/transport/soft/port_actions.hpp>
#include <vccl/transport/soft/requester.hpp>
#include <vccl/transport/soft/responder.hpp>
#include <vccl/transport/soft/strike.hpp>

#include <cstdint>

namespace vccl::soft {

/// A packet reaches a port: the QP that it is for, if it is there, takes it. A QP takes packets of
/// its own peer only (IBTA vol. 1, 9.6.1.5), requests from RTR on, answers in RTS (10.3.1).
inline void arrive(Core& core, std::uint32_t n) {
  Packet& p = core.packets[n];
  Port& to = core.ports[p.to_port];
  if (!core.hosts[to.host].alive || !reachable(core, core.ports[p.from_port], to, p))
    return lose(core, n);
  QueuePair* const qp = core.qps.find(p.to_qp);
  bool const answer = p.op == Op::acknowledge || p.op == Op::read_response;
  bool const wanted = qp != nullptr && qp->port == p.to_port &&
                      qp->peer == QpPeer{p.from_port, p.from_gid, p.from_qp} &&
                      (qp->state == QpState::rts || (!answer && qp->state == QpState::rtr));
  (wanted ? to.stats.packets_delivered : to.stats.packets_ignored) += p.count;
  if (wanted) {
    if (answer) {
      on_answer(core, *qp, p);
    } else {
      on_request(core, *qp, p);
    }
  }
  core.packets.give_back(n);
}

inline void handle(Core& core, Event const& e) {
  switch (e.kind) {
    case Event::Kind::packet:
      return core.arrivals.push(e.subject);
    case Event::Kind::qp_timer:
      return on_qp_timer(core, e);
    case Event::Kind::port_free:
      core.ports[e.subject].waiting = false;
      return wake(core, core.ports[e.subject]);
    case Event::Kind::wire:
      return core.wire.deliver(e.subject);
    case Event::Kind::fence: {
      Lane& lane = core.lanes[e.subject];
      if (lane.serial != e.detail || !lane.fencing) return;
      lane.fencing = false;
      lane.fenced[lane.step == FenceStep::reset ? 1 : 0] = true;
      return apply_fence(core, lane, lane.step);
    }
    case Event::Kind::fault:
      return core.faults.on_event(e, core.events);
  }
}

/// Everything that is due at core.now(), and what follows from it at once.
inline void run_due(Core& core) {
  for (;;) {
    if (core.faults.has_struck()) {
      strike(core, core.faults.take_struck());
    } else if (!core.arrivals.empty()) {
      arrive(core, core.arrivals.pop());
    } else if (!core.ready.empty()) {
      transmit_port(core, core.ports[core.ready.pop()]);
    } else if (core.events.due(core.now())) {
      handle(core, core.events.pop());
    } else {
      return;
    }
  }
}

/// Before looking at something: a real clock catches up, if something may be due. Nothing runs by
/// itself; each call of a lane or host does this first.
inline void catch_up(Core& core) {
  if (!core.config.virtual_time && !core.events.empty()) core.set_now(monotonic_now());
  if (core.events.due(core.now())) run_due(core);
}

/// Before doing something that takes its time from the clock.
inline void read_clock(Core& core) {
  if (!core.config.virtual_time) core.set_now(monotonic_now());
  if (core.events.due(core.now())) run_due(core);
}

/// Drops timers from the front that were stopped or set to later, so that the front is real.
inline void skip_stale(Core& core) {
  while (!core.events.empty() && core.events.top().kind == Event::Kind::qp_timer) {
    Event const e = core.events.top();
    QueuePair* const qp = core.qps.at(e.subject);
    bool const known = qp != nullptr && qp->number == e.detail && qp->timer_at == e.at;
    if (known && qp->deadline <= e.at) return;
    core.events.pop();
    if (!known) continue;
    qp->timer_at = never;
    set_deadline(core, *qp, qp->deadline);
  }
}

}  // namespace vccl::soft
