// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The receiving half of a queue pair: requests in order, placement, acknowledgements and NAKs.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/network.hpp>
#include <vccl/transport/soft/queue_actions.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace vccl::soft {

/// Answers to the QP's peer about packet `psn`.
inline std::uint32_t make_answer(Core& core, QueuePair const& qp, Op op, std::uint32_t psn) {
  std::uint32_t const n = core.packets.take();
  Packet& p = core.packets[n];
  p.op = op;
  p.from_port = qp.port;
  p.to_port = qp.peer.port;
  p.from_gid = qp.gid;
  p.to_gid = qp.peer.gid;
  p.from_qp = qp.number;
  p.to_qp = qp.peer.number;
  p.psn = psn;
  return n;
}

inline void answer(Core& core, QueuePair const& qp, Syndrome what, std::uint32_t psn) {
  std::uint32_t const n = make_answer(core, qp, Op::acknowledge, psn);
  core.packets[n].syndrome = what;
  core.packets[n].rnr_code = qp.min_rnr_timer;
  send(core, n);
}

/// A request that must not be carried out: NAK, and this QP goes to ERR too, which its host learns
/// by an event (IBTA vol. 1, 9.9.3.1 class C errors; 11.6.3.2).
inline void refuse(Core& core, QueuePair& qp, Syndrome why) {
  answer(core, qp, why, qp.expected);
  to_error(core, qp);
  raise(core, qp.port, PortEvent::Kind::qp_fatal, qp.number);
}

/// The region that a request may use, or null. Checked against the whole message, once per packet.
inline Region* target(Core& core, QueuePair const& qp, Packet const& p) noexcept {
  Region* const r = core.regions.remote(p.key, qp.port);
  return r != nullptr && r->covers(p.remote - p.offset, p.message) ? r : nullptr;
}

/// Places the bytes of a request: relaxed memory may get them later, in any order.
inline void place(Core& core, QueuePair const& qp, Region const& r, std::uint64_t address,
                  Payload const& p) {
  Port& port = core.ports[qp.port];
  if (core.config.relaxed_ordering && r.relaxed && r.computed == nullptr) {
    port.loose.hold(r, address, p);
    return port.loose.land(core.noise.below(port.loose.size() + 1), core.noise, port.bus);
  }
  port.loose.land_all(core.noise, port.bus);
  write_region(r, address, p, port.bus);
}

/// Sends the bytes that a read asked for, with the PSNs that it has reserved.
inline void serve_read(Core& core, QueuePair& qp, Packet const& request) {
  Region const* const r = target(core, qp, request);
  if (r == nullptr || !r->remote_read) return refuse(core, qp, Syndrome::access_error);
  Port& port = core.ports[qp.port];
  port.loose.land_all(core.noise, port.bus);
  port.bus.drain();
  std::uint64_t const length = request.message - request.offset;
  std::uint64_t const step = train_packets(core, port, request.mtu);
  std::uint32_t const psn = request.psn;
  std::uint64_t const mtu = request.mtu;
  std::uint64_t const count = request.count;
  Payload const all = length == 0 ? Payload{} : read_region(*r, request.remote, length);
  for (std::uint64_t done = 0; done < count; done += step) {
    std::uint64_t const now = std::min(step, count - done);
    std::uint32_t const n = make_answer(core, qp, Op::read_response, psn_add(psn, done));
    core.packets[n].count = static_cast<std::uint32_t>(now);
    core.packets[n].payload = all.part(done * mtu, std::min(now * mtu, length - done * mtu));
    send(core, n);
  }
}

/// Carries out the next write in order. `count` packets of it are new; the last of them may find no
/// receive for its immediate and is then asked for again.
inline void take_write(Core& core, QueuePair& qp, Packet const& p) {
  bool const notify = p.has_immediate;
  bool const ready = !notify || qp.next_receive != qp.receives.tail();
  std::uint64_t const taken = ready ? p.count : p.count - 1;
  std::uint64_t const bytes = std::min(p.payload.length, taken * p.mtu);
  if (p.message != 0) {  // an empty write needs no key (IBTA vol. 1, 9.7.4.1.5)
    Region const* const r = target(core, qp, p);
    if (r == nullptr || !r->remote_write) return refuse(core, qp, Syndrome::access_error);
    place(core, qp, *r, p.remote, p.payload.part(0, bytes));
  }
  qp.expected = psn_add(qp.expected, taken);
  if (!ready) return answer(core, qp, Syndrome::receiver_not_ready, qp.expected);
  std::uint32_t const acked = psn_add(qp.expected, psn_mask);
  if (notify) {
    Completion c;
    c.kind = Completion::Kind::received_with_immediate;
    c.immediate = wire_order(p.immediate);
    c.bytes = static_cast<std::uint32_t>(p.message);
    complete_receive(core, qp, c);
    if (qp.state == QpState::err) return;
  }
  answer(core, qp, Syndrome::ack, acked);
}

