// SPDX-License-Identifier: Apache-2.0
// Work requests and completions.
#include <support/emulated_verbs/machine.hpp>
#include <vccl/detail/work.hpp>
#include <vccl/transport/soft/engine.hpp>

#include <cerrno>
#include <cstring>

namespace vccl::test::emulated {

namespace {

/// What a request is for, as its id says where the library made it.
Traffic traffic_of(ibv_send_wr const& w) {
  if (w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) return Traffic::data;
  detail::Work const work = detail::unpack_work(w.wr_id).work;
  if (work == detail::Work::cts) return Traffic::cts;
  bool const control = work == detail::Work::control || work == detail::Work::probe;
  return control || w.opcode == IBV_WR_RDMA_READ ? Traffic::control : Traffic::data;
}

/// 0: none of ours.
WorkRequest::Kind kind_of(ibv_wr_opcode o, bool& known) {
  known = true;
  if (o == IBV_WR_RDMA_WRITE) return WorkRequest::Kind::write;
  if (o == IBV_WR_RDMA_WRITE_WITH_IMM) return WorkRequest::Kind::write_with_immediate;
  if (o == IBV_WR_RDMA_READ) return WorkRequest::Kind::read;
  known = o == IBV_WR_SEND;
  return WorkRequest::Kind::send;
}

template <class Request>
int length_of(Request const* chain) {
  int n = 0;
  for (; chain != nullptr; chain = chain->next) ++n;
  return n;
}

}  // namespace

/// What no program may post, though a device may take it.
void Machine::check_send(Pair& p, soft::QueuePair const& qp, ibv_send_wr const& w) {
  bool const inlined = (w.send_flags & IBV_SEND_INLINE) != 0;
  if (w.num_sge == 1 && w.sg_list->length != 0 && !inlined) {
    for (auto const& b : blocks_) {
      if (b->lkey != w.sg_list->lkey || b->context != p.context) continue;
      if (b->alive && b->pd != p.pd) violation("post_send with the local key of another PD");
    }
  }
  for (auto const& b : blocks_) {
    bool const named = w.num_sge == 1 && w.sg_list->length != 0 && w.opcode != IBV_WR_SEND &&
                       b->keys.remote == w.wr.rdma.rkey && b->keys.remote != 0 &&
                       qp.peer.gid != 0;  // Else there is no peer.
    if (named && b->card != &device_of(qp.peer.port))
      violation("post_send with a remote key of another device than the peer's");
  }
  for (auto const& far : pairs_) {
    if (!far->alive || far->gone || far->qp_num != qp.peer.number) continue;
    unsigned const needed = w.opcode == IBV_WR_RDMA_READ ? unsigned{IBV_ACCESS_REMOTE_READ}
                            : w.opcode == IBV_WR_SEND    ? 0u
                                                         : unsigned{IBV_ACCESS_REMOTE_WRITE};
    bool const connected = far->state == IBV_QPS_RTR || far->state == IBV_QPS_RTS;
    if (connected && (far->access & needed) != needed)
      violation("post_send of what the peer's QP does not let in");
  }
}

int Machine::take_send(Pair& p, soft::QueuePair& qp, ibv_send_wr const& w) {
  if (int const e = core_.faults.on_call(soft::Call::post_send, qp.port); e != 0) return e;
  if (qp.state != soft::QpState::rts) {
    ++core_.posts_not_rts;
    if (qp.state != soft::QpState::err) {
      violation("post_send on a QP before RTS");
      return EINVAL;
    }
  }
  bool known = false;
  WorkRequest r;
  r.kind = kind_of(w.opcode, known);
  r.inlined = (w.send_flags & IBV_SEND_INLINE) != 0;
  r.length = w.num_sge == 1 ? w.sg_list->length : 0;
  bool const read = r.kind == WorkRequest::Kind::read;
  bool const fits = w.num_sge >= 0 && w.num_sge <= static_cast<int>(p.cap.max_send_sge) &&
                    !(r.inlined && (read || r.length > p.cap.max_inline_data));
  if (!known || !fits) {
    violation("post_send of a request that its QP was not made for");
    return EINVAL;
  }
  if (qp.sends.full()) {
    ++no_room_;
    return ENOMEM;
  }
  check_send(p, qp, w);
  r.traffic = traffic_of(w);
  r.signaled = (w.send_flags & IBV_SEND_SIGNALED) != 0;
  r.id = w.wr_id;
  if (r.kind == WorkRequest::Kind::write_with_immediate) r.immediate = soft::wire_order(w.imm_data);
  if (w.num_sge == 1) {
    r.local = w.sg_list->addr;
    r.keys.local = w.sg_list->lkey;
  }
  if (r.kind != WorkRequest::Kind::send) {
    r.remote = w.wr.rdma.remote_addr;
    r.keys.remote = w.wr.rdma.rkey;
  }
  soft::SendEntry& s = qp.sends.push();
  s.request = r;
  s.packets = 0;
  if (r.inlined && r.length != 0) {
    s.inlined = std::make_unique<std::byte[]>(p.cap.max_inline_data);
    std::memcpy(s.inlined.get(), soft::BusBuffer::to_pointer(r.local), r.length);
  }
  ++p.sends;
  ++sends_taken_;
  if (on_send) on_send(static_cast<Context*>(p.context)->card->host, p, w);
  return 0;
}

int Machine::post_send(ibv_qp* of, ibv_send_wr* first, ibv_send_wr** bad) {
  auto& p = *static_cast<Pair*>(of);
  Alone const alone{p.users_now};
  std::scoped_lock const lock{core_.mutex};
  if (alone.shared()) violation("two threads use a QP at once");
  auto& c = *static_cast<Context*>(p.context);
  Fate const fate = begin(Verb::post_send, c.card->host, c.device->name, length_of(first));
  *bad = first;
  if (!use(p, Verb::post_send, false)) return number(EINVAL);
  soft::QueuePair* const qp = inside(p);
  if (c.dead || qp == nullptr) return number(fate.error != 0 ? fate.error : EIO);
  if (int const e = core_.faults.on_call(soft::Call::flush, qp->port); e != 0) return number(e);
  soft::read_clock(core_);
  int error = 0;
  int taken = 0;
  for (; *bad != nullptr && error == 0; ++taken) {
    if (fate.error != 0 && taken >= fate.accepts) error = fate.error;
    if (error == 0) error = take_send(p, *qp, **bad);
    if (error == 0) *bad = (*bad)->next;
  }
  qp->rung = qp->sends.tail();
  if (qp->state == soft::QpState::err) {
    soft::flush_sends(core_, *qp);
  } else if (qp->state == soft::QpState::rts) {
    soft::activate(core_, *qp);
  }
  soft::run_due(core_);
  return number(error);
}

int Machine::post_recv(ibv_qp* of, ibv_recv_wr* first, ibv_recv_wr** bad) {
  auto& p = *static_cast<Pair*>(of);
  Alone const alone{p.users_now};
  std::scoped_lock const lock{core_.mutex};
  if (alone.shared()) violation("two threads use a QP at once");
  auto& c = *static_cast<Context*>(p.context);
  Fate const fate = begin(Verb::post_recv, c.card->host, c.device->name, length_of(first));
  *bad = first;
  if (!use(p, Verb::post_recv, false)) return number(EINVAL);
  soft::QueuePair* const qp = inside(p);
  if (c.dead || qp == nullptr) return number(fate.error != 0 ? fate.error : EIO);
  int error = 0;
  for (int taken = 0; *bad != nullptr; ++taken) {
    ibv_recv_wr const& w = **bad;
    error = fate.error != 0 && taken >= fate.accepts ? fate.error : 0;
    if (error == 0) error = core_.faults.on_call(soft::Call::post_receive, qp->port);
    if (error == 0 && qp->state == soft::QpState::reset) {
      violation("post_recv on a QP in RESET");
      error = EINVAL;
    }
    if (error == 0 && (w.num_sge < 0 || w.num_sge > static_cast<int>(p.cap.max_recv_sge))) {
      violation("post_recv of a request that its QP was not made for");
      error = EINVAL;
    }
    if (error == 0 && qp->receives.full()) {
      ++no_room_;
      error = ENOMEM;
    }
    if (error != 0) break;
    soft::ReceiveEntry& r = qp->receives.push();
    r = {w.wr_id, 0, 0, 0};
    if (w.num_sge == 1) r = {w.wr_id, w.sg_list->addr, w.sg_list->length, w.sg_list->lkey};
    ++p.receives;
    *bad = w.next;
  }
  if (qp->state == soft::QpState::err && core_.config.flush_receives_in_error)
    soft::flush_receives(core_, *qp);
  return number(error);
}

/// Of a failed completion all but id, status, QP and vendor error is noise (man ibv_poll_cq).
void Machine::fill(ibv_wc& into, soft::CompletionEntry const& e) {
  Completion const& c = e.what;
  into = {};
  into.wr_id = c.id;
  into.status = static_cast<ibv_wc_status>(c.status);
  into.vendor_err = c.vendor_error;
  into.qp_num = c.qp_num;
  into.byte_len = c.bytes;
  if (c.status != Status::success) {
    into.opcode = static_cast<ibv_wc_opcode>(core_.noise.below(256));
    into.wc_flags = static_cast<unsigned>(core_.noise.below(8));
    into.imm_data = static_cast<std::uint32_t>(core_.noise.next());
    return;
  }
  if (c.kind == Completion::Kind::received_with_immediate) {
    into.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    into.wc_flags = IBV_WC_WITH_IMM;
    into.imm_data = soft::wire_order(c.immediate);
  } else if (c.kind == Completion::Kind::received) {
    into.opcode = IBV_WC_RECV;
  } else {
    into.opcode = IBV_WC_RDMA_WRITE;
    soft::QueuePair* const qp = core_.qps.find(c.qp_num);
    if (qp == nullptr || e.retires <= qp->sends.head()) return;
    WorkRequest::Kind const kind = qp->sends[e.retires - 1].request.kind;
    if (kind == WorkRequest::Kind::read) into.opcode = IBV_WC_RDMA_READ;
    if (kind == WorkRequest::Kind::send) into.opcode = IBV_WC_SEND;
  }
}

int Machine::poll_cq(ibv_cq* of, int most, ibv_wc* into) {
  auto& q = *static_cast<Queue*>(of);
  Alone const alone{q.users_now};
  std::scoped_lock const lock{core_.mutex};
  if (alone.shared()) violation("two threads poll a CQ at once");
  auto& c = *static_cast<Context*>(q.context);
  Fate const fate = begin(Verb::poll_cq, c.card->host, c.device->name);
  if (!use(q, Verb::poll_cq, false)) return -EINVAL;
  if (fate.error != 0) return -fate.error;
  if (c.dead) return 0;  // Its queue is memory of the program, and stays empty.
  soft::Lane& lane = core_.lanes[q.lane];
  if (core_.faults.on_call(soft::Call::poll, lane.port) != 0) return 0;
  int n = 0;
  for (; n < most && !lane.cq.empty(); ++n) {
    soft::CompletionEntry const e = lane.cq.pop();
    fill(into[n], e);
    soft::QueuePair* const qp = core_.qps.find(e.what.qp_num);
    if (qp == nullptr) continue;
    if (e.of_receive) {
      qp->receives.retire(e.retires);
    } else {
      qp->sends.retire(e.retires);
    }
  }
  return n;
}

}  // namespace vccl::test::emulated
