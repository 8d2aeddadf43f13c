// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/status.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::verbs;

TEST_CASE("every completion status of libibverbs has ours of the same number") {
  for (int v = IBV_WC_SUCCESS; v <= IBV_WC_TM_RNDV_INCOMPLETE; ++v) {
    CAPTURE(v);
    CHECK(static_cast<int>(to_status(static_cast<ibv_wc_status>(v))) == v);
  }
}

TEST_CASE("a status outside the table is none of ours") {
  CHECK(to_status(static_cast<ibv_wc_status>(IBV_WC_TM_RNDV_INCOMPLETE + 1)) == outside_table);
  CHECK(to_status(static_cast<ibv_wc_status>(31)) == outside_table);
}

TEST_CASE("a notify is told from a receive and from sent work") {
  CHECK(to_kind(IBV_WC_RECV_RDMA_WITH_IMM) == Completion::Kind::received_with_immediate);
  CHECK(to_kind(IBV_WC_RECV) == Completion::Kind::received);
  CHECK(to_kind(IBV_WC_RDMA_WRITE) == Completion::Kind::sent);
  CHECK(to_kind(IBV_WC_RDMA_READ) == Completion::Kind::sent);
}

TEST_CASE("a call's error is what it returns, or errno when it returns less than 0") {
  errno = EIO;
  CHECK(error_of(0) == 0);
  CHECK(error_of(ENOMEM) == ENOMEM);
  CHECK(error_of(-1) == EIO);
}

TEST_CASE("only what may work later blocks") {
  for (int e : {ENOMEM, EAGAIN, EBUSY, EINTR, ETIMEDOUT, ENETUNREACH, EHOSTUNREACH, ENETDOWN}) {
    CHECK(to_errc(e) == Errc::would_block);
  }
  for (int e : {EINVAL, EIO, ENODEV, EPERM}) CHECK(to_errc(e) == Errc::path_down);
  CHECK(to_errc(0) == Errc::ok);
}
