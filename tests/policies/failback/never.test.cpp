// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/failback/never.hpp>

#include <contracts/failback_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("never keeps the contract of a failback") {
  CHECK(contracts::failback<failback::Never>({}) == "");
}

TEST_CASE("a lost path is not tried again") {
  CHECK_FALSE(failback::Never::returns());
  CHECK(failback::Never::probe_after(0, 0) == 946'080'000_s);  // 30 years.
  CHECK(failback::Never::good_for() == Duration{});
}

}  // namespace
}  // namespace vccl::test
