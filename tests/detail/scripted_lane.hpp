// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A Transport that does what a test says: notes what is posted, refuses when told to, completes on
/// demand. Writes land when the test gives them to a peer.

#include <archetypes/host.hpp>
#include <vccl/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

namespace vccl::test {

class ScriptedLane;

/// A work request, and the lane that took it.
struct Posted {
  std::size_t lane = 0;
  WorkRequest wr;
};
struct FlushRead {
  std::size_t lane = 0;
  Memory memory;
  Keys keys;
  std::uint64_t id = 0;
};

/// Ports without limit, and the script of every lane on them.
struct ScriptedHost : archetype::Host {
  static constexpr int never = 1 << 30;

  std::vector<ScriptedLane*> lanes;  ///< In the order in which they were made.
  std::vector<Posted> posts;         ///< Taken, over all lanes, in order.
  std::vector<FlushRead> flush_reads;
  int posts_left = never;  ///< So many are taken; then all are refused, with `refusal`.
  int receives_left = never;
  int flush_reads_left = never;
  Errc refusal = Errc::would_block;
  bool copies = false;                ///< Writes are copied to where they point to.
  std::uint16_t bad_port = 0xffff;    ///< Memory cannot be registered on it.
  int registered = 0;                 ///< Registrations alive.
};

/// Keys that tell the port: 100 + port locally, 200 + port for the peer.
class ScriptedRegistration {
 public:
  ScriptedRegistration(ScriptedHost& host, PortId port) noexcept : host_{&host}, port_{port} {
    ++host_->registered;
  }
  ScriptedRegistration(ScriptedRegistration&& other) noexcept
      : host_{other.host_}, port_{other.port_} {
    other.host_ = nullptr;
  }
  ScriptedRegistration& operator=(ScriptedRegistration&&) = delete;
  ~ScriptedRegistration() {
    if (host_ != nullptr) --host_->registered;
  }
  [[nodiscard]] Keys keys() const noexcept {
    auto const p = static_cast<std::uint32_t>(port_);
    return {100 + p, 200 + p};
  }

 private:
  ScriptedHost* host_;
  PortId port_;
};
