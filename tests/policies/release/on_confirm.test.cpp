// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/release/on_confirm.hpp>

#include <contracts/release_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("OnConfirm keeps the contract of a release") {
  CHECK(contracts::release<release::OnConfirm>() == "");
}

TEST_CASE("only the receiver's position completes a send") {
  constexpr bool needs_confirm = true;
  CHECK_FALSE(release::OnConfirm::on_acknowledgement(!needs_confirm));
  CHECK_FALSE(release::OnConfirm::on_acknowledgement(needs_confirm));
}

}  // namespace
}  // namespace vccl::test
