// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/rollback/sender_done.hpp>

#include <contracts/rollback_contract.hpp>
#include <vccl/policies/rollback/receiver_position.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using rollback::ReceiverPosition;
using rollback::SenderDone;

TEST_CASE("the sender's position is wrong, and the contract says why") {
  CHECK(contracts::rollback<SenderDone>() == "no step that the receiver lacks is skipped");
}

TEST_CASE("sending resumes where the sender stands, whatever the receiver has") {
  CHECK(SenderDone::resume(5, 5) == 5);
  CHECK(SenderDone::resume(5, 3) == 3);
  CHECK(SenderDone::resume(5, 8) == 8);
}

TEST_CASE_TEMPLATE("it replays what the receiver's position replays", Op, OrderedNotify, Idempotent,
                   TwoSided, Atomic, InlineFlag) {
  CHECK(ReplayableBy<Op, SenderDone> == ReplayableBy<Op, ReceiverPosition>);
}

}  // namespace
}  // namespace vccl::test
