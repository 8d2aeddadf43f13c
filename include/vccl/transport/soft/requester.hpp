// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sending half of a queue pair: requests to packets, acknowledgements to completions, retries.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/network.hpp>
#include <vccl/transport/soft/queue_actions.hpp>

#include <algorithm>
#include <cstdint>

namespace vccl::soft {

[[nodiscard]] inline Duration retry_timeout(Core const& core, QueuePair const& qp) noexcept {
  return ack_timeout(qp.timeout) * core.config.timeout_percent / 100;
}

/// Restarts the retry timer if packets are outstanding, stops it otherwise. Timeout 0 is for ever.
inline void restart_timer(Core& core, QueuePair& qp, Time from) {
  bool const waits = qp.unacked < qp.next_packet && qp.timeout != 0;
  set_deadline(core, qp, waits ? from + retry_timeout(core, qp) : never);
}

/// Makes `packet` the next one to be sent.
inline void go_to(QueuePair& qp, std::uint64_t packet) noexcept {
  qp.next_packet = packet;
  qp.next = qp.acked;
  while (qp.next != qp.rung) {
    SendEntry const& s = qp.sends[qp.next];
    if (s.packets == 0 || packet < s.first + s.packets) break;
    ++qp.next;
  }
}

/// What is wrong with a request at this end (IBTA vol. 1, 10.8.3: local length, local protection
/// error).
[[nodiscard]] inline Status check_local(Core& core, QueuePair const& qp, WorkRequest const& w,
                                        Payload& payload, SendEntry const& s) noexcept {
  payload = {};
  if (w.length > core.config.max_message) return Status::local_length;
  if (w.length == 0 || qp.loopback) return Status::success;  // a flush read keeps nothing
  if (w.inlined) {
    payload = {s.inlined.get(), nullptr, 0, w.length};
    return Status::success;
  }
  Region const* const r = core.regions.local(w.keys.local, qp.port);
  if (r == nullptr || !r->covers(w.local, w.length)) return Status::local_protection;
  payload = read_region(*r, w.local, w.length);
  return Status::success;
}

/// Sends the next train of a QP. False when it has nothing that may be sent now.
inline bool transmit(Core& core, QueuePair& qp) {
  if (qp.state != QpState::rts || qp.rnr_wait || qp.next == qp.rung) return false;
  SendEntry& s = qp.sends[qp.next];
  WorkRequest const& w = s.request;
  Payload payload;
  if (Status const bad = check_local(core, qp, w, payload, s); bad != Status::success) {
    // Completions come in order: what was sent before is waited for.
    if (qp.acked == qp.next) fail(core, qp, bad);
    return false;
  }
  if (s.packets == 0) {
    s.first = qp.next_packet;
    s.packets = std::max<std::uint64_t>(1, (w.length + qp.mtu - 1) / qp.mtu);
  }
  bool const read = w.kind == WorkRequest::Kind::read;
  Port& port = core.ports[qp.port];
  std::uint64_t const done = qp.next_packet - s.first;
  std::uint64_t const flying = qp.next_packet - qp.unacked;
  std::uint64_t const window = std::min<std::uint64_t>(
      core.adaptive_routing ? early_window : psn_half - 1, core.config.max_in_flight / qp.mtu);
  std::uint64_t n = s.packets - done;
  if (!read)
    n = std::min({n, train_packets(core, port, qp.mtu),
                  std::max<std::uint64_t>(1, window - std::min(window, flying))});
  if (flying != 0 && flying + n > window) return false;
  bool const again = qp.next_packet < qp.highest;
  if (again && !read) n = std::min(n, qp.highest - qp.next_packet);

  std::uint32_t const index = core.packets.take();
  Packet& p = core.packets[index];
  p.op = read ? Op::read_request : w.kind == WorkRequest::Kind::send ? Op::send : Op::write;
  p.traffic = w.traffic;
  p.again = again;
  p.from_port = qp.port;
  p.to_port = qp.peer.port;
  p.from_gid = qp.gid;
  p.to_gid = qp.peer.gid;
  p.from_qp = qp.number;
  p.to_qp = qp.peer.number;
  p.psn = qp.psn_of(qp.next_packet);
  p.count = static_cast<std::uint32_t>(n);
  p.key = w.keys.remote;
  p.message = w.length;
  p.offset = done * qp.mtu;
  p.remote = w.remote + p.offset;
  p.mtu = qp.mtu;
  p.last = done + n == s.packets;
  p.has_immediate = p.last && w.kind == WorkRequest::Kind::write_with_immediate;
  p.immediate = wire_order(w.immediate);
  std::uint64_t const bytes = std::min(n * qp.mtu, w.length - p.offset);
  if (!read) p.payload = payload.part(p.offset, bytes);

  bool step = false;
  if (w.traffic == Traffic::data && !qp.loopback) {
    (again ? port.stats.data_bytes_again : port.stats.data_bytes) += read ? 0 : bytes;
    if (p.last && !again) {
      ++qp.messages;
      step = p.has_immediate;
    }
  }
  qp.next_packet += n;
  qp.highest = std::max(qp.highest, qp.next_packet);
  if (p.last) ++qp.next;
  Time const left = send(core, index);
  if (qp.deadline == never) restart_timer(core, qp, left);
  if (step) {
    ++port.stats.steps;
    core.faults.on_step(port.index, core.now(), core.events);
  }
  return qp.next != qp.rung;
}

/// Sends what a port's QPs have, in turn, until the cable is busy.
inline void transmit_port(Core& core, Port& port) {
  port.ready = false;
  while (!port.egress.empty()) {
    if (port.free_at > core.now()) {
      if (!port.waiting) core.events.push(port.free_at, Event::Kind::port_free, port.index);
      port.waiting = true;
      return;
    }
    QueuePair* const qp = core.qps.at(port.egress.pop());
    if (qp == nullptr || !qp->queued) continue;
    qp->queued = false;
    if (transmit(core, *qp)) {
      qp->queued = true;
      port.egress.push(qp->slot);
    }
    if ((!core.arrivals.empty() || core.faults.has_struck()) && !port.egress.empty()) {
      wake(core, port);  // what has arrived or struck goes first
      return;
    }
  }
}

/// Takes everything before packet `upto` as acknowledged and completes what is done. An answer to
/// later work also says that an unanswered read was lost (IBTA vol. 1, 9.7.5.1.2: implied NAK).
inline void acknowledge(Core& core, QueuePair& qp, std::uint64_t upto) {
  if (upto <= qp.unacked) return;
  bool lost_read = false;
  std::uint64_t reached = upto;
  while (qp.acked != qp.rung) {
    SendEntry const& s = qp.sends[qp.acked];
    if (s.packets == 0 || s.first >= upto) break;
    if (s.request.kind == WorkRequest::Kind::read) {
      lost_read = true;
      reached = std::max(s.first, qp.unacked);
      break;
    }
    if (upto < s.first + s.packets) break;
    bool const tell = s.request.signaled;
    std::uint64_t const n = qp.acked++;
    if (tell) complete_send(core, qp, n, Status::success);
    if (qp.state != QpState::rts) return;
  }
  if (reached > qp.unacked) {
    qp.unacked = reached;
    qp.retries = qp.retry_count;
    qp.rnr_retries = qp.rnr_retry;
  }
  if (lost_read || qp.next_packet < qp.unacked) go_to(qp, qp.unacked);
  if (!qp.rnr_wait) restart_timer(core, qp, core.now());
  if (qp.next != qp.rung) activate(core, qp);
}

/// Counts a retry and sends again from the oldest unacknowledged packet (go back N), or gives up.
inline void retry(Core& core, QueuePair& qp) {
  bool const for_ever = core.config.seven_retries_for_ever && qp.retry_count == 7;
  if (qp.retries == 0 && !for_ever) {
    fail(core, qp, Status::retry_exceeded);
    return;
  }
  if (!for_ever) --qp.retries;
  go_to(qp, qp.unacked);
  set_deadline(core, qp, never);
  activate(core, qp);
}

/// A read response: only the one that comes next counts.
inline void on_read_response(Core& core, QueuePair& qp, Packet const& p, std::uint64_t packet) {
  if (packet > qp.unacked) {
    go_to(qp, qp.unacked);
    activate(core, qp);
    return;
  }
  if (packet < qp.unacked || qp.acked == qp.rung) return;
  SendEntry const& s = qp.sends[qp.acked];
  if (s.request.kind != WorkRequest::Kind::read || s.packets == 0 || packet < s.first) return;
  if (!qp.loopback) {
    Region const* const r = core.regions.local(s.request.keys.local, qp.port);
    std::uint64_t const at = s.request.local + (packet - s.first) * qp.mtu;
    if (r == nullptr || !r->covers(at, p.payload.length)) {
      fail(core, qp, Status::local_protection);
      return;
    }
    write_region(*r, at, p.payload, core.ports[qp.port].bus);
  }
  qp.unacked = packet + p.count;
  qp.retries = qp.retry_count;
  if (qp.unacked == s.first + s.packets) {
    bool const tell = s.request.signaled;
    std::uint64_t const n = qp.acked++;
    if (tell) complete_send(core, qp, n, Status::success);
    if (qp.state != QpState::rts) return;
  }
  if (qp.next_packet < qp.unacked) go_to(qp, qp.unacked);
  restart_timer(core, qp, core.now());
  if (qp.next != qp.rung) activate(core, qp);
}

/// An answer from the peer: ACK, NAK or read response. One about packets that are not outstanding
/// is a ghost and is dropped (IBTA vol. 1, 9.7.5.1.3).
inline void on_answer(Core& core, QueuePair& qp, Packet const& p) {
  std::uint64_t const packet = qp.packet_of(p.psn);
  if (packet >= qp.highest || packet < qp.unacked) return;
  if (p.op == Op::read_response) return on_read_response(core, qp, p, packet);
  switch (p.syndrome) {
    case Syndrome::ack:
      return acknowledge(core, qp, packet + 1);
    case Syndrome::receiver_not_ready:
      acknowledge(core, qp, packet);
      if (qp.state != QpState::rts || qp.unacked != packet || qp.rnr_wait) return;
      if (qp.rnr_retry != 7) {  // 7 is for ever (IBTA vol. 1, 9.7.5.2.8)
        if (qp.rnr_retries == 0) return fail(core, qp, Status::rnr_retry_exceeded);
        --qp.rnr_retries;
      }
      go_to(qp, packet);
      qp.rnr_wait = true;
      return set_deadline(core, qp, core.now() + rnr_timer(p.rnr_code));
    case Syndrome::sequence_error:
      acknowledge(core, qp, packet);
      if (qp.state == QpState::rts && qp.unacked == packet && !qp.rnr_wait) retry(core, qp);
      return;
    case Syndrome::invalid_request:
    case Syndrome::access_error:
    case Syndrome::operation_error:
      acknowledge(core, qp, packet);
      if (qp.state != QpState::rts || qp.unacked != packet) return;
      return fail(core, qp,
                  p.syndrome == Syndrome::invalid_request ? Status::remote_invalid_request
                  : p.syndrome == Syndrome::access_error  ? Status::remote_access
                                                          : Status::remote_operation);
  }
}

/// Looks at a QP's deadline.
inline void on_qp_timer(Core& core, Event const& e) {
  QueuePair* const qp = core.qps.at(e.subject);
  if (qp == nullptr || qp->number != e.detail || qp->timer_at != e.at) return;
  qp->timer_at = never;
  if (qp->deadline > core.now()) return set_deadline(core, *qp, qp->deadline);
  if (qp->rnr_wait) {
    qp->rnr_wait = false;
    set_deadline(core, *qp, never);
    activate(core, *qp);
  } else {
    retry(core, *qp);
  }
}

}  // namespace vccl::soft