/// Carries out the next send in order, into the oldest receive. One that is too small completes
/// with a length error and the sender's request is invalid (IBTA vol. 1, 9.9.3.1).
inline void take_send(Core& core, QueuePair& qp, Packet const& p) {
  if (qp.next_receive == qp.receives.tail()) {
    return answer(core, qp, Syndrome::receiver_not_ready, qp.expected);
  }
  ReceiveEntry const& into = qp.receives[qp.next_receive];
  Completion c;
  c.kind = Completion::Kind::received;
  c.bytes = static_cast<std::uint32_t>(p.message);
  Region const* r = nullptr;
  if (p.message > into.length) {
    c.status = Status::local_length;
  } else if (p.message != 0) {
    r = core.regions.local(into.key, qp.port);
    if (r == nullptr || !r->covers(into.address, p.message)) c.status = Status::local_protection;
  }
  if (c.status != Status::success) {
    answer(core, qp,
           c.status == Status::local_length ? Syndrome::invalid_request : Syndrome::operation_error,
           qp.expected);
    complete_receive(core, qp, c);
    return to_error(core, qp);
  }
  if (r != nullptr) place(core, qp, *r, into.address + p.offset, p.payload);
  std::uint32_t const acked = psn_add(qp.expected, p.count - 1);
  qp.expected = psn_add(qp.expected, p.count);
  if (p.last) complete_receive(core, qp, c);
  if (qp.state != QpState::err) answer(core, qp, Syndrome::ack, acked);
}

/// Drops the first `n` packets of a train, which this end has already.
inline void drop_front(Packet& p, std::uint32_t n) noexcept {
  std::uint64_t const bytes = std::min(p.payload.length, n * p.mtu);
  p.psn = psn_add(p.psn, n);
  p.count -= n;
  p.offset += bytes;
  p.remote += bytes;
  p.payload = p.payload.part(bytes, p.payload.length - bytes);
}

/// Carries out a request that comes in order.
inline void take(Core& core, QueuePair& qp, Packet const& p) {
  qp.nak_sent = false;
  switch (p.op) {
    case Op::write:
      return take_write(core, qp, p);
    case Op::send:
      return take_send(core, qp, p);
    case Op::read_request:
      serve_read(core, qp, p);
      if (qp.state != QpState::err) qp.expected = psn_add(qp.expected, p.count);
      return;
    case Op::read_response:
    case Op::acknowledge:
      return;
  }
}

/// Adaptive routing: a plain write beyond a gap is placed at once, anything else waits for its
/// turn.
inline void take_early(Core& core, QueuePair& qp, Packet const& p) {
  for (EarlyPacket const& e : qp.early) {
    if (e.packet.psn == p.psn) return;
  }
  bool const plain = p.op == Op::write && !p.has_immediate;
  if (plain && p.message != 0) {
    Region const* const r = target(core, qp, p);
    if (r == nullptr || !r->remote_write) return;  // refused when its turn comes
    place(core, qp, *r, p.remote, p.payload);
  }
  EarlyPacket& e = qp.early.emplace_back();
  e.placed = plain;
  e.packet = p;
  if (plain) {
    e.packet.payload = {};
    e.packet.buffer.clear();
  } else if (e.packet.payload.computed == nullptr && e.packet.payload.length != 0) {
    e.packet.buffer.assign(p.payload.bytes, p.payload.bytes + p.payload.length);
    e.packet.payload.bytes = e.packet.buffer.data();
  }
}

/// Carries out what was early and is now in order.
inline void take_next(Core& core, QueuePair& qp) {
  for (std::size_t i = 0; i < qp.early.size();) {
    std::uint32_t const ahead = psn_distance(qp.expected, qp.early[i].packet.psn);
    if (ahead != 0 && ahead < psn_half) {
      ++i;
      continue;
    }
    std::swap(qp.early[i], qp.early.back());
    EarlyPacket const e = std::move(qp.early.back());
    qp.early.pop_back();
    if (ahead == 0 && e.placed) {
      std::uint32_t const last = psn_add(qp.expected, e.packet.count - 1);
      qp.expected = psn_add(qp.expected, e.packet.count);
      answer(core, qp, Syndrome::ack, last);
    } else if (ahead == 0) {
      take(core, qp, e.packet);
      if (qp.state == QpState::err) return;
    }
    i = 0;
  }
}

/// A request of the peer (IBTA vol. 1, 9.7.1 and 9.7.4): in order it is carried out; a duplicate is
/// acknowledged again and not carried out (a read is); beyond a gap there is one NAK, and it is
/// dropped.
inline void on_request(Core& core, QueuePair& qp, Packet& p) {
  std::uint32_t const ahead = psn_distance(qp.expected, p.psn);
  if (ahead == 0) {
    take(core, qp, p);
    if (!qp.early.empty() && qp.state != QpState::err) take_next(core, qp);
    return;
  }
  if (ahead < psn_half && core.adaptive_routing) {
    if (ahead < early_window) take_early(core, qp, p);
    return;
  }
  if (ahead < psn_half) {
    if (!qp.nak_sent) answer(core, qp, Syndrome::sequence_error, qp.expected);
    qp.nak_sent = true;
    return;
  }
  if (p.op == Op::read_request) return serve_read(core, qp, p);
  std::uint32_t const known = psn_mask + 1 - ahead;
  if (known < p.count) {
    drop_front(p, known);
    return take(core, qp, p);
  }
  answer(core, qp, Syndrome::ack, psn_add(qp.expected, psn_mask));
}

}  // namespace vccl::soft
