// SPDX-License-Identifier: Apache-2.0
#include <support/link_ends.hpp>
#include <vccl/sync/receiver_decides.hpp>

namespace vccl::test {

std::unique_ptr<Ends> links::four_paths(Host& sender, Host& receiver) {
  using Link = Connection<Nic, Backups<Nic, Nic, Nic>, sync::ReceiverDecides<>, Resilient>;
  return std::make_unique<LinkEnds<Link>>(sender, receiver);
}

}  // namespace vccl::test
