// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/fence/no_fence.hpp>

#include <contracts/fence_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("no fence keeps the contract") { CHECK(contracts::fence<fence::NoFence>() == ""); }

TEST_CASE("no end has to be quiet, which is known to be unsafe") {
  CHECK_FALSE(fence::NoFence::fences(End::sender));
  CHECK_FALSE(fence::NoFence::fences(End::receiver));
  CHECK(fence::NoFence::deadline() == Duration{});
  CHECK(contracts::safe_fence<fence::NoFence>() == "the sender's NIC may read a released buffer");
}

}  // namespace
}  // namespace vccl::test
