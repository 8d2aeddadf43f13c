// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Packets between ports: what gets lost, how long it takes.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/queue_actions.hpp>

#include <algorithm>
#include <cstdint>

namespace vccl::soft {

/// How long `bytes` take at `rate` bytes per second; 0 is no limit.
[[nodiscard]] constexpr Duration time_for(std::uint64_t bytes, std::uint64_t rate) noexcept {
  if (rate == 0) return Duration{};
  std::uint64_t const whole = bytes / rate;
  std::uint64_t const rest = bytes % rate;
  return Duration{static_cast<std::int64_t>(whole * 1'000'000'000 +
                                            rest * 1'000'000 / rate * 1'000 +
                                            rest * 1'000'000 % rate * 1'000 / rate)};
}

/// Packets of one train on that port's cable: many when nothing can happen to one of them, what
/// fits 64 KiB when time passes meanwhile, one when a fault picks packets.
[[nodiscard]] inline std::uint64_t train_packets(Core const& core, Port const& port,
                                                 std::uint64_t mtu) noexcept {
  if (core.adaptive_routing || core.faults.picks_packets(port.index)) return 1;
  bool const slow = port.rate() != 0 || port.latency.ns != 0;
  return std::max<std::uint64_t>(1,
                                 (slow ? std::uint64_t{64} << 10 : std::uint64_t{1} << 20) / mtu);
}

/// Whether a packet could leave or reach these ports at all.
[[nodiscard]] inline bool reachable(Core const& core, Port const& from, Port const& to,
                                    Packet const& p) noexcept {
  if (from.index == to.index) return !from.fatal && (from.up || !core.config.loopback_needs_link);
  if (core.config.rails && from.number != to.number) return false;
  return (p.in_network ||
          (from.usable() && from.downs == p.from_downs && from.answers_to(p.from_gid))) &&
         to.usable() && to.downs == p.to_downs && to.answers_to(p.to_gid);
}

/// Bytes that will be read later than now go with the packet: the sender's memory may change.
inline void keep_payload(Packet& p) {
  if (p.payload.computed != nullptr || p.payload.length == 0 || p.payload.bytes == p.buffer.data())
    return;
  p.buffer.assign(p.payload.bytes, p.payload.bytes + p.payload.length);
  p.payload.bytes = p.buffer.data();
}

inline void schedule_packet(Core& core, std::uint32_t n, Time at) {
  if (at <= core.now()) {
    core.arrivals.push(n);
  } else {
    keep_payload(core.packets[n]);
    core.events.push(at, Event::Kind::packet, n);
  }
}

/// Loses a packet. It counts as dropped by the port that sent it.
inline void lose(Core& core, std::uint32_t n) {
  Packet const& p = core.packets[n];
  core.ports[p.from_port].stats.packets_dropped += p.count;
  core.packets.give_back(n);
}

/// Puts a packet on its port's cable. Returns when its last byte has left.
inline Time send(Core& core, std::uint32_t n) {
  Packet& p = core.packets[n];
  Port& from = core.ports[p.from_port];
  Port& to = core.ports[p.to_port];
  Time const now = core.now();
  from.stats.packets_sent += p.count;
  p.from_downs = from.downs;
  p.to_downs = to.downs;
  if (from.index == to.index) {
    core.arrivals.push(n);
    return now;
  }

  Time start = now;
  Time left = now;
  if (p.payload.length != 0 && (from.rate() | to.rate()) != 0) {
    start = std::max(now, from.free_at);
    left = start + time_for(p.payload.length, from.rate());
  }
  Duration const latency = std::max(from.latency, to.latency);
  Time arrives = left + latency;
  if (p.payload.length != 0 && to.rate() != 0) {
    // Priority flow control: a sender waits while the cable towards the receiver is busy.
    arrives = std::max(
        arrives, std::max(start + latency, to.arrives_at) + time_for(p.payload.length, to.rate()));
    to.arrives_at = arrives;
    left = std::max(left, Time{arrives.ns - latency.ns});
  }
  if (p.payload.length != 0) from.free_at = left;
  if (!reachable(core, from, to, p)) {
    lose(core, n);
    return left;
  }
  PacketFate const fate = core.faults.on_packet(p);
  if (fate.copy) {
    std::uint32_t const twin = core.packets.take();
    Packet& q = core.packets[twin];
    q = core.packets[n];
    q.in_network = true;
    if (q.payload.bytes != nullptr && q.payload.computed == nullptr) {
      q.buffer.assign(p.payload.bytes, p.payload.bytes + p.payload.length);
      q.payload.bytes = q.buffer.data();
    }
    schedule_packet(core, twin, arrives + fate.copy_after);
  }
  if (fate.lost) {
    lose(core, n);
    return left;
  }
  if (fate.later.ns != 0 || fate.not_before > arrives) p.in_network = true;
  arrives = std::max(arrives + fate.later, fate.not_before);
  if (core.adaptive_routing && p.op == Op::write && !p.has_immediate) {
    arrives = arrives + Duration{static_cast<std::int64_t>(core.noise.below(
                            static_cast<std::uint64_t>(core.config.routing_spread.ns)))};
  }
  schedule_packet(core, n, arrives);
  return left;
}

}  // namespace vccl::soft
