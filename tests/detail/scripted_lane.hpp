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
#include <utility>
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
  bool copies = false;              ///< Writes are copied to where they point to.
  std::uint16_t bad_port = 0xffff;  ///< Memory cannot be registered on it.
  int registered = 0;               ///< Registrations alive.
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
  ScriptedRegistration& operator=(ScriptedRegistration&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(port_, other.port_);
    return *this;
  }
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

class ScriptedLane {
 public:
  using Host = ScriptedHost;
  using Registration = ScriptedRegistration;
  static constexpr Limits limits{.max_inline = 128};

  ScriptedLane(ScriptedHost& host, LaneConfig const& c)
      : config{c}, host_{&host}, number_{host.lanes.size()} {
    host.lanes.push_back(this);
  }
  ScriptedLane(ScriptedLane const&) = delete;
  ScriptedLane& operator=(ScriptedLane const&) = delete;

  Errc post(WorkRequest const& wr) noexcept {
    if (host_->posts_left == 0) return host_->refusal;
    --host_->posts_left;
    host_->posts.push_back({number_, wr});
    if (host_->copies)
      std::memcpy(reinterpret_cast<void*>(wr.remote), reinterpret_cast<const void*>(wr.local),
                  wr.length);
    return Errc::ok;
  }
  Errc post_receive(std::uint8_t qp, std::uint64_t id) noexcept {
    if (host_->receives_left == 0) return host_->refusal;
    --host_->receives_left;
    receives[qp].push_back(id);
    return Errc::ok;
  }
  Errc post_flush_read(Memory const& m, Keys k, std::uint64_t id) noexcept {
    if (host_->flush_reads_left == 0) return host_->refusal;
    --host_->flush_reads_left;
    host_->flush_reads.push_back({number_, m, k, id});
    return Errc::ok;
  }
  Errc flush() noexcept {
    ++rings;
    return ringing;
  }
  std::size_t poll(std::span<Completion> out) noexcept {
    std::size_t n = 0;
    for (; n < out.size() && !finished.empty(); ++n) {
      out[n] = finished.front();
      finished.pop_front();
    }
    return n;
  }
  Errc fence(FenceStep s) noexcept { return s == FenceStep::error ? error : reset; }
  Errc describe(LaneAddress& mine) noexcept {
    mine.qp_numbers[0] = 1000 + static_cast<std::uint32_t>(number_);
    return describes;
  }
  Errc connect(LaneAddress const& theirs) noexcept {
    connected_to = theirs.qp_numbers[0];
    return connects;
  }
  std::uint64_t max_message() noexcept { return longest; }
  static ScriptedRegistration register_memory(ScriptedHost& host, PortId port, void*, std::size_t,
                                              Access, MemoryKind) {
    if (static_cast<std::uint16_t>(port) == host.bad_port)
      throw SetupError{"register_memory", 0, "the test says no"};
    return {host, port};
  }

  /// Completes the oldest receive of a QP with a notify.
  void notify(std::uint8_t qp, std::uint32_t immediate, Status status = Status::success) {
    finished.push_back({.id = receives[qp].front(),
                        .status = status,
                        .kind = Completion::Kind::received_with_immediate,
                        .immediate = immediate});
    receives[qp].pop_front();
  }

  LaneConfig config;
  std::array<std::deque<std::uint64_t>, max_qps> receives;
  std::deque<Completion> finished;  ///< What poll() will tell.
  Errc error = Errc::ok, reset = Errc::ok, describes = Errc::ok, connects = Errc::ok;
  Errc ringing = Errc::ok;
  int rings = 0;
  std::uint32_t connected_to = 0;
  std::uint64_t longest = std::uint64_t{1} << 31;

 private:
  ScriptedHost* host_;
  std::size_t number_;
};
static_assert(Transport<ScriptedLane>);

/// Completes what was posted as number `n` over all lanes.
inline void complete(ScriptedHost& host, std::size_t n, Status status = Status::success) {
  Posted const& p = host.posts.at(n);
  host.lanes[p.lane]->finished.push_back({.id = p.wr.id, .status = status});
}

}  // namespace vccl::test
