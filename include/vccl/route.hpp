// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Which ports a connection uses: the lanes of its primary, and, where the selector is not to
/// choose, of its backups.

#include <vccl/op.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>

namespace vccl {

/// The ports of one path, one per lane.
struct Ports {
  std::array<PortId, max_lanes> at{no_port, no_port, no_port, no_port};
  std::uint8_t count = 0;

  constexpr Ports() = default;
  constexpr Ports(PortId p) noexcept
      : at{p, no_port, no_port, no_port}, count{1} {}  // NOLINT: a port is a path of one lane
  /// At most four; more are refused when the connection is made.
  constexpr Ports(std::initializer_list<PortId> ports) noexcept {
    for (PortId p : ports) {
      if (count < max_lanes) at[count] = p;
      ++count;
    }
  }
};

/// Where a connection runs. Both ends need the same number of lanes and QPs.
struct Route {
  Ports primary;
  std::uint8_t qps_per_lane = 1;               ///< 1 to 4.
  std::uint16_t send_depth = 256;              ///< Work requests per send queue, 32 to 8192.
  Step first_step = 0;                         ///< For tests that start just below a wrap.
  Epoch first_epoch = 1;                       ///< Likewise. The receiver's counts.
  std::array<Ports, max_paths - 1> backups{};  ///< Empty: the bundle's PathSelector chooses.

  constexpr Route(PortId p) noexcept : primary{p} {}  // NOLINT
  constexpr Route(Ports p) noexcept : primary{p} {}   // NOLINT
};

}  // namespace vccl
