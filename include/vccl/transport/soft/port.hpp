// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A port of a host with its cable: whether it is up, how fast it is, which GIDs it answers to.

#include <vccl/op.hpp>
#include <vccl/transport/soft/event_queue.hpp>
#include <vccl/transport/soft/memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vccl::soft {

/// What a port has seen. Packets are counted one by one, also in trains.
struct PortStats {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_delivered = 0;  ///< Reached a QP of this port that was there and listening.
  std::uint64_t packets_dropped = 0;    ///< Sent by this port and lost on the way.
  std::uint64_t packets_ignored = 0;    ///< Reached this port, and no QP wanted them.
  std::uint64_t data_bytes = 0;         ///< Of kind data, sent for the first time.
  std::uint64_t data_bytes_again = 0;   ///< Of kind data, sent once more.
  std::uint64_t steps = 0;  ///< Writes with immediate of kind data, sent for the first time.
};

/// The GID's bytes: an IPv6 unique local address (RFC 4193) that holds where it belongs. Serial
/// numbers start at 1 and are never used twice on a port.
struct GidParts {
  std::uint16_t host = 0;
  std::uint16_t port = 0;
  std::uint32_t serial = 0;
};
[[nodiscard]] constexpr std::array<std::uint8_t, 16> make_gid(GidParts g) noexcept {
  auto byte = [](std::uint32_t v, int n) { return static_cast<std::uint8_t>(v >> (8 * n)); };
  return {0xfd,
          0x5c,
          byte(g.host, 1),
          byte(g.host, 0),
          byte(g.port, 1),
          byte(g.port, 0),
          0,
          0,
          0,
          0,
          0,
          0,
          byte(g.serial, 3),
          byte(g.serial, 2),
          byte(g.serial, 1),
          byte(g.serial, 0)};
}
[[nodiscard]] constexpr GidParts gid_parts(std::array<std::uint8_t, 16> const& g) noexcept {
  return {
      static_cast<std::uint16_t>(g[2] << 8 | g[3]), static_cast<std::uint16_t>(g[4] << 8 | g[5]),
      std::uint32_t{g[12]} << 24 | std::uint32_t{g[13]} << 16 | std::uint32_t{g[14]} << 8 | g[15]};
}

/// A port. `index` counts over all hosts.
struct Port {
  static constexpr std::size_t gid_slots = 8;

  std::uint32_t index = 0;
  std::uint16_t host = 0;
  std::uint16_t number = 0;  ///< Within the host.
  bool up = true;
  bool fatal = false;         ///< The device died.
  bool reset_breaks = false;  ///< RESET after ERR leaves a QP unusable.
  bool mute = false;          ///< Completions of its lanes are lost.
  bool ready = false;         ///< In the list of ports that may have something to send.
  bool waiting = false;       ///< An event will make it ready.
  std::uint32_t downs = 0;
  std::uint64_t speed = 0;     ///< Bytes per second; 0: no limit. What the port reports.
  std::uint64_t throttle = 0;  ///< Bytes per second; 0: none. Nothing reports it.
  Duration latency;
  std::uint32_t mtu = 4096;        ///< Bytes.
  Time free_at{INT64_MIN / 2};     ///< The cable is busy until then.
  Time arrives_at{INT64_MIN / 2};  ///< Towards this port, the cable is busy until then.
  std::array<std::uint32_t, gid_slots> gids{};  ///< Serial numbers; 0: empty.
  std::uint32_t last_gid = 0;
  std::uint32_t lost_gid = 0;  ///< Removed, to come back.
  Ring<std::uint32_t> egress;  ///< Slots of the QPs that have something to send.
  BusBuffer bus;
  LooseWrites loose;
  PortStats stats;

  /// What is held for a region that goes away is lost.
  void forget(Region const* region) {
    loose.forget(region);
    bus.forget(region);
  }
  /// All that is held is lost.
  void lose_writes() noexcept {
    loose.clear();
    bus.clear();
  }
  [[nodiscard]] bool usable() const noexcept { return up && !fatal; }
  [[nodiscard]] bool answers_to(std::uint32_t gid) const noexcept {
    for (std::uint32_t g : gids) {
      if (g == gid && gid != 0) return true;
    }
    return false;
  }
  /// The first index with a GID, or gid_slots.
  [[nodiscard]] std::size_t first_gid() const noexcept {
    std::size_t i = 0;
    while (i < gid_slots && gids[i] == 0) ++i;
    return i;
  }
  /// What the port reports. No limit reads as 800 Gbit/s.
  [[nodiscard]] std::uint32_t speed_mbps() const noexcept {
    return speed == 0 ? 800'000 : static_cast<std::uint32_t>(speed * 8 / 1'000'000);
  }
  [[nodiscard]] std::uint64_t rate() const noexcept {
    if (throttle == 0 || speed == 0) return throttle + speed;
    return throttle < speed ? throttle : speed;
  }
};

}  // namespace vccl::soft
