// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/lane.hpp>

#include <doctest/doctest.h>
#include <transport/verbs/recording_verbs.hpp>

#include <array>
#include <atomic>
#include <sched.h>
#include <vector>

using namespace vccl;
using namespace vccl::verbs;

namespace {
using Api = RecordingVerbs;
using Tested = IbVerbs<NoBootstrap, Api>;
static_assert(Transport<Tested>);

NoBootstrap boot;

LaneConfig two_qps() {
  LaneConfig c;
  c.port = PortId{0};
  c.qps = 2;
  return c;
}
LaneAddress peer() {
  LaneAddress a;
  a.gid[15] = 9;
  a.qp_numbers = {11, 12};
  a.packet_numbers = {21, 22};
  a.max_message = 1 << 20;
  a.mtu = IBV_MTU_1024;
  a.qps = 2;
  return a;
}
/// Where time passes by itself, and RTR waits as long as the test wants.
struct Slow : RecordingVerbs {
  static inline std::atomic<bool> held = false, held_once = false, waiting = false;
  static bool real_time() noexcept { return true; }
  static void pause() noexcept {
    if (held_once.exchange(false)) held = false;
    ::sched_yield();
  }
  static int modify_qp(ibv_qp* qp, ibv_qp_attr* to, int mask) noexcept {
    if (to->qp_state == IBV_QPS_RTR) {
      while (held) {
        waiting = true;
        ::sched_yield();
      }
      waiting = false;
    }
    return RecordingVerbs::modify_qp(qp, to, mask);
  }
};
struct Rig {
  explicit Rig(HostConfig c = {}) : host{(Api::start(), boot), std::move(c)} {}
  void up() {
    LaneAddress mine;
    REQUIRE(lane.describe(mine) == Errc::ok);
    REQUIRE(lane.connect(peer()) == Errc::ok);
    Api::changes.clear();
  }
  verbs::Host<NoBootstrap, Api> host;
  Tested lane{host, two_qps()};
};
std::vector<ibv_qp_state> states() {
  std::vector<ibv_qp_state> all;
  for (auto const& c : Api::changes) all.push_back(c.to.qp_state);
  return all;
}
WorkRequest request(std::uint64_t id) {
  WorkRequest w;
  w.id = id;
  w.length = 100;
  return w;
}
void finish(ibv_wc_status s) {
  ibv_wc w{};
  w.status = s;
  w.wr_id = 5;
  Api::finished.push_back(w);
}
std::size_t polled(Tested& lane) {
  std::array<Completion, 4> some;
  return lane.poll(some);
}
}  // namespace

TEST_CASE("a lane goes from RESET to RTS with its peer's numbers, its flush QP to itself") {
  Rig r{{.service_level = 3, .traffic_class = 106}};
  LaneAddress mine;
  REQUIRE(r.lane.describe(mine) == Errc::ok);
  CHECK(mine.qp_numbers[0] == 100);
  CHECK(mine.qp_numbers[1] == 101);
  CHECK(mine.gid[15] == 7);
  CHECK(mine.mtu == IBV_MTU_4096);
  CHECK(states() == std::vector(3, IBV_QPS_INIT));
  REQUIRE(r.lane.connect(peer()) == Errc::ok);
  REQUIRE(Api::changes.size() == 9);
  CHECK(Api::changes[5].to.dest_qp_num == 12);
  CHECK(Api::changes[5].to.rq_psn == 22);
  CHECK(Api::changes[5].to.path_mtu == IBV_MTU_1024);
  CHECK(Api::changes[5].to.ah_attr.sl == 3);
  CHECK(Api::changes[5].to.ah_attr.grh.traffic_class == 106);
  CHECK(Api::changes[6].to.sq_psn == mine.packet_numbers[1]);
  CHECK(Api::changes[7].to.dest_qp_num == 102);
  CHECK(Api::changes[7].to.rq_psn == Api::changes[8].to.sq_psn);
  CHECK(r.lane.max_message() == 1 << 20);
  REQUIRE(r.lane.connect(peer()) == Errc::ok);
  CHECK(Api::changes.size() == 9);
}

TEST_CASE("nothing is rung before flush, then each QP once") {
  Rig r;
  r.up();
  for (std::uint64_t id = 0; id < 3; ++id) REQUIRE(r.lane.post(request(id)) == Errc::ok);
  CHECK(Api::sent.empty());
  REQUIRE(r.lane.flush() == Errc::ok);
  CHECK(Api::sent.size() == 3);
}

TEST_CASE("work goes on a connected lane only, and not longer than it carries") {
  Rig r;
  CHECK(r.lane.post_receive(0, 1) == Errc::path_down);
  r.up();
  CHECK(r.lane.post_receive(0, 1) == Errc::ok);
  WorkRequest w = request(1);
  w.length = (1 << 20) + 1;
  CHECK(r.lane.post(w) == Errc::invalid_argument);
  w = request(1);
  w.qp = 2;
  CHECK(r.lane.post(w) == Errc::invalid_argument);
  w = request(1);
  w.inlined = true;
  CHECK(r.lane.post(w) == Errc::invalid_argument);
  CHECK(r.lane.post_flush_read({}, {}, 1) == Errc::invalid_argument);
  REQUIRE(r.lane.fence(FenceStep::error) == Errc::ok);
  CHECK(r.lane.post(request(1)) == Errc::path_down);
  CHECK(Api::sent.empty());
}

