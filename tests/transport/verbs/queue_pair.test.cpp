// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/queue_pair.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::verbs;

namespace {
LaneAddress peer() {
  LaneAddress a;
  a.gid[15] = 9;
  a.qp_numbers = {11, 12, 13, 14};
  a.packet_numbers = {0xff12'3456, 2, 3, 4};
  a.max_message = 1 << 20;
  a.lid = 77;
  a.mtu = IBV_MTU_1024;
  a.qps = 1;
  return a;
}
LaneConfig tuned() {
  LaneConfig c;
  c.timeout = 18;
  c.retry_count = 5;
  c.rnr_retry = 3;
  c.min_rnr_timer = 14;
  c.service_level = 2;
  c.traffic_class = 106;
  return c;
}
}  // namespace

TEST_CASE("INIT names the port, and lets the peer write but only the flush QP be read") {
  LocalPort port;
  port.number = 2;
  Transition const t = to_init(port, false);
  CHECK(t.attributes.qp_state == IBV_QPS_INIT);
  CHECK(t.attributes.port_num == 2);
  CHECK(t.attributes.qp_access_flags == IBV_ACCESS_REMOTE_WRITE);
  CHECK(to_init(port, true).attributes.qp_access_flags == IBV_ACCESS_REMOTE_READ);
  CHECK(t.mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

TEST_CASE("on Ethernet RTR has a GRH with the chosen GID, and the smaller MTU") {
  LocalPort port;
  port.mtu = IBV_MTU_4096;
  port.gid_index = 3;
  Transition t = to_rtr(tuned(), port, peer(), 1);
  ibv_ah_attr const& way = t.attributes.ah_attr;
  CHECK(t.attributes.path_mtu == IBV_MTU_1024);
  CHECK(t.attributes.dest_qp_num == 12);
  CHECK(t.attributes.min_rnr_timer == 14);
  CHECK(way.is_global == 1);
  CHECK(way.grh.sgid_index == 3);
  CHECK(way.grh.dgid.raw[15] == 9);
  CHECK(way.grh.hop_limit == 255);
  CHECK(way.grh.traffic_class == 106);
  CHECK(way.sl == 2);
  CHECK(way.dlid == 0);
  port.mtu = IBV_MTU_512;
  CHECK(to_rtr(tuned(), port, peer(), 0).attributes.path_mtu == IBV_MTU_512);
  CHECK(to_rtr(tuned(), port, peer(), 0).attributes.rq_psn == 0x12'3456);
}

TEST_CASE("on InfiniBand a peer of the same subnet has a LID, one of another a GRH and a FLID") {
  LocalPort port;
  port.ethernet = false;
  LaneAddress there = peer();
  ibv_ah_attr way = address_of(tuned(), port, there);
  CHECK(way.is_global == 0);
  CHECK(way.dlid == 77);
  there.gid[7] = 1;  // Another subnet.
  way = address_of(tuned(), port, there);
  CHECK(way.is_global == 1);
  CHECK(way.dlid == 77);
  there.gid[4] = 0x12;
  CHECK(address_of(tuned(), port, there).dlid == 0x1200);
}

TEST_CASE("RTS has the timers of the lane and a packet number of 24 bits") {
  Transition const t = to_rts(tuned(), 0xffab'cdef);
  CHECK(t.attributes.timeout == 18);
  CHECK(t.attributes.retry_cnt == 5);
  CHECK(t.attributes.rnr_retry == 3);
  CHECK(t.attributes.sq_psn == 0xab'cdef);
  CHECK(t.attributes.max_rd_atomic == 1);
}

TEST_CASE("ERR and RESET change the state alone") {
  for (ibv_qp_state s : {IBV_QPS_ERR, IBV_QPS_RESET}) {
    CHECK(to_state(s).attributes.qp_state == s);
    CHECK(to_state(s).mask == IBV_QP_STATE);
  }
}

TEST_CASE("numbers that no QP can have are refused") {
  auto refused = [](auto change) {
    LaneConfig c;
    change(c);
    CHECK_THROWS_AS(check_lane(c), SetupError);
  };
  check_lane(LaneConfig{});
  refused([](LaneConfig& c) { c.qps = 0; });
  refused([](LaneConfig& c) { c.qps = 5; });
  refused([](LaneConfig& c) { c.send_depth = 0; });
  refused([](LaneConfig& c) { c.timeout = 32; });
  refused([](LaneConfig& c) { c.retry_count = 8; });
  refused([](LaneConfig& c) { c.min_rnr_timer = 32; });
  refused([](LaneConfig& c) { c.service_level = 16; });
}

TEST_CASE("an address of other QPs, without an MTU or a message size is not sound") {
  LaneConfig const c;
  CHECK(is_sound(c, peer()));
  LaneAddress a = peer();
  a.qps = 2;
  CHECK_FALSE(is_sound(c, a));
  a = peer();
  a.mtu = 0;
  CHECK_FALSE(is_sound(c, a));
  a.mtu = 6;
  CHECK_FALSE(is_sound(c, a));
  a = peer();
  a.max_message = 0;
  CHECK_FALSE(is_sound(c, a));
}

TEST_CASE("the CQ holds every queue, and the peer gets no more access than it was given") {
  LaneConfig c;
  c.qps = 2;
  c.send_depth = 16;
  c.receive_depth = 8;
  CHECK(queue_depth(c) == 2 * (16 + 8) + 16);
  c.cq_depth = 5;
  CHECK(queue_depth(c) == 5);
  CHECK(access_flags(Access::local, MemoryKind::device) == IBV_ACCESS_LOCAL_WRITE);
  unsigned const record = access_flags(Access::remote_write, MemoryKind::host);
  CHECK(record == (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  CHECK((access_flags(Access::remote_write, MemoryKind::device) & IBV_ACCESS_REMOTE_READ) != 0);
  CHECK((access_flags(Access::remote_write_relaxed, MemoryKind::host) &
         IBV_ACCESS_RELAXED_ORDERING) != 0);
}
