// SPDX-License-Identifier: Apache-2.0
// CQs, QPs and their states.
#include <support/emulated_verbs/machine.hpp>
#include <support/emulated_verbs/transitions.hpp>
#include <vccl/transport/soft/engine.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace vccl::test::emulated {

namespace {

ibv_qp_state state_of(soft::QpState s) {
  switch (s) {
    case soft::QpState::reset:
      return IBV_QPS_RESET;
    case soft::QpState::init:
      return IBV_QPS_INIT;
    case soft::QpState::rtr:
      return IBV_QPS_RTR;
    case soft::QpState::rts:
      return IBV_QPS_RTS;
    case soft::QpState::err:
      return IBV_QPS_ERR;
  }
  return IBV_QPS_UNKNOWN;
}

soft::Call call_of(ibv_qp_state to) {
  if (to == IBV_QPS_INIT) return soft::Call::describe;
  if (to == IBV_QPS_RTR || to == IBV_QPS_RTS) return soft::Call::connect;
  return soft::Call::fence;
}

}  // namespace

soft::QueuePair* Machine::inside(Pair& p) { return p.gone ? nullptr : core_.qps.find(p.qp_num); }

std::size_t Machine::port_of(ibv_qp const& qp) {
  soft::QueuePair const* const inner = core_.qps.find(qp.qp_num);
  return inner == nullptr ? 0 : core_.ports[inner->port].number;
}

ibv_cq* Machine::create_cq(ibv_context* of, int depth, void* tag) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  int error = begin(Verb::create_cq, c.card->host, c.device->name).error;
  if (!use(c, Verb::create_cq, false) || depth < 1 || depth > habits.max_cqe) error = EINVAL;
  if (error == 0 && c.dead) error = EIO;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  std::uint32_t slot = static_cast<std::uint32_t>(core_.lanes.size());
  if (core_.free_lanes.empty()) {
    core_.lanes.emplace_back();
  } else {
    slot = core_.free_lanes.back();
    core_.free_lanes.pop_back();
  }
  soft::Lane& lane = core_.lanes[slot];
  std::uint32_t const serial = lane.serial;
  lane = soft::Lane{};
  lane.slot = slot;
  lane.serial = serial;
  lane.host = c.card->host;
  lane.incarnation = c.incarnation;
  lane.port = c.card->first_port;
  lane.cq.set_depth(static_cast<std::uint32_t>(depth));
  Queue& q = keep(queues_, "CQ");
  q.context = &c;
  q.cq_context = tag;
  q.cqe = depth;
  q.lane = slot;
  ++c.users;
  return &q;
}

int Machine::destroy_cq(ibv_cq* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& q = *static_cast<Queue*>(of);
  auto& c = *static_cast<Context*>(q.context);
  Fate const fate = begin(Verb::destroy_cq, c.card->host, c.device->name);
  if (!use(q, Verb::destroy_cq, true)) return number(q.alive ? EBUSY : EINVAL);
  forget(q);
  q.alive = false;
  --c.users;
  soft::Lane& lane = core_.lanes[q.lane];
  lane.cq.clear();
  ++lane.serial;
  core_.free_lanes.push_back(lane.slot);
  return number(fate.error != 0 ? fate.error : c.dead ? EIO : 0);
}

