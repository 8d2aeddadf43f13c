// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/rollback/no_rollback.hpp>

#include <contracts/rollback_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using rollback::NoRollback;

TEST_CASE("no rollback keeps the contract") { CHECK(contracts::rollback<NoRollback>() == ""); }

TEST_CASE_TEMPLATE("nothing is replayed", Op, OrderedNotify, Idempotent, TwoSided, Atomic,
                   InlineFlag) {
  CHECK_FALSE(ReplayableBy<Op, NoRollback>);
}

}  // namespace
}  // namespace vccl::test
