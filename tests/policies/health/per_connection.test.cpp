// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/health/per_connection.hpp>

#include <contracts/health_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("sharing nothing keeps the contract of health") {
  CHECK(contracts::health<health::PerConnection>() == "");
  CHECK(contracts::health_while_watched<health::PerConnection>() == "");
}

TEST_CASE("no event of a port is ever shared") {
  health::PerConnection board;
  for (auto const kind : {vccl::PortEvent::Kind::port_error, vccl::PortEvent::Kind::device_fatal}) {
    board.note({.kind = kind, .port = PortId{0}}, Time{1});
    CHECK_FALSE(board.watch(PortId{0}, Time{1'000}).down);
  }
}

}  // namespace
}  // namespace vccl::test
