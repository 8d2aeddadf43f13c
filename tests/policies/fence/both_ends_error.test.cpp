// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/fence/both_ends_error.hpp>

#include <contracts/fence_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using Default = fence::BothEndsError<>;
using Patient = fence::BothEndsError<fence::Drain{.deadline = 3_s}>;

TEST_CASE_TEMPLATE("both ends' fences keep the contract and are safe", F, Default, Patient) {
  CHECK(contracts::fence<F>() == "");
  CHECK(contracts::safe_fence<F>() == "");
}

TEST_CASE("both ends have to be quiet") {
  CHECK(Default::fences(End::sender));
  CHECK(Default::fences(End::receiver));
}

TEST_CASE("draining may take 100 ms unless told otherwise") {
  CHECK(Default::deadline() == 100_ms);
  CHECK(Patient::deadline() == 3_s);
}

}  // namespace
}  // namespace vccl::test
