// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file A connection over the lanes of libibverbs, on emulated devices, for World: links::verbs.

#include <support/emulated_verbs/machine.hpp>
#include <support/ends.hpp>
#include <support/world.hpp>
#include <vccl/route.hpp>
#include <vccl/transport/verbs/host.hpp>

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace vccl::test {

/// How the next connection over emulated devices starts. A test that changes it makes a Scope.
struct VerbsSetup {
  emulated::Habits habits{};
  std::array<verbs::HostConfig, 2> hosts{};           ///< By host.
  std::function<void(emulated::Machine&)> prepare{};  ///< Before devices are opened.
};
inline VerbsSetup verbs_setup;

/// Puts verbs_setup back.
class VerbsScope {
 public:
  explicit VerbsScope(VerbsSetup setup) { verbs_setup = std::move(setup); }
  VerbsScope(VerbsScope const&) = delete;
  VerbsScope& operator=(VerbsScope const&) = delete;
  ~VerbsScope() { verbs_setup = {}; }
};

namespace links {
/// One backup; tries a lost path after 20 ms, returns when it was good for 50 ms. Hooks that work:
/// completion, post, address, described, fence, registers, and those of messages.
std::unique_ptr<Ends> verbs(Host& sender, Host& receiver);
/// The same, with messages on the pipe only.
std::unique_ptr<Ends> verbs_out_of_band(Host& sender, Host& receiver);
}  // namespace links

/// Each port a card of its own, so that a path is a device: the backup has to be named then.
[[nodiscard]] inline Start apart(bool connect = true) {
  Route route{PortId{0}};
  route.backups[0] = PortId{1};
  return {.link = links::verbs,
          .fabric = {.ports_per_card = 1, .latency = 5_us},
          .sender = route,
          .receiver = route,
          .connect = connect};
}

/// The machine under that connection.
inline emulated::Machine& machine() { return emulated::Machine::here(); }

/// Transitions to a state that the QPs of data on a port of a host have made, in order: those of
/// flush reads, which are their own peers, left out.
inline std::vector<emulated::Modified> transitions(std::uint32_t host, std::uint32_t port,
                                                   ibv_qp_state to) {
  std::vector<emulated::Modified> const all = machine().modified();
  auto const own_peer = [&all](std::uint32_t qp) {
    return std::any_of(all.begin(), all.end(), [qp](emulated::Modified const& m) {
      return m.qp_num == qp && m.to == IBV_QPS_RTR && m.attributes.dest_qp_num == qp;
    });
  };
  std::vector<emulated::Modified> some;
  for (emulated::Modified const& m : all) {
    if (m.host == host && m.port == port && m.to == to && !own_peer(m.qp_num)) some.push_back(m);
  }
  return some;
}

}  // namespace vccl::test
