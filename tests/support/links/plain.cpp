// SPDX-License-Identifier: Apache-2.0
#include <support/link_ends.hpp>

namespace vccl::test {

std::unique_ptr<Ends> links::plain(Host& sender, Host& receiver) {
  return std::make_unique<LinkEnds<Connection<Nic>>>(sender, receiver);
}

}  // namespace vccl::test
