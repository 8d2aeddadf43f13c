// SPDX-License-Identifier: Apache-2.0
// Our rules keep the contract of a SyncPolicy, and the contract sees what is wrong.
#include <contracts/sync_policy_contract.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using Ours = sync::ReceiverDecides<>;

namespace {
struct Deaf : Ours::Receiver {
  using Ours::Receiver::Receiver;
  void on_message(sync::Message const&, PathId, sync::Positions, sync::Actions&) noexcept {}
};
struct DeafPolicy : Ours {
  using Receiver = Deaf;
};
/// Believes every message to be of its session.
struct Trusting : Ours::Sender {
  using Ours::Sender::Sender;
  void on_message(sync::Message m, PathId via, sync::Positions at, sync::Actions& out) noexcept {
    m.session = 7;
    Ours::Sender::on_message(m, via, at, out);
  }
};
struct TrustingPolicy : Ours {
  using Sender = Trusting;
};
}  // namespace

TEST_CASE("our rules keep the contract") { CHECK(contracts::sync_policy<Ours>() == ""); }

TEST_CASE("the contract sees an end that does not listen, and one that listens to strangers") {
  CHECK(contracts::sync_policy<DeafPolicy>() == "a path that fails is left by both ends");
  CHECK(contracts::sync_policy<TrustingPolicy>() == "a message of another session changes nothing");
}
