// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// How a fabric of software NICs is made.

#include <vccl/op.hpp>

#include <cstddef>
#include <cstdint>

namespace vccl::soft {

/// Everything that does not change in the life of a fabric, and what ports start with.
struct FabricConfig {
  std::size_t hosts = 2;
  std::size_t ports_per_host = 2;
  std::size_t ports_per_card = 2;  ///< Ports of one device: PortState::card, device-wide faults.
  bool virtual_time = false;       ///< Time stands still but for advance() and step().
  std::uint64_t seed = 1;          ///< Of everything by chance, when time is virtual.
  Duration latency{};              ///< Between two ports, one way.
  std::uint64_t bytes_per_second = 0;                  ///< Of each port, each way; 0: no limit.
  std::uint64_t max_message = std::uint64_t{1} << 30;  ///< Bytes.
  std::uint32_t mtu = 4096;                            ///< Bytes: 256, 512, 1024, 2048 or 4096.
  Duration oob_latency{};                              ///< Of the bootstrap network, one way.
  std::size_t gids_per_port = 1;  ///< Entries of the GID table in use at the start, at most 8.
  bool rails = false;             ///< Only ports with the same number reach each other.
  bool reuse_qp_numbers = false;  ///< A new QP gets the number of the one destroyed last.
  std::int32_t first_psn = -1;    ///< Of every QP; -1: a fresh random one each time.
  std::uint32_t timeout_percent =
      100;  ///< Real NICs take 0.3 to 3 times the nominal retry timeout.
  bool seven_retries_for_ever = false;  ///< As Linux' rxe does with retry_count 7; IBTA says seven.
  bool flush_receives_in_error =
      true;                         ///< Receives posted in ERR flush (IBTA); Linux' rxe keeps them.
  bool relaxed_ordering = false;    ///< Memory registered so gets its writes in any order.
  bool loopback_needs_link = true;  ///< Flush reads need an active port, as with rxe.
  std::uint64_t max_in_flight = std::uint64_t{64} << 20;  ///< Unacknowledged bytes per QP.
  Duration routing_spread = {20'000};  ///< Adaptive routing: packets differ by up to this.
};

}  // namespace vccl::soft
