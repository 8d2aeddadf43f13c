// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/device.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::verbs;

TEST_CASE("a name takes its device only, not one whose name begins with it") {
  PortName const n = parse_port_name("mlx5_1");
  CHECK(takes(n, "mlx5_1", 1));
  CHECK(takes(n, "mlx5_1", 2));
  CHECK_FALSE(takes(n, "mlx5_10", 1));
  CHECK_FALSE(takes(n, "mlx5_", 1));
  CHECK_FALSE(takes(parse_port_name("mlx5_10"), "mlx5_1", 1));
}

TEST_CASE("a name with a number takes that port only") {
  PortName const n = parse_port_name("mlx5_1:2");
  CHECK(n.device == "mlx5_1");
  CHECK(takes(n, "mlx5_1", 2));
  CHECK_FALSE(takes(n, "mlx5_1", 1));
  CHECK(parse_port_name("a:255").port == 255);
}

TEST_CASE("what names no port is refused") {
  for (const char* bad :
       {"", ":1", "a:", "a:0", "a:256", "a:x", "a:1x", "a:99999999999", "a:1:2"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(static_cast<void>(parse_port_name(bad)), SetupError);
  }
}

TEST_CASE("InfiniBand and RoCE are supported, iWARP is not") {
  ibv_device d{};
  d.transport_type = IBV_TRANSPORT_IB;
  CHECK(is_supported(d));
  d.transport_type = IBV_TRANSPORT_IWARP;
  CHECK_FALSE(is_supported(d));
}

TEST_CASE("speed is width times lane speed, and 0 where either is unknown") {
  auto speed = [](std::uint8_t width, std::uint8_t lane) {
    ibv_port_attr p{};
    p.active_width = width;
    p.active_speed = lane;
    return speed_mbps(p);
  };
  CHECK(speed(2, 32) == 100'000);   // EDR 4X
  CHECK(speed(2, 128) == 400'000);  // NDR 4X
  CHECK(speed(1, 1) == 2'500);      // SDR 1X, as soft-RoCE says
  CHECK(speed(16, 64) == 100'000);  // HDR 2X
  CHECK(speed(4, 4) == 80'000);
  CHECK(speed(8, 16) == 168'000);
  CHECK(speed(0, 32) == 0);
  CHECK(speed(2, 0) == 0);
}

TEST_CASE("a message is what the port takes, 2 GiB at most") {
  ibv_port_attr p{};
  p.max_msg_sz = 8u << 20;
  CHECK(max_message(p) == 8u << 20);
  p.max_msg_sz = 0xffff'ffff;
  CHECK(max_message(p) == 1u << 31);
}
