// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A sender and a receiver that are ready, made by hand or of a Connection: driven alike.

#include <vccl/connection.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <codegen/hand_written/receiver.hpp>
#include <codegen/hand_written/sender.hpp>
#include <codegen/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace vccl::codegen {

using NoFailover = Connection<wire::Lane>;
using WithFailover = Connection<wire::Lane, wire::Lane, sync::ReceiverDecides<>, Resilient>;

struct Logged : Resilient {
  using Telemetry = telemetry::EventLog<>;
};
using WithEventLog = Connection<wire::Lane, wire::Lane, sync::ReceiverDecides<>, Logged>;

/// Written by hand.
struct Bare {
  explicit Bare(std::uint8_t qps = 1, std::uint16_t send_depth = 256)
      : sender{a, qps, send_depth}, receiver{b, qps, send_depth} {
    ready = hand_written::End::connect(sender, receiver);
  }

  Memory source(std::span<std::byte> s) { return memory(a, s, Access::local); }
  Memory target(std::span<std::byte> s, MemoryKind kind = MemoryKind::host) {
    return memory(b, s, Access::remote_write, kind);
  }

  wire::Network network;
  wire::Host a{network}, b{network};
  hand_written::Sender sender;
  hand_written::Receiver receiver;
  bool ready = false;

 private:
  Memory memory(wire::Host& host, std::span<std::byte> s, Access access,
                MemoryKind kind = MemoryKind::host) {
    if (s.empty()) return {};
    auto const owned =
        wire::Lane::register_memory(host, PortId{0}, s.data(), s.size(), access, kind);
    keys_.emplace_back()[0][0] = owned.keys();
    return {reinterpret_cast<std::uint64_t>(s.data()), s.size(), &keys_.back(), kind};
  }

  std::deque<KeyTable> keys_;
};

/// Of a Connection.
template <class Link>
struct Linked {
  explicit Linked(std::uint8_t qps = 1, std::uint16_t send_depth = 256)
      : listener{context_b.listen(route(qps, send_depth))},
        sender{context_a.connect(route(qps, send_depth), listener.handle())},
        receiver{listener.accept()} {
    for (int i = 0; i < 64; ++i) {
      bool const one = sender.ready();
      bool const other = receiver.ready();
      ready = one && other;
    }
  }

  Memory source(std::span<std::byte> s) { return memory(sender, s, MemoryKind::host); }
  Memory target(std::span<std::byte> s, MemoryKind kind = MemoryKind::host) {
    return memory(receiver, s, kind);
  }

  wire::Network network;
  wire::Host a{network}, b{network};
  typename Link::Context context_a{a}, context_b{b};
  typename Link::Listener listener;
  typename Link::Sender sender;
  typename Link::Receiver receiver;
  bool ready = false;

 private:
  static Route route(std::uint8_t qps, std::uint16_t send_depth) {
    Route r{PortId{0}};
    r.qps_per_lane = qps;
    r.send_depth = send_depth;
    return r;
  }
  template <class E>
  Memory memory(E& end, std::span<std::byte> s, MemoryKind kind) {
    if (s.empty()) return {};
    registrations_.push_back(end.register_memory(s.data(), s.size(), kind));
    return registrations_.back().whole();
  }

  std::vector<typename Link::Sender::Registered> registrations_;
};

}  // namespace vccl::codegen
