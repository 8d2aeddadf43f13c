// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/ports.hpp>

#include <vccl/policies/path/dual_port.hpp>
#include <vccl/policies/path/xor1.hpp>

#include <doctest/doctest.h>

using namespace vccl;

namespace {
/// Ports of two per card.
struct TwoPerCard {
  std::size_t count;
  std::size_t port_count() const noexcept { return count; }
  PortState port_state(PortId p) const noexcept {
    return {.active = true,
            .card = static_cast<std::uint16_t>(static_cast<unsigned>(p) / 2),
            .speed_mbps = 100};
  }
};
Ports ports_of(Route const& r, PathId q, std::size_t count = 8) {
  TwoPerCard h{count};
  return detail::ports_of<path::DualPort>(h, r, q);
}
}  // namespace

TEST_CASE("the backup of one lane is the selector's choice") {
  Ports const b = ports_of(PortId{2}, 1);
  REQUIRE(b.count == 1);
  CHECK(b.at[0] == PortId{3});
}

TEST_CASE("no lane of a backup is a port of the primary, or used twice") {
  Ports const b = ports_of(Ports{PortId{0}, PortId{1}}, 1);
  CHECK(b.count == 0);  // Both ports of the card are in use: there is no dual-port backup.
  Ports const c = ports_of(Ports{PortId{0}, PortId{2}}, 1);
  REQUIRE(c.count == 2);
  CHECK(c.at[0] == PortId{1});
  CHECK(c.at[1] == PortId{3});
}

TEST_CASE("a host without another port has no backup, and that is no error") {
  CHECK(ports_of(PortId{0}, 1, 1).count == 0);
}

TEST_CASE("ports that are named are taken as they are") {
  Route r{PortId{0}};
  r.backups[0] = PortId{5};
  Ports const b = ports_of(r, 1);
  REQUIRE(b.count == 1);
  CHECK(b.at[0] == PortId{5});
}

TEST_CASE("lanes are made as the route and the bundle's deadlines say") {
  Route r{PortId{0}};
  r.qps_per_lane = 3;
  r.send_depth = 99;
  Timing t;
  t.nic_timeout = 18;
  t.nic_retry_count = 5;
  t.nic_rnr_retry = 2;
  t.nic_min_rnr_timer = 9;
  LaneConfig const c = detail::lane_config(r, t, 64);
  CHECK(c.qps == 3);
  CHECK(c.send_depth == 99);
  CHECK(c.receive_depth == 64);
  CHECK(c.timeout == 18);
  CHECK(c.retry_count == 5);
  CHECK(c.rnr_retry == 2);
  CHECK(c.min_rnr_timer == 9);
  CHECK(c.port == no_port);
}

TEST_CASE("a port that is not there, and a path of too many lanes, are refused with words") {
  CHECK_THROWS_AS(static_cast<void>(ports_of(PortId{8}, 0)), SetupError);
  Route r{PortId{0}};
  r.backups[0] = PortId{99};
  CHECK_THROWS_AS(static_cast<void>(ports_of(r, 1)), SetupError);
  Ports const five{PortId{0}, PortId{1}, PortId{2}, PortId{3}, PortId{4}};
  CHECK_THROWS_AS(detail::check_route(Route{five}), SetupError);
}

TEST_CASE("route numbers out of range are refused, the edges are not") {
  auto const fails = [](auto change) {
    Route r{PortId{0}};
    change(r);
    try {
      detail::check_route(r);
      return false;
    } catch (SetupError const&) {
      return true;
    }
  };
  CHECK_FALSE(fails([](Route&) {}));
  CHECK(fails([](Route& r) { r.qps_per_lane = 0; }));
  CHECK_FALSE(fails([](Route& r) { r.qps_per_lane = max_qps; }));
  CHECK(fails([](Route& r) { r.qps_per_lane = max_qps + 1; }));
  CHECK(fails([](Route& r) { r.send_depth = 31; }));
  CHECK_FALSE(fails([](Route& r) { r.send_depth = 32; }));
  CHECK_FALSE(fails([](Route& r) { r.send_depth = 8192; }));
  CHECK(fails([](Route& r) { r.send_depth = 8193; }));
  CHECK(fails([](Route& r) { r.primary = Ports{}; }));
}
