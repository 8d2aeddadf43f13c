// SPDX-License-Identifier: Apache-2.0
#include <support/link_ends.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>

namespace vccl::test {
namespace {

struct Quick : Resilient {
  using Telemetry = telemetry::EventLog<>;
  using Failback = failback::Probed<failback::Probe{.first = 20_ms, .good_for = 50_ms}>;
};
template <class... Channels>
using Link = Connection<Nic, Nic, sync::ReceiverDecides<Channels...>, Quick>;

}  // namespace

std::unique_ptr<Ends> links::quick(Host& sender, Host& receiver) {
  return std::make_unique<LinkEnds<Link<>>>(sender, receiver);
}
std::unique_ptr<Ends> links::quick_out_of_band(Host& sender, Host& receiver) {
  return std::make_unique<LinkEnds<Link<sync::OutOfBand>>>(sender, receiver);
}
std::unique_ptr<Ends> links::quick_in_band(Host& sender, Host& receiver) {
  return std::make_unique<LinkEnds<Link<sync::InBand>>>(sender, receiver);
}

}  // namespace vccl::test
