// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What happens to a queue pair: completions, failure, ERR, RESET, its timer, its turn on the
/// cable.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>

#include <cstdint>

namespace vccl::soft {

inline void raise(Core& core, std::uint32_t port, PortEvent::Kind kind, std::uint32_t qp_num = 0) {
  Port const& p = core.ports[port];
  HostState& host = core.hosts[p.host];
  if (host.alive) host.events.push_back({kind, PortId{p.number}, qp_num});
}

/// Lets the port look for something to send.
inline void wake(Core& core, Port& port) {
  if (port.ready) return;
  port.ready = true;
  core.ready.push(port.index);
}

/// Queues a QP for its port's cable.
inline void activate(Core& core, QueuePair& qp) {
  Port& port = core.ports[qp.port];
  if (!qp.queued) {
    qp.queued = true;
    port.egress.push(qp.slot);
  }
  wake(core, port);
}

/// Makes sure that an event looks at the QP's deadline.
inline void set_deadline(Core& core, QueuePair& qp, Time t) {
  qp.deadline = t;
  if (t >= qp.timer_at) return;
  qp.timer_at = t;
  core.events.push(t, Event::Kind::qp_timer, qp.slot, qp.number);
}

inline void to_error(Core& core, QueuePair& qp);

/// Puts a completion into the lane's CQ. A muted port loses it; a full CQ breaks (IBTA vol. 1,
/// 11.6.3.3): an event, all QPs of the CQ to ERR.
inline void complete(Core& core, QueuePair& qp, CompletionEntry e) {
  Lane& lane = core.lanes[qp.lane];
  Port& port = core.ports[qp.port];
  if (lane.overrun || port.fatal) return;
  port.loose.land_all(core.noise, port.bus);
  if (port.mute) {
    core.faults.count_muted(port.index);
    return;
  }
  e.qp = qp.slot;
  e.what.qp_num = qp.number;
  if (e.what.status != Status::success) spoil(e.what, core.noise);
  if (lane.cq.push(e)) return;
  lane.overrun = true;
  raise(core, qp.port, PortEvent::Kind::cq_error);
  for (QueuePair* other : lane.qps) to_error(core, *other);
}

inline void complete_send(Core& core, QueuePair& qp, std::uint64_t n, Status status) {
  SendEntry const& s = qp.sends[n];
  CompletionEntry e;
  e.what.id = s.request.id;
  e.what.status = status;
  e.what.kind = Completion::Kind::sent;
  e.what.vendor_error = status == Status::success ? 0 : 0x80u + static_cast<std::uint32_t>(status);
  e.what.bytes = static_cast<std::uint32_t>(s.request.length);
  e.retires = n + 1;
  complete(core, qp, e);
}

/// Completes the oldest unused receive.
inline void complete_receive(Core& core, QueuePair& qp, Completion what) {
  CompletionEntry e;
  e.what = what;
  e.what.id = qp.receives[qp.next_receive].id;
  e.what.vendor_error =
      what.status == Status::success ? 0 : 0x80u + static_cast<std::uint32_t>(what.status);
  e.of_receive = true;
  e.retires = ++qp.next_receive;
  complete(core, qp, e);
}

/// Completes flushed, in order, what the doorbell was rung for (IBTA vol. 1, 10.3.1.5).
inline void flush_sends(Core& core, QueuePair& qp) {
  while (qp.acked != qp.rung) complete_send(core, qp, qp.acked++, Status::flushed);
  qp.next = qp.rung;
}
inline void flush_receives(Core& core, QueuePair& qp) {
  Completion c;
  c.status = Status::flushed;
  while (qp.next_receive != qp.receives.tail()) complete_receive(core, qp, c);
}

/// To ERR: work flushes, packets that arrive are dropped. Nothing to do in RESET and ERR.
inline void to_error(Core& core, QueuePair& qp) {
  if (!may_go(qp.state, QpState::err) || qp.state == QpState::err) return;
  qp.state = QpState::err;
  qp.was_error = true;
  qp.rnr_wait = false;
  qp.deadline = never;
  flush_sends(core, qp);
  flush_receives(core, qp);
}

/// To ERR with nothing to show for it: what is outstanding is gone without a completion.
inline void abandon(QueuePair& qp) noexcept {
  qp.state = QpState::err;
  qp.was_error = true;
  qp.rnr_wait = false;
  qp.deadline = never;
  qp.acked = qp.next = qp.rung;
  qp.next_receive = qp.receives.tail();
}

/// The oldest outstanding request fails, the rest flushes (IBTA vol. 1, 10.8.6.1: completion
/// errors).
inline void fail(Core& core, QueuePair& qp, Status status) {
  if (qp.acked != qp.rung) complete_send(core, qp, qp.acked++, status);
  to_error(core, qp);
}

}  // namespace vccl::soft