ibv_qp* Machine::create_qp(ibv_pd* of, ibv_qp_init_attr* how) {
  std::scoped_lock const lock{core_.mutex};
  auto& pd = *static_cast<Domain*>(of);
  auto& c = *static_cast<Context*>(pd.context);
  int error = begin(Verb::create_qp, c.card->host, c.device->name).error;
  auto* const cq = static_cast<Queue*>(how->send_cq);
  bool good = use(pd, Verb::create_qp, false) && cq != nullptr && how->recv_cq == cq &&
              use(*cq, Verb::create_qp, false) && cq->context == &c && how->srq == nullptr &&
              how->qp_type == IBV_QPT_RC;
  good = good && how->cap.max_send_wr >= 1 && how->cap.max_send_wr <= habits.max_depth &&
         how->cap.max_recv_wr <= habits.max_depth &&
         how->cap.max_inline_data <= habits.max_inline && how->cap.max_send_sge <= 1 &&
         how->cap.max_recv_sge <= 1;
  if (error == 0 && !good) error = EINVAL;
  if (error == 0 && c.dead) error = EIO;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  soft::Lane& lane = core_.lanes[cq->lane];
  soft::QueuePair& qp = core_.qps.create(core_.config.reuse_qp_numbers);
  qp.lane = lane.slot;
  qp.port = lane.port;
  qp.sends.set_depth(how->cap.max_send_wr);
  qp.receives.set_depth(how->cap.max_recv_wr);
  lane.qps.push_back(&qp);
  Pair& p = keep(pairs_, "QP");
  p.context = &c;
  p.qp_context = how->qp_context;
  p.pd = &pd;
  p.send_cq = p.recv_cq = cq;
  p.qp_num = qp.number;
  p.state = IBV_QPS_RESET;
  p.qp_type = IBV_QPT_RC;
  p.cap = how->cap;
  ++pd.users;
  ++cq->users;
  return &p;
}

void Machine::clear_completions(soft::Lane& lane, soft::QueuePair const& qp) {
  for (std::uint32_t n = lane.cq.size(); n != 0; --n) {
    soft::CompletionEntry const e = lane.cq.pop();
    if (e.qp != qp.slot) static_cast<void>(lane.cq.push(e));
  }
}

int Machine::destroy_qp(ibv_qp* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& p = *static_cast<Pair*>(of);
  auto& c = *static_cast<Context*>(p.context);
  Fate const fate = begin(Verb::destroy_qp, c.card->host, c.device->name);
  if (!use(p, Verb::destroy_qp, true)) return number(EINVAL);
  forget(p);
  p.alive = false;
  --static_cast<Domain*>(p.pd)->users;
  --static_cast<Queue*>(p.send_cq)->users;
  if (soft::QueuePair* const qp = inside(p)) {
    soft::Lane& lane = core_.lanes[qp->lane];
    std::erase(lane.qps, qp);
    if (habits.clears_cq) clear_completions(lane, *qp);
    core_.qps.destroy(*qp);
  }
  return number(fate.error != 0 ? fate.error : c.dead ? EIO : 0);
}

int Machine::query_ece(ibv_qp* of, ibv_ece* into) {
  std::scoped_lock const lock{core_.mutex};
  auto& p = *static_cast<Pair*>(of);
  auto& c = *static_cast<Context*>(p.context);
  Fate const fate = begin(Verb::query_ece, c.card->host, c.device->name);
  if (!use(p, Verb::query_ece, false)) return number(EINVAL);
  if (fate.error != 0 || habits.ece_vendor == 0)
    return number(fate.error != 0 ? fate.error : EOPNOTSUPP);
  *into = {habits.ece_vendor, 1, 0};
  return 0;
}

/// Counts until the QP goes to RTR, and stands until RESET.
int Machine::set_ece(ibv_qp* of, ibv_ece* to) {
  std::scoped_lock const lock{core_.mutex};
  auto& p = *static_cast<Pair*>(of);
  auto& c = *static_cast<Context*>(p.context);
  Fate const fate = begin(Verb::set_ece, c.card->host, c.device->name);
  if (!use(p, Verb::set_ece, false)) return number(EINVAL);
  if (fate.error != 0) return number(fate.error);
  if (habits.ece_vendor == 0) return number(EOPNOTSUPP);
  if (p.state != IBV_QPS_RESET && p.state != IBV_QPS_INIT) {
    violation("set_ece on a QP that is connected");
    return number(EINVAL);
  }
  p.ece = to->options;
  return 0;
}

