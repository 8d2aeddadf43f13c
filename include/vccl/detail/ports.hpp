// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Which ports each path of a route gets: those named, or those that the selector chooses.

#include <vccl/concepts.hpp>
#include <vccl/route.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace vccl::detail {

/// Throws SetupError for a route that cannot be.
inline void check_route(Route const& r) {
  if (r.primary.count == 0 || r.primary.count > max_lanes) {
    throw SetupError{"Route", 0, "a path has one to four ports (lanes)"};
  }
  if (r.qps_per_lane == 0 || r.qps_per_lane > max_qps)
    throw SetupError{"Route", 0, "qps_per_lane is 1 to 4"};
  if (r.send_depth < 32 || r.send_depth > 8192)
    throw SetupError{"Route", 0, "send_depth is 32 to 8192"};
}

/// How the lanes of a route are made; their port is still to be named.
[[nodiscard]] inline LaneConfig lane_config(Route const& r, Timing const& t,
                                            std::uint16_t receives) noexcept {
  LaneConfig c;
  c.qps = r.qps_per_lane;
  c.send_depth = r.send_depth;
  c.receive_depth = receives;
  c.timeout = t.nic_timeout;
  c.retry_count = t.nic_retry_count;
  c.rnr_retry = t.nic_rnr_retry;
  c.min_rnr_timer = t.nic_min_rnr_timer;
  return c;
}

[[nodiscard]] constexpr bool has_port(Ports const& ports, PortId p) noexcept {
  for (std::size_t l = 0; l < ports.count; ++l) {
    if (ports.at[l] == p) return true;
  }
  return false;
}

/// The selector's `n`-th backup for every lane of the primary; none when one lane has none.
template <PathSelector Selector, class H>
[[nodiscard]] Ports select_backup(H& host, Ports const& primary, std::size_t n) noexcept {
  std::array<PortView, 64> views;
  std::size_t const count = host.port_count() < views.size() ? host.port_count() : views.size();
  for (std::size_t i = 0; i < count; ++i) {
    PortId const p{static_cast<std::uint16_t>(i)};
    views[i] = {p, host.port_state(p)};
  }
  Ports out;
  for (std::size_t l = 0; l < primary.count; ++l) {
    std::size_t k = n;
    PortId p = no_port;
    do {
      p = Selector::backup(primary.at[l], {views.data(), count}, k++);
    } while (p != no_port && (has_port(primary, p) || has_port(out, p)));
    if (p == no_port) return {};
    out.at[out.count++] = p;
  }
  return out;
}

/// Ports of path `q`; empty when there is no such backup. Throws SetupError for a port that is not
/// there.
template <PathSelector Selector, class H>
[[nodiscard]] Ports ports_of(H& host, Route const& route, PathId q) {
  Ports ports = q == 0 ? route.primary : route.backups[q - 1u];
  if (q != 0 && ports.count == 0) ports = select_backup<Selector>(host, route.primary, q - 1u);
  if (ports.count > max_lanes) throw SetupError{"Route", 0, "a path has one to four ports (lanes)"};
  for (std::size_t l = 0; l < ports.count; ++l) {
    if (static_cast<std::size_t>(ports.at[l]) >= host.port_count()) {
      throw SetupError{"Route", 0, "no such port on this host: see port_count()"};
    }
  }
  return ports;
}

}  // namespace vccl::detail
