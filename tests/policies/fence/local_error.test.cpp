// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/fence/local_error.hpp>

#include <contracts/fence_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using Default = fence::LocalError<>;
using Patient = fence::LocalError<fence::Drain{.deadline = 3_s}>;

TEST_CASE_TEMPLATE("local fences keep the contract", F, Default, Patient) {
  CHECK(contracts::fence<F>() == "");
}

TEST_CASE("only the sender has to be quiet, so late writes remain possible") {
  CHECK(Default::fences(End::sender));
  CHECK_FALSE(Default::fences(End::receiver));
  CHECK(contracts::safe_fence<Default>() == "the old path may write a handed-over buffer");
}

TEST_CASE("draining may take 100 ms unless told otherwise") {
  CHECK(Default::deadline() == 100_ms);
  CHECK(Patient::deadline() == 3_s);
}

}  // namespace
}  // namespace vccl::test
