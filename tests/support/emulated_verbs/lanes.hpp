// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Two lanes of libibverbs on emulated devices, for tests that need no connection.

#include <support/emulated_verbs/emulated_verbs.hpp>
#include <vccl/transport/soft/fabric.hpp>
#include <vccl/transport/verbs/lane.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vccl::test {

using VerbsLane = IbVerbs<soft::Host, EmulatedVerbs>;

/// Two hosts with their devices open.
struct VerbsNet {
  explicit VerbsNet(soft::FabricConfig config = {}, emulated::Habits habits = {},
                    verbs::HostConfig host = {})
      : fabric{still(config)},
        machine{fabric.host(0).core(), habits},
        a{open(fabric.host(0), host)},
        b{open(fabric.host(1), host)} {}
  static soft::FabricConfig still(soft::FabricConfig c) {
    c.virtual_time = true;
    return c;
  }
  static VerbsLane::Host open(soft::Host& boot, verbs::HostConfig const& config) {
    emulated::Machine::At const at{boot.index()};
    return VerbsLane::Host{boot, config};
  }
  soft::Fabric fabric;
  emulated::Machine machine;
  VerbsLane::Host a, b;
};

/// Port 0 of both hosts, connected, with a buffer each.
struct VerbsLanes : VerbsNet {
  explicit VerbsLanes(LaneConfig lane = {}, soft::FabricConfig fabric_config = {},
                      verbs::HostConfig host = {})
      : VerbsNet{fabric_config, {}, host},
        config{with_port(lane)},
        at_a{a, config},
        at_b{b, config},
        from{VerbsLane::register_memory(a, PortId{0}, source.data(), source.size(), Access::local,
                                        MemoryKind::host)},
        into{VerbsLane::register_memory(b, PortId{0}, target.data(), target.size(),
                                        Access::remote_write, MemoryKind::host)} {
    connected = at_a.describe(address_a) == Errc::ok && at_b.describe(address_b) == Errc::ok &&
                at_a.connect(address_b) == Errc::ok && at_b.connect(address_a) == Errc::ok;
  }
  static LaneConfig with_port(LaneConfig c) {
    c.port = PortId{0};
    return c;
  }
  WorkRequest write(std::uint64_t bytes, std::uint64_t id, std::uint8_t qp = 0) {
    WorkRequest w;
    w.qp = qp;
    w.id = id;
    w.length = bytes;
    w.local = reinterpret_cast<std::uintptr_t>(source.data());
    w.remote = reinterpret_cast<std::uintptr_t>(target.data());
    w.keys = {from.keys().local, into.keys().remote};
    return w;
  }
  /// All that has finished.
  static std::vector<Completion> poll(VerbsLane& lane) {
    std::vector<Completion> all;
    std::array<Completion, 16> some;
    for (std::size_t n = lane.poll(some); n != 0; n = lane.poll(some))
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    return all;
  }

  LaneConfig config;
  std::array<std::byte, 4096> source{}, target{};
  VerbsLane at_a, at_b;
  VerbsLane::Registration from, into;
  LaneAddress address_a, address_b;
  bool connected = false;
};

}  // namespace vccl::test