int Machine::modify_qp(ibv_qp* of, ibv_qp_attr* to, int mask) {
  auto& p = *static_cast<Pair*>(of);
  Alone const alone{p.users_now};
  std::scoped_lock const lock{core_.mutex};
  if (alone.shared()) violation("two threads use a QP at once");
  auto& c = *static_cast<Context*>(p.context);
  Fate const fate = begin(Verb::modify_qp, c.card->host, c.device->name);
  if (!use(p, Verb::modify_qp, false)) return number(EINVAL);
  if (fate.error != 0) return number(fate.error);
  soft::QueuePair* const qp = inside(p);
  if (c.dead || qp == nullptr) return number(EIO);
  soft::read_clock(core_);
  ibv_qp_state const from = state_of(qp->state);
  ibv_qp_state const target = (mask & IBV_QP_STATE) != 0 ? to->qp_state : from;
  if (int const e = core_.faults.on_call(call_of(target), qp->port); e != 0) return number(e);
  if ((mask & IBV_QP_CUR_STATE) != 0 && to->cur_qp_state != from) return number(EINVAL);
  Needs const n = needs(from, target);
  if (!n.allowed) {
    ++late_transitions_;
    return number(EINVAL);
  }
  if (int const bits = wrong_bits(n, mask); bits != 0) {
    char text[80];
    std::snprintf(text, sizeof text, "modify_qp from %d to %d: wrong attributes 0x%x", from, target,
                  static_cast<unsigned>(bits));
    violation(text);
    return number(EINVAL);
  }
  int error = 0;
  if (target == IBV_QPS_INIT) error = to_init(p, *qp, *to, mask);
  if (target == IBV_QPS_RTR) error = to_rtr(p, *qp, *to);
  if (target == IBV_QPS_RTS && from == IBV_QPS_RTR) error = to_rts(*qp, *to);
  if (target == IBV_QPS_RESET || target == IBV_QPS_ERR)
    error = check_fence(p, *qp, target == IBV_QPS_RESET);
  if (error != 0) return number(error);
  if (target == IBV_QPS_ERR) soft::to_error(core_, *qp);
  if (target == IBV_QPS_RESET) to_reset(p, *qp);
  p.state = target;
  modified_.push_back(
      {c.card->host, core_.ports[qp->port].number, p.qp_num, from, target, mask, *to});
  soft::run_due(core_);
  return 0;
}

/// What the fault script makes of ERR and RESET. Nothing is to be done where the QP is there
/// already.
int Machine::check_fence(Pair& p, soft::QueuePair& qp, bool reset) {
  if (qp.state == (reset ? soft::QpState::reset : soft::QpState::err)) return 0;
  if (p.quiet_at.ns != 0) {
    if (core_.now() < p.quiet_at) return EBUSY;
    p.quiet_at = {};
    return 0;
  }
  soft::FenceFate const fate =
      core_.faults.on_fence(qp.port, reset ? FenceStep::reset : FenceStep::error);
  if (fate.fails) return EIO;
  if (fate.hangs) return EBUSY;
  if (fate.takes.ns <= 0) return 0;
  p.quiet_at = core_.now() + fate.takes;
  return EBUSY;
}

int Machine::to_init(Pair& p, soft::QueuePair& qp, ibv_qp_attr const& a, int mask) {
  auto& c = *static_cast<Context*>(p.context);
  if (qp.broken) return EINVAL;
  if ((mask & IBV_QP_PORT) != 0) {
    if (a.port_num == 0 || a.port_num > c.card->ports) return EINVAL;
    qp.port = port_of(c, a.port_num).index;
    core_.lanes[qp.lane].port = qp.port;
    p.port_number = a.port_num;
  }
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && a.pkey_index != 0) return EINVAL;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) p.access = a.qp_access_flags;
  qp.state = soft::QpState::init;
  return 0;
}

