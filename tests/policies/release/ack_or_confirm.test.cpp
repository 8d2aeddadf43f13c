// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/release/ack_or_confirm.hpp>

#include <contracts/release_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("AckOrConfirm keeps the contract of a release") {
  CHECK(contracts::release<release::AckOrConfirm>() == "");
}

TEST_CASE("the acknowledgement completes a send unless its memory needs a flush") {
  constexpr bool needs_confirm = true;
  CHECK(release::AckOrConfirm::on_acknowledgement(!needs_confirm));
  CHECK_FALSE(release::AckOrConfirm::on_acknowledgement(needs_confirm));
}

}  // namespace
}  // namespace vccl::test
