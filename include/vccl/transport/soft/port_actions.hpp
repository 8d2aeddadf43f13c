// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What happens to ports, devices, hosts and lanes as a whole: cables, addresses, deaths, fences.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/queue_actions.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace vccl::soft {

/// The cable is pulled: port_error at this end only; what is under way on it is lost.
inline void link_down(Core& core, Port& port) {
  if (!port.up) return;
  port.up = false;
  ++port.downs;
  raise(core, port.index, PortEvent::Kind::port_error);
}

inline void link_up(Core& core, Port& port) {
  if (port.up) return;
  port.up = true;
  raise(core, port.index, PortEvent::Kind::port_active);
}

/// The GID that QPs would take gets another value; an empty table gets one at index 0.
inline void gid_new(Core& core, Port& port) {
  std::size_t const at = port.first_gid();
  port.gids[at == Port::gid_slots ? 0 : at] = ++port.last_gid;
  raise(core, port.index, PortEvent::Kind::address_change);
}
/// All GIDs vanish. The first of them is what gid_restore() and gid_move() bring back.
inline void gid_remove(Core& core, Port& port) {
  if (port.first_gid() == Port::gid_slots) return;
  port.lost_gid = port.gids[port.first_gid()];
  port.gids = {};
  raise(core, port.index, PortEvent::Kind::address_change);
}
inline void gid_restore(Core& core, Port& port, std::size_t at = 0) {
  if (port.lost_gid == 0 || port.first_gid() != Port::gid_slots) return;
  port.gids[at] = std::exchange(port.lost_gid, 0);
  raise(core, port.index, PortEvent::Kind::address_change);
}
/// The same value at another index, which is the only one then. Comes back there if it was removed.
inline void gid_move(Core& core, Port& port, std::size_t at) {
  if (port.first_gid() == Port::gid_slots) return gid_restore(core, port, at);
  std::uint32_t const gid = port.gids[port.first_gid()];
  port.gids = {};
  port.gids[at] = gid;
  raise(core, port.index, PortEvent::Kind::address_change);
}

/// All QPs of a lane are gone, and its CQ with them: the next one is whole.
inline void destroy_queue_pairs(Core& core, Lane& lane) {
  // Last first: where numbers are used again, a lane made next gets them in the old order.
  for (; !lane.qps.empty(); lane.qps.pop_back()) core.qps.destroy(*lane.qps.back());
  lane.cq.clear();
  lane.overrun = false;
}

[[nodiscard]] inline bool same_card(Core const& core, Port const& a, Port const& b) noexcept {
  return a.host == b.host &&
         a.number / core.config.ports_per_card == b.number / core.config.ports_per_card;
}

/// The port's device dies (IBTA vol. 1, 11.6.3.4: local catastrophic error): its QPs are gone,
/// nothing flushes, every port of the card tells.
inline void device_dies(Core& core, Port const& of) {
  for (Port& p : core.ports) {
    if (!same_card(core, p, of) || p.fatal) continue;
    p.fatal = true;
    ++p.downs;
    p.lose_writes();
    for (Lane& lane : core.lanes) {
      if (lane.port == p.index) destroy_queue_pairs(core, lane);
    }
    raise(core, p.index, PortEvent::Kind::device_fatal);
  }
}

/// The device is back, as if opened again. Registrations are kept; QPs are made anew by describe().
inline void device_returns(Core& core, Port const& of) {
  for (Port& p : core.ports) {
    if (!same_card(core, p, of) || !p.fatal) continue;
    p.fatal = false;
    if (p.up) raise(core, p.index, PortEvent::Kind::port_active);
  }
}

/// The process or machine is gone: QPs, registrations, doors and pipes with it. Its lanes stay
/// dead.
inline void kill_host(Core& core, std::uint32_t host) {
  HostState& h = core.hosts[host];
  if (!h.alive) return;
  h.alive = false;
  ++h.incarnation;
  h.events.clear();
  for (Lane& lane : core.lanes) {
    if (lane.host == host) destroy_queue_pairs(core, lane);
  }
  for (Port& p : core.ports) {
    if (p.host != host) continue;
    ++p.downs;
    p.lose_writes();
  }
  core.regions.remove_all(host * core.config.ports_per_host,
                          (host + 1) * core.config.ports_per_host);
  core.wire.kill(host);
}

/// A new process at the same addresses.
inline void revive_host(Core& core, std::uint32_t host) { core.hosts[host].alive = true; }

/// False when nothing of the lane works any more: its host was killed since it was made.
[[nodiscard]] inline bool lives(Core const& core, Lane const& lane) noexcept {
  HostState const& h = core.hosts[lane.host];
  return h.alive && h.incarnation == lane.incarnation;
}

/// Makes all QPs of a lane quiet. RESET also empties the CQ, repairs one that has overrun, and ends
/// only when what its QPs wrote has left the bus: nothing of before may land later.
inline void apply_fence(Core& core, Lane& lane, FenceStep step) {
  Port& port = core.ports[lane.port];
  for (QueuePair* qp : lane.qps) {
    if (step == FenceStep::error) {
      to_error(core, *qp);
      continue;
    }
    qp->broken = qp->broken || (port.reset_breaks && qp->was_error);
    qp->state = QpState::reset;
    qp->clear();
  }
  if (step == FenceStep::reset) {
    port.loose.land_all(core.noise, port.bus);
    port.bus.drain();
    lane.cq.clear();
    lane.overrun = false;
  }
}

}  // namespace vccl::soft
