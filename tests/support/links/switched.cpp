// SPDX-License-Identifier: Apache-2.0
#include <support/switched.hpp>

#include <support/link_ends.hpp>
#include <vccl/sync/receiver_decides.hpp>

namespace vccl::test {

std::unique_ptr<Ends> links::switched(Host& sender, Host& receiver) {
  using Link = Connection<Nic, Nic, sync::ReceiverDecides<>, Switched>;
  return std::make_unique<LinkEnds<Link>>(sender, receiver);
}

}  // namespace vccl::test
