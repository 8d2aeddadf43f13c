// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The attributes with which a QP goes from RESET to RTS, on InfiniBand and Ethernet. Pure.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/gid.hpp>

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace vccl::verbs {

/// A local port as it was when its lane was described.
struct LocalPort {
  std::uint8_t number = 1;
  bool ethernet = true;
  std::uint8_t mtu =
      IBV_MTU_1024;  ///< enum ibv_mtu: 256 << (mtu - 1) bytes, as LaneAddress has it.
  std::uint8_t gid_index = 0;
  std::uint16_t pkey_index = 0;
  std::uint16_t lid = 0;
  ibv_gid gid{};
};

/// Attributes and which of them count.
struct Transition {
  ibv_qp_attr attributes{};
  int mask = 0;
};

/// Packet sequence numbers have 24 bits (IBTA vol. 1, 9.2).
inline constexpr std::uint32_t psn_mask = 0xff'ffff;

/// As NCCL (net_ib): packets pass as many routers as there are.
inline constexpr std::uint8_t hop_limit = 255;

/// Throws SetupError for numbers that no QP can have.
inline void check_lane(LaneConfig const& c) {
  if (c.qps < 1 || c.qps > max_qps || c.send_depth == 0 || c.receive_depth == 0)
    throw SetupError{"IbVerbs", EINVAL, "a lane has 1 to 4 QPs with queues of at least 1"};
  if (c.timeout > 31 || c.retry_count > 7 || c.rnr_retry > 7 || c.min_rnr_timer > 31)
    throw SetupError{"IbVerbs", EINVAL, "timeout and min_rnr_timer have 5 bits, retry counts 3"};
  if (c.service_level > 15)
    throw SetupError{"IbVerbs", EINVAL, "service_level has 4 bits (IBTA vol. 1, 7.6.5)"};
}

/// Completions of a lane that nobody polled yet, at most: every queue full, flush reads too. A
/// flush of them all is a burst of just that size.
[[nodiscard]] constexpr std::uint32_t queue_depth(LaneConfig const& c) noexcept {
  if (c.cq_depth != 0) return c.cq_depth;
  return std::uint32_t{c.qps} * (std::uint32_t{c.send_depth} + c.receive_depth) + c.send_depth;
}

/// The peer writes through every QP; only the QP of flush reads, which is its own peer, is read.
[[nodiscard]] inline Transition to_init(LocalPort const& port, bool loopback) noexcept {
  Transition t;
  t.attributes.qp_state = IBV_QPS_INIT;
  t.attributes.pkey_index = port.pkey_index;
  t.attributes.port_num = port.number;
  t.attributes.qp_access_flags =
      loopback ? unsigned{IBV_ACCESS_REMOTE_READ} : unsigned{IBV_ACCESS_REMOTE_WRITE};
  t.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  return t;
}

/// Way to a peer. Ethernet always has a GRH; InfiniBand has one when the peer is in another subnet
/// of the fabric, and then goes to the router's FLID if the peer's GID holds one (as NCCL).
[[nodiscard]] inline ibv_ah_attr address_of(LaneConfig const& c, LocalPort const& port,
                                            LaneAddress const& theirs) noexcept {
  ibv_ah_attr a{};
  ibv_gid gid;
  static_assert(sizeof gid.raw == sizeof theirs.gid);
  std::memcpy(gid.raw, theirs.gid.data(), sizeof gid.raw);
  a.port_num = port.number;
  a.sl = c.service_level;
  bool const routed = !port.ethernet && subnet_of(gid) != subnet_of(port.gid);
  if (!port.ethernet) a.dlid = routed && flid_of(gid) != 0 ? flid_of(gid) : theirs.lid;
  if (port.ethernet || routed) {
    a.is_global = 1;
    a.grh.dgid = gid;
    a.grh.flow_label = 0;
    a.grh.sgid_index = port.gid_index;
    a.grh.hop_limit = hop_limit;
    a.grh.traffic_class = c.traffic_class;
  }
  return a;
}

/// MTU: the smaller of both ends. One read at a time: only flush reads exist.
[[nodiscard]] inline Transition to_rtr(LaneConfig const& c, LocalPort const& port,
                                       LaneAddress const& theirs, std::size_t qp) noexcept {
  Transition t;
  t.attributes.qp_state = IBV_QPS_RTR;
  t.attributes.path_mtu = static_cast<ibv_mtu>(std::min(port.mtu, theirs.mtu));
  t.attributes.dest_qp_num = theirs.qp_numbers[qp];
  t.attributes.rq_psn = theirs.packet_numbers[qp] & psn_mask;
  t.attributes.max_dest_rd_atomic = 1;
  t.attributes.min_rnr_timer = c.min_rnr_timer;
  t.attributes.ah_attr = address_of(c, port, theirs);
  t.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return t;
}

[[nodiscard]] inline Transition to_rts(LaneConfig const& c, std::uint32_t psn) noexcept {
  Transition t;
  t.attributes.qp_state = IBV_QPS_RTS;
  t.attributes.timeout = c.timeout;
  t.attributes.retry_cnt = c.retry_count;
  t.attributes.rnr_retry = c.rnr_retry;
  t.attributes.sq_psn = psn & psn_mask;
  t.attributes.max_rd_atomic = 1;
  t.mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC;
  return t;
}

/// To ERR or RESET.
[[nodiscard]] inline Transition to_state(ibv_qp_state s) noexcept {
  Transition t;
  t.attributes.qp_state = s;
  t.mask = IBV_QP_STATE;
  return t;
}

/// What an address of a peer must have before a QP goes anywhere with it.
[[nodiscard]] inline bool is_sound(LaneConfig const& c, LaneAddress const& theirs) noexcept {
  return theirs.qps == c.qps && theirs.mtu >= IBV_MTU_256 && theirs.mtu <= IBV_MTU_4096 &&
         theirs.max_message != 0;
}

/// Access flags of a registration. What is flushed by a read must be readable by this end's own QP.
[[nodiscard]] constexpr unsigned access_flags(Access a, MemoryKind kind) noexcept {
  unsigned flags = IBV_ACCESS_LOCAL_WRITE;
  if (a == Access::local) return flags;
  flags |= IBV_ACCESS_REMOTE_WRITE;
  if (kind == MemoryKind::device) flags |= IBV_ACCESS_REMOTE_READ;
  if (a == Access::remote_write_relaxed) flags |= IBV_ACCESS_RELAXED_ORDERING;
  return flags;
}

}  // namespace vccl::verbs
