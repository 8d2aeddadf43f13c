// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Which attributes a QP takes from one state to another: the kernel's rules for reliable
/// connections.

#include <infiniband/verbs.h>

namespace vccl::test::emulated {

/// Attributes of a transition. IBV_QP_STATE is not counted.
struct Needs {
  bool allowed = false;
  int required = 0;
  int optional = 0;
};

/// IBTA vol. 1, 11.2.5.2 (modify queue pair) as Linux' ib_modify_qp_is_ok has it, without SQD and
/// SQE. ERR from RESET is refused.
[[nodiscard]] constexpr Needs needs(ibv_qp_state from, ibv_qp_state to) noexcept {
  constexpr int in_rts = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                         IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
  constexpr int of_port = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (to == IBV_QPS_RESET) return {true, 0, 0};
  if (to == IBV_QPS_ERR) return {from != IBV_QPS_RESET, 0, 0};
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT) return {true, of_port, 0};
  if (from == IBV_QPS_INIT && to == IBV_QPS_INIT) return {true, 0, of_port};
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
    return {true,
            IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
            IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX};
  }
  if (from == IBV_QPS_RTR && to == IBV_QPS_RTS) {
    return {true,
            IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                IBV_QP_MAX_QP_RD_ATOMIC,
            in_rts};
  }
  if (from == IBV_QPS_RTS && to == IBV_QPS_RTS) return {true, 0, in_rts};
  return {};
}

/// The attributes that are missing or must not be there.
[[nodiscard]] constexpr int wrong_bits(Needs const& n, int mask) noexcept {
  int const given = mask & ~IBV_QP_STATE;
  return (n.required & ~given) | (given & ~(n.required | n.optional));
}

}  // namespace vccl::test::emulated
