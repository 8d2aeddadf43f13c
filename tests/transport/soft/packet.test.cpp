// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/packet.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::soft;

TEST_CASE("packet numbers have 24 bits and wrap (IBTA vol. 1, 9.2.3)") {
  CHECK(psn_add(0xff'ffff, 1) == 0);
  CHECK(psn_distance(0xff'fffe, 3) == 5);
  CHECK(psn_distance(3, 0xff'fffe) == 0xff'fffb);
}

TEST_CASE("the retry timeout is 4.096 us x 2^code (IBTA vol. 1, 9.7.6.1.3)") {
  CHECK(ack_timeout(14) == Duration{67'108'864});
  CHECK(ack_timeout(16) == Duration{268'435'456});
}

TEST_CASE(
    "receiver-not-ready timers are those of the table (IBTA vol. 1, 9.7.5.2.8; man "
    "ibv_modify_qp)") {
  CHECK(rnr_timer(0) == Duration{655'360'000});
  CHECK(rnr_timer(1) == Duration{10'000});
  CHECK(rnr_timer(12) == Duration{640'000});
  CHECK(rnr_timer(31) == Duration{491'520'000});
  for (std::uint8_t code = 2; code < 32; ++code) CHECK(rnr_timer(code) > rnr_timer(code - 1));
}

TEST_CASE("network order puts the highest byte first") {
  std::uint32_t const v = wire_order(0x01020304);
  CHECK(reinterpret_cast<const unsigned char*>(&v)[0] == 1);
  CHECK(wire_order(v) == 0x01020304);
}

TEST_CASE("packets are used again, and a used one starts empty") {
  PacketPool pool;
  std::uint32_t const n = pool.take();
  pool[n].psn = 5;
  pool[n].buffer.resize(10);
  CHECK(pool.in_use() == 1);
  pool.give_back(n);
  CHECK(pool.in_use() == 0);
  CHECK(pool.take() == n);
  CHECK(pool[n].psn == 0);
}
