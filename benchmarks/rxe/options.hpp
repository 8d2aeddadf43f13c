// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What one end of a measurement is told, and the two measurements.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vccl::bench {

struct Options {
  bool sends = false;
  std::string folder;   ///< Shared by both hosts, empty when they start: handles and barriers.
  std::string address;  ///< Of this host, on the management network.
  std::string bundle;   ///< none, resilient or retry_timeout.
  std::vector<std::size_t> bandwidth, latency;  ///< Bytes of a message, each measured in turn.
  std::size_t megabytes = 16;                   ///< Of each bandwidth.
  std::size_t round_trips = 1000;               ///< Of each latency.
  std::size_t window = 16;                      ///< Messages under way.
  int rest = -1;              ///< Microseconds between two polls that found nothing.
  std::size_t bytes = 65536;  ///< Of a message of the failover.
  std::chrono::steady_clock::time_point deadline;
};

/// Bandwidth and latency. Prints a line of JSON for each.
void measure_speed(Options const& o);
/// A stream that outlives what is done to its ports. Prints a line of JSON for each event.
void measure_failover(Options const& o);

}  // namespace vccl::bench
