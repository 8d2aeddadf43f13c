// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/connected_queue.hpp>

#include <doctest/doctest.h>
#include <transport/verbs/recording_verbs.hpp>

using namespace vccl;
using namespace vccl::verbs;

namespace {
/// Offers a way of its own to set connections up.
struct Api : RecordingVerbs {
  static inline ibv_ece set{};
  static int query_ece(ibv_qp*, ibv_ece* into) noexcept {
    into->vendor_id = 0x15b3;
    into->options = 3;
    return 0;
  }
  static int set_ece(ibv_qp*, ibv_ece* to) noexcept { return set = *to, 0; }
  static int destroy_qp(ibv_qp* qp) noexcept {
    static_cast<void>(drop(qp));
    return destroy_error;
  }
  static inline int destroy_error = 0;
  static void start() {
    RecordingVerbs::start();
    set = {};
    destroy_error = 0;
  }
};
using Tested = ConnectedQueue<Api, 4, 16>;
using State = Tested::State;

QueuePair<Api> fresh() {
  ibv_qp_init_attr how{};
  return QueuePair<Api>{Api::create_qp(nullptr, &how)};
}
Errc connect(Tested& q, EnhancedEstablishment agreed = {}) {
  return q.connect(to_rtr({}, {}, {}, 0), {}, agreed);
}
}  // namespace

TEST_CASE("a QP goes from RESET to RTS step by step, its packet number of 24 bits") {
  Api::start();
  Tested q;
  CHECK(q.state() == State::none);
  q.take(fresh());
  CHECK(q.state() == State::reset);
  CHECK(q.post_receive(1) == Errc::path_down);
  REQUIRE(q.to_init({}, false, 0xab12'3456) == Errc::ok);
  CHECK(q.first_psn() == 0x12'3456);
  CHECK(q.post_receive(1) == Errc::ok);
  REQUIRE(connect(q) == Errc::ok);
  CHECK(q.state() == State::rts);
  CHECK(Api::changes.size() == 3);
  CHECK(Api::changes[2].to.sq_psn == 0x12'3456);
}

TEST_CASE("what was agreed on is set before RTR, and nothing where nothing was") {
  Api::start();
  Tested q;
  q.take(fresh());
  CHECK(q.ece() == EnhancedEstablishment{0x15b3, 3});
  REQUIRE(q.to_init({}, false, 1) == Errc::ok);
  REQUIRE(connect(q) == Errc::ok);
  CHECK(Api::set.vendor_id == 0);
  q.take(fresh());
  REQUIRE(q.to_init({}, false, 1) == Errc::ok);
  REQUIRE(connect(q, q.ece()) == Errc::ok);
  CHECK(Api::set.options == 3);
}

TEST_CASE("connecting goes on where a passing refusal left it") {
  Api::start();
  Tested q;
  q.take(fresh());
  REQUIRE(q.to_init({}, false, 1) == Errc::ok);
  Api::refused = IBV_QPS_RTS;
  Api::modify_error = EAGAIN;
  CHECK(connect(q) == Errc::would_block);
  CHECK(q.state() == State::rtr);
  CHECK(!q.broken());
  Api::modify_error = 0;
  CHECK(connect(q) == Errc::ok);
  CHECK(Api::changes.size() == 3);
}

TEST_CASE("a refusal for good breaks it: RESET then destroys it") {
  Api::start();
  Tested q;
  q.take(fresh());
  REQUIRE(q.to_init({}, false, 1) == Errc::ok);
  Api::refused = IBV_QPS_RTR;
  Api::modify_error = EINVAL;
  CHECK(connect(q) == Errc::path_down);
  CHECK(q.broken());
  Api::modify_error = 0;
  CHECK(q.to_reset() == Errc::ok);
  CHECK(q.state() == State::none);
  CHECK(Api::live == 0);
  q.take(fresh());
  CHECK(!q.broken());
}

TEST_CASE("one that cannot leave RESET any more is destroyed by the next fence") {
  Api::start();
  Tested q;
  q.take(fresh());
  Api::refused = IBV_QPS_INIT;
  Api::modify_error = EINVAL;
  CHECK(q.to_init({}, false, 1) == Errc::path_down);
  CHECK(q.state() == State::reset);
  CHECK(q.to_reset() == Errc::ok);
  CHECK(q.state() == State::none);
  CHECK(Api::live == 0);
}

TEST_CASE("a device that is gone has destroyed its QP; another refusal to destroy is told") {
  for (int error : {EIO, ENODEV, EBUSY}) {
    Api::start();
    Tested q;
    q.take(fresh());
    Api::destroy_error = error;
    CHECK(q.destroy() == (error == EBUSY ? Errc::failed : Errc::ok));
    CHECK(q.state() == State::none);
  }
}

TEST_CASE("a request that finds no room rings for those before it; two places are found at once") {
  Api::start();
  Tested q;
  q.take(fresh());
  WorkRequest w;
  for (w.id = 0; w.id < 4; ++w.id) REQUIRE(q.post(w) == Errc::ok);
  CHECK(Api::sent.empty());
  REQUIRE(q.post(w) == Errc::ok);
  CHECK(Api::sent.size() == 4);
  w.kind = WorkRequest::Kind::write_with_immediate;
  w.length = 100;
  REQUIRE(q.post_split(w) == Errc::ok);
  REQUIRE(q.post_split(w) == Errc::ok);
  CHECK(Api::sent.size() == 7);
  REQUIRE(q.ring() == Errc::ok);
  REQUIRE(Api::sent.size() == 9);
  CHECK(Api::sent[7].opcode == IBV_WR_RDMA_WRITE);
  CHECK(Api::sent[7].num_sge == 1);
  CHECK(Api::sent[8].opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
  CHECK(Api::sent[8].num_sge == 0);
}

TEST_CASE("in RESET there is nothing to be taken to ERR, and the kernel would refuse it") {
  Api::start();
  Tested q;
  q.take(fresh());
  CHECK(q.to_error() == Errc::ok);
  CHECK(q.to_reset() == Errc::ok);
  CHECK(Api::changes.empty());
}
