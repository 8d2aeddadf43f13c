// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What the numbers of libibverbs mean here: completion statuses, opcodes, errno.

#include <vccl/error.hpp>
#include <vccl/op.hpp>

#include <infiniband/verbs.h>

#include <cerrno>

namespace vccl::verbs {

/// No status of ours: a number outside libibverbs' table. Detectors end the connection with it.
inline constexpr Status outside_table{0xff};

/// No default: a value that a new libibverbs adds is a warning of the compiler, not a wrong status.
[[nodiscard]] constexpr Status to_status(ibv_wc_status s) noexcept {
  switch (s) {
    case IBV_WC_SUCCESS:
      return Status::success;
    case IBV_WC_LOC_LEN_ERR:
      return Status::local_length;
    case IBV_WC_LOC_QP_OP_ERR:
      return Status::local_qp_operation;
    case IBV_WC_LOC_EEC_OP_ERR:
      return Status::local_eec_operation;
    case IBV_WC_LOC_PROT_ERR:
      return Status::local_protection;
    case IBV_WC_WR_FLUSH_ERR:
      return Status::flushed;
    case IBV_WC_MW_BIND_ERR:
      return Status::memory_window_bind;
    case IBV_WC_BAD_RESP_ERR:
      return Status::bad_response;
    case IBV_WC_LOC_ACCESS_ERR:
      return Status::local_access;
    case IBV_WC_REM_INV_REQ_ERR:
      return Status::remote_invalid_request;
    case IBV_WC_REM_ACCESS_ERR:
      return Status::remote_access;
    case IBV_WC_REM_OP_ERR:
      return Status::remote_operation;
    case IBV_WC_RETRY_EXC_ERR:
      return Status::retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Status::rnr_retry_exceeded;
    case IBV_WC_LOC_RDD_VIOL_ERR:
      return Status::local_rdd_violation;
    case IBV_WC_REM_INV_RD_REQ_ERR:
      return Status::remote_invalid_rd_request;
    case IBV_WC_REM_ABORT_ERR:
      return Status::remote_aborted;
    case IBV_WC_INV_EECN_ERR:
      return Status::invalid_eecn;
    case IBV_WC_INV_EEC_STATE_ERR:
      return Status::invalid_eec_state;
    case IBV_WC_FATAL_ERR:
      return Status::fatal;
    case IBV_WC_RESP_TIMEOUT_ERR:
      return Status::response_timeout;
    case IBV_WC_GENERAL_ERR:
      return Status::general;
    case IBV_WC_TM_ERR:
      return Status::tag_matching;
    case IBV_WC_TM_RNDV_INCOMPLETE:
      return Status::tag_matching_rndv;
  }
  return outside_table;
}

/// Of a successful completion only; a failed one's opcode means nothing (man ibv_poll_cq).
[[nodiscard]] constexpr Completion::Kind to_kind(ibv_wc_opcode o) noexcept {
  if (o == IBV_WC_RECV_RDMA_WITH_IMM) return Completion::Kind::received_with_immediate;
  return o == IBV_WC_RECV ? Completion::Kind::received : Completion::Kind::sent;
}

/// The errno of a call that gives 0, an errno, or -1 with errno set; the manual pages promise the
/// second, providers also do the third.
[[nodiscard]] inline int error_of(int result) noexcept { return result < 0 ? errno : result; }

/// True when the same call may work later: no room for now, interrupted, or a peer's address that
/// the kernel could not resolve in time.
[[nodiscard]] constexpr bool is_transient(int error) noexcept {
  return error == ENOMEM || error == EAGAIN || error == EBUSY || error == EINTR ||
         error == ETIMEDOUT || error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN;
}

/// What a refused call means on a lane.
[[nodiscard]] constexpr Errc to_errc(int error) noexcept {
  if (error == 0) return Errc::ok;
  return is_transient(error) ? Errc::would_block : Errc::path_down;
}

}  // namespace vccl::verbs
