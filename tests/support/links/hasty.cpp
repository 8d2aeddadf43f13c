// SPDX-License-Identifier: Apache-2.0
#include <support/link_ends.hpp>
#include <vccl/sync/receiver_decides.hpp>

namespace vccl::test {
namespace {

struct Hasty : Resilient {
  using Detector =
      detect::AnyOf<detect::CompletionStatus<>, detect::PortEvent<detect::Hold{.hold = 5_ms}>,
                    detect::StallDeadline<>>;
  using Failback =
      failback::Probed<failback::Probe{.first = 10_ms, .cap = 50_ms, .good_for = 20_ms}>;
};
using Link = Connection<Nic, Nic, sync::ReceiverDecides<>, Hasty>;

}  // namespace

std::unique_ptr<Ends> links::hasty(Host& sender, Host& receiver) {
  return std::make_unique<LinkEnds<Link>>(sender, receiver);
}

}  // namespace vccl::test