/// Addresses as the kernel resolves them: by GID with a GRH, which Ethernet must have; by LID
/// without.
int Machine::to_rtr(Pair& p, soft::QueuePair& qp, ibv_qp_attr const& a) {
  soft::Port const& port = core_.ports[qp.port];
  bool const infiniband = looks_[qp.port].infiniband;
  ibv_ah_attr const& ah = a.ah_attr;
  if (a.path_mtu < IBV_MTU_256 || a.path_mtu > IBV_MTU_4096) return EINVAL;
  std::uint32_t const mtu = 128u << static_cast<unsigned>(a.path_mtu);
  if (mtu > port.mtu || ah.port_num != p.port_number) return EINVAL;
  if (a.max_dest_rd_atomic > 16 || a.min_rnr_timer > 31 || ah.sl > 15) return EINVAL;
  if (!infiniband && ah.is_global == 0) return EINVAL;
  std::optional<ibv_gid_entry> const own = gid_at(port, ah.is_global != 0 ? ah.grh.sgid_index : 0);
  if (!own) return EINVAL;
  if (!infiniband && !port.up) return EHOSTUNREACH;
  soft::QpPeer peer;
  if (ah.is_global != 0) {
    std::optional<Found> const found = find_gid(ah.grh.dgid, own->gid_type);
    if (!found) return EHOSTUNREACH;
    // The two versions of RoCE do not understand each other: nobody answers.
    bool const alike = infiniband || found->type == static_cast<ibv_gid_type>(own->gid_type);
    peer = {found->port, alike ? found->serial : 0, a.dest_qp_num};
  } else {
    if (ah.dlid == 0) return EINVAL;
    // A LID that no port has is as good as any other to the sender.
    std::uint32_t const there = std::uint32_t{ah.dlid} % lid_step - 1;
    bool const known = there < core_.ports.size();
    peer = {known ? there : 0, known ? std::uint32_t{ah.dlid} / lid_step : 0, a.dest_qp_num};
  }
  if (a.rq_psn > soft::psn_mask) violation("modify_qp to RTR: rq_psn has more than 24 bits");
  qp.gid_index = ah.is_global != 0 ? ah.grh.sgid_index : 0;
  qp.gid = port.gids[qp.gid_index];
  qp.peer = peer;
  qp.expected = a.rq_psn & soft::psn_mask;
  qp.mtu = mtu;
  qp.min_rnr_timer = a.min_rnr_timer;
  qp.state = soft::QpState::rtr;
  soft::QueuePair const* const far = core_.qps.find(a.dest_qp_num);
  bool const mutual = far != nullptr && far->peer.number == qp.number && far->port == peer.port &&
                      (far->state == soft::QpState::rtr || far->state == soft::QpState::rts);
  if (mutual && far->mtu != mtu) violation("the ends of a QP have different path MTUs");
  for (auto const& q : pairs_) {
    if (mutual && q->alive && !q->gone && q->qp_num == far->number && q->ece != p.ece)
      violation("the ends of a QP are set up in different ways");
  }
  return 0;
}

int Machine::to_rts(soft::QueuePair& qp, ibv_qp_attr const& a) {
  if (a.timeout > 31 || a.retry_cnt > 7 || a.rnr_retry > 7 || a.max_rd_atomic > 16) return EINVAL;
  if (a.sq_psn > soft::psn_mask) violation("modify_qp to RTS: sq_psn has more than 24 bits");
  qp.timeout = a.timeout;
  qp.retry_count = qp.retries = a.retry_cnt;
  qp.rnr_retry = qp.rnr_retries = a.rnr_retry;
  qp.first_psn = a.sq_psn & soft::psn_mask;
  qp.state = soft::QpState::rts;
  return 0;
}

void Machine::to_reset(Pair& p, soft::QueuePair& qp) {
  soft::Port& port = core_.ports[qp.port];
  qp.broken = qp.broken || (port.reset_breaks && qp.was_error);
  qp.state = soft::QpState::reset;
  qp.clear();
  p.access = p.ece = 0;
  if (habits.clears_cq) clear_completions(core_.lanes[qp.lane], qp);
  port.loose.land_all(core_.noise, port.bus);
  port.bus.drain();
}

}  // namespace vccl::test::emulated
