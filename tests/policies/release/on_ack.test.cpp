// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/release/on_ack.hpp>

#include <contracts/release_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("OnAck keeps the contract of a release") {
  CHECK(contracts::release<release::OnAck>() == "");
}

TEST_CASE("the NIC's acknowledgement completes every send") {
  constexpr bool needs_confirm = true;
  CHECK(release::OnAck::on_acknowledgement(!needs_confirm));
  CHECK(release::OnAck::on_acknowledgement(needs_confirm));
}

}  // namespace
}  // namespace vccl::test
