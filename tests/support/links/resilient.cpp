// SPDX-License-Identifier: Apache-2.0
#include <support/link_ends.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>

namespace vccl::test {
namespace {

struct Logged : Resilient {
  using Telemetry = telemetry::EventLog<>;
};
using Link = Connection<Nic, Nic, sync::ReceiverDecides<>, Logged>;

}  // namespace

std::unique_ptr<Ends> links::resilient(Host& sender, Host& receiver) {
  return std::make_unique<LinkEnds<Link>>(sender, receiver);
}

}  // namespace vccl::test
