// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/telemetry/no_telemetry.hpp>

#include <contracts/telemetry_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("recording nothing keeps the contract of telemetry") {
  CHECK(contracts::telemetry<telemetry::NoTelemetry>() == "");
}

struct Host {
  int other = 0;
  [[no_unique_address]] telemetry::NoTelemetry telemetry;
};

TEST_CASE("recording nothing costs no bytes") { CHECK(sizeof(Host) == sizeof(int)); }

}  // namespace
}  // namespace vccl::test