TEST_CASE("a long notify is split where routing is adaptive: a write, then an empty notify") {
  Rig r{{.split_above = 64}};
  r.up();
  WorkRequest w = request(7);
  w.kind = WorkRequest::Kind::write_with_immediate;
  REQUIRE(r.lane.post(w) == Errc::ok);
  w.length = 64;
  REQUIRE(r.lane.post(w) == Errc::ok);
  REQUIRE(r.lane.flush() == Errc::ok);
  REQUIRE(Api::sent.size() == 3);
  CHECK(Api::sent[0].opcode == IBV_WR_RDMA_WRITE);
  CHECK(Api::sent[0].send_flags == 0);
  CHECK(Api::sent[1].opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
  CHECK(Api::sent[1].num_sge == 0);
  CHECK(Api::sent[2].num_sge == 1);
}

TEST_CASE("a fence flushes what waits for its doorbell, and forgets completions of its period") {
  Rig r;
  r.up();
  finish(IBV_WC_SUCCESS);
  CHECK(polled(r.lane) == 1);
  REQUIRE(r.lane.post(request(1)) == Errc::ok);
  REQUIRE(r.lane.fence(FenceStep::error) == Errc::ok);
  CHECK(states() == std::vector(3, IBV_QPS_ERR));
  CHECK(Api::sent.size() == 1);
  finish(IBV_WC_WR_FLUSH_ERR);
  REQUIRE(r.lane.fence(FenceStep::reset) == Errc::ok);
  CHECK(polled(r.lane) == 0);
  LaneAddress again;
  REQUIRE(r.lane.describe(again) == Errc::ok);
  CHECK(again.qp_numbers[0] == 100);
}

TEST_CASE("QPs that carried nothing, or refuse RESET, are made again") {
  Rig r;
  r.up();
  REQUIRE(r.lane.fence(FenceStep::reset) == Errc::ok);
  LaneAddress again;
  REQUIRE(r.lane.describe(again) == Errc::ok);
  CHECK(again.qp_numbers[0] == 103);
  REQUIRE(r.lane.connect(peer()) == Errc::ok);
  finish(IBV_WC_SUCCESS);
  CHECK(polled(r.lane) == 1);
  Api::modify_error = EIO;
  REQUIRE(r.lane.fence(FenceStep::reset) == Errc::ok);
  Api::modify_error = 0;
  REQUIRE(r.lane.describe(again) == Errc::ok);
  CHECK(again.qp_numbers[0] == 106);
}

TEST_CASE("what may pass is asked again, what may not fails the attempt") {
  Rig r;
  LaneAddress mine;
  Api::port = IBV_PORT_DOWN;
  CHECK(r.lane.describe(mine) == Errc::would_block);
  Api::port = IBV_PORT_ACTIVE;
  REQUIRE(r.lane.describe(mine) == Errc::ok);
  LaneAddress wrong = peer();
  wrong.lid = 3;  // An InfiniBand port.
  CHECK(r.lane.connect(wrong) == Errc::invalid_argument);
  Api::modify_error = ETIMEDOUT;
  Api::refused = IBV_QPS_RTR;
  CHECK(r.lane.connect(peer()) == Errc::would_block);
  Api::modify_error = EINVAL;
  CHECK(r.lane.connect(peer()) == Errc::path_down);
  Api::modify_error = 0;
  Api::refused = IBV_QPS_RESET;
  REQUIRE(r.lane.fence(FenceStep::reset) == Errc::ok);
  REQUIRE(r.lane.describe(mine) == Errc::ok);
  REQUIRE(r.lane.connect(peer()) == Errc::ok);
}

TEST_CASE("later connects wait for the network on a thread of the port, and no caller does") {
  Slow::start();
  verbs::Host<NoBootstrap, Slow> host{boot};
  int const of_host = Slow::live;
  LaneAddress mine;
  {
    IbVerbs<NoBootstrap, Slow> lane{host, two_qps()};
    REQUIRE(lane.describe(mine) == Errc::ok);
    REQUIRE(lane.connect(peer()) == Errc::ok);  // At set-up in the call.
    REQUIRE(lane.fence(FenceStep::reset) == Errc::ok);
    REQUIRE(lane.describe(mine) == Errc::ok);
    Slow::held = true;
    CHECK(lane.connect(peer()) == Errc::would_block);
    while (!Slow::waiting) Slow::pause();
    CHECK(lane.connect(peer()) == Errc::would_block);
    CHECK(lane.post(request(1)) == Errc::path_down);
    CHECK(lane.fence(FenceStep::error) == Errc::would_block);
    std::array<Completion, 4> some;
    CHECK(lane.poll(some) == 0);
    Slow::held = false;
    Errc e = Errc::would_block;
    while (e == Errc::would_block) e = lane.fence(FenceStep::error);
    CHECK(e == Errc::ok);
    REQUIRE(lane.fence(FenceStep::reset) == Errc::ok);

    REQUIRE(lane.describe(mine) == Errc::ok);
    for (e = lane.connect(peer()); e == Errc::would_block; e = lane.connect(peer())) Slow::pause();
    CHECK(e == Errc::ok);
    CHECK(lane.post(request(1)) == Errc::ok);
    REQUIRE(lane.fence(FenceStep::reset) == Errc::ok);

    REQUIRE(lane.describe(mine) == Errc::ok);
    Slow::held = true;
    CHECK(lane.connect(peer()) == Errc::would_block);
    while (!Slow::waiting) Slow::pause();
    Slow::held_once = true;  // Destroying it waits for that call.
  }
  CHECK(Slow::live == of_host);
}

TEST_CASE("a GID that has left its place is missed") {
  Rig r;
  r.up();
  CHECK(r.lane.address_stands());
  Api::address = 0;
  CHECK(!r.lane.address_stands());
  Api::address = 8;
  CHECK(!r.lane.address_stands());
}

TEST_CASE("everything that is made is destroyed") {
  {
    Rig r;
  }
  CHECK(Api::live == 0);
}
