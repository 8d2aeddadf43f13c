// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What a connection tells of itself.

#include <vccl/op.hpp>

#include <array>
#include <cstdint>

namespace vccl {

/// Counts since the connection was made.
struct Counters {
  std::uint64_t failovers = 0;      ///< Switches to a higher path.
  std::uint64_t failbacks = 0;      ///< Switches to a lower path.
  std::uint64_t path_faults = 0;    ///< Paths left, for whatever cause.
  std::uint64_t rearms = 0;         ///< Paths brought up again at both ends.
  std::uint64_t arm_attempts = 0;   ///< Receiver: attempts to bring a path up.
  std::uint64_t probes = 0;         ///< Probes posted.
  std::uint64_t steps = 0;          ///< Sender: completed. Receiver: received.
  std::uint64_t resent_steps = 0;   ///< Sender.
  std::uint64_t resent_bytes = 0;   ///< Sender: payload of the resent steps.
  std::uint64_t stale = 0;          ///< Completions of an earlier life of a path, ignored.
  std::uint64_t flush_reads = 0;    ///< Receiver.
  std::uint64_t messages_sent = 0;  ///< Control messages.
  std::uint64_t messages_taken = 0;
};

/// A snapshot; any thread may ask for one.
struct ConnectionStatus {
  bool ready = false;       ///< Set up at both ends.
  bool ended = false;       ///< No request will be accepted any more; `cause` says why.
  bool has_backup = false;  ///< Another path than the active one is usable at this end.
  bool buffers_unsafe =
      false;  ///< A fence failed: buffers may still be touched until the device closes.
  PathId active_path = 0;
  std::uint8_t usable_paths = 0;  ///< Bit per path, this end's view.
  Epoch epoch = 0;
  Cause cause = Cause::none;  ///< Terminal cause once ended; of the outage under way before.
  std::array<Cause, max_paths> path_causes{};  ///< Why a path was left last.
  Duration outage{};     ///< Last switch: from the fault to the first new step.
  Duration on_backup{};  ///< Time spent on a path other than the primary.
  Counters counters;
};

}  // namespace vccl
