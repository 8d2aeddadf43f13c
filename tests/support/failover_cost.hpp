// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What a failover costs in virtual time: measured by a test and shown by a benchmark.

#include <vccl/op.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace vccl::test {

/// One failover, from its detection to the first step that arrives on the backup.
struct FailoverCost {
  Duration round_trip{};   ///< Of the network, in which only latency takes time.
  Duration to_new_byte{};  ///< From detection at the one end to the first new step at the receiver.
  Duration fence{};        ///< Of that, the receiver's fence. The sender's goes on beside it.
  std::size_t outstanding = 0;      ///< Steps on the wire at detection, not received.
  std::uint64_t resent_bytes = 0;   ///< As the sender counts them.
  std::uint64_t missing_bytes = 0;  ///< Of those steps that it had sent and R had not received.
  std::uint64_t faults = 0;         ///< Cables that were pulled.
  std::uint64_t failovers = 0;      ///< At both ends together.
  std::string problems;             ///< "" when every byte is right.

  /// Round trips without the fence.
  [[nodiscard]] double round_trips() const noexcept {
    return static_cast<double>(to_new_byte.ns - fence.ns) / static_cast<double>(round_trip.ns);
  }
};

/// A port of the detecting end loses its cable, so that only this end is told; `outstanding` steps
/// of `bytes` are on the wire, 0 or up to 64. With 0 a step is posted when the fault is detected.
/// `fence`: what each of the two steps of a fence takes.
[[nodiscard]] FailoverCost failover_cost(End detects, std::size_t outstanding,
                                         std::uint64_t bytes = 4096, Duration fence = {});

}  // namespace vccl::test
