// SPDX-License-Identifier: Apache-2.0
#include <sim/links/bundle.hpp>

namespace vccl::sim {

std::unique_ptr<test::Ends> links::both(test::Host& sender, test::Host& receiver) {
  using Link = Connection<test::Nic, test::Nic, WatchedRules<>, Bundle>;
  return std::make_unique<test::LinkEnds<Link>>(sender, receiver);
}

}  // namespace vccl::sim
