// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/rollback/receiver_position.hpp>

#include <contracts/rollback_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using rollback::ReceiverPosition;

TEST_CASE("the receiver's position keeps the contract of a rollback") {
  CHECK(contracts::rollback<ReceiverPosition>() == "");
}

TEST_CASE("sending resumes where the receiver stands, whatever the sender believes") {
  CHECK(ReceiverPosition::resume(5, 5) == 5);
  CHECK(ReceiverPosition::resume(5, 3) == 5);  // An acknowledgement was lost.
  CHECK(ReceiverPosition::resume(5, 8) == 5);  // A flush failed after the acknowledgement.
  CHECK(ReceiverPosition::resume(0, ~Step{0}) == 0);
  CHECK(ReceiverPosition::resume(~Step{0}, 0) == ~Step{0});
}

TEST_CASE("only what may land twice is replayed") {
  CHECK(ReplayableBy<OrderedNotify, ReceiverPosition>);
  CHECK(ReplayableBy<Idempotent, ReceiverPosition>);
  CHECK_FALSE(ReplayableBy<TwoSided, ReceiverPosition>);
  CHECK_FALSE(ReplayableBy<Atomic, ReceiverPosition>);
  CHECK_FALSE(ReplayableBy<InlineFlag, ReceiverPosition>);
}

}  // namespace
}  // namespace vccl::test
