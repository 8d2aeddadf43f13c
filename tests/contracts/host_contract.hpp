// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Host must keep, beyond its syntax: run on two hosts whose ports are cabled.

#include <vccl/concepts.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace vccl::contracts {

/// Two hosts, a way to let what is under way happen, and the cable of a port of `a`.
template <Host H, class Wait, class Cable>
struct HostPair {
  H& a;
  H& b;
  PortId port;
  Wait wait;    ///< Called between polls.
  Cable cable;  ///< cable(bool up)
};

namespace host_detail {

/// Polls for an event of a host, for a while.
template <class H, class Wait>
bool next_event(H& host, PortEvent& e, Wait& wait) {
  for (int tries = 0; tries < 100; ++tries) {
    if (host.poll_event(e)) return true;
    wait();
  }
  return false;
}

template <class P, class Wait>
std::size_t next_message(P& pipe, std::span<std::byte> into, Wait& wait) {
  for (int tries = 0; tries < 100; ++tries) {
    if (std::size_t const n = pipe.receive(into); n != 0) return n;
    wait();
  }
  return 0;
}

template <class H, class Wait>
std::string_view ports(H& a, H& b, PortId port, Wait& wait, auto& cable) {
  PortEvent e;
  if (a.poll_event(e) || b.poll_event(e)) return "tells nothing while nothing happens";
  if (!a.port_state(port).active) return "a port that is cabled is active";
  cable(false);
  if (!next_event(a, e, wait)) return "tells that a port goes down";
  if (e.kind != PortEvent::Kind::port_error || e.port != port) return "names the port that is down";
  if (a.port_state(port).active) return "asks for a port's state now";
  if (a.poll_event(e)) return "hands out each event once";
  if (b.poll_event(e)) return "tells of its own ports only";
  cable(true);
  if (!next_event(a, e, wait) || e.kind != PortEvent::Kind::port_active || e.port != port)
    return "tells that the port is back";
  if (!a.port_state(port).active) return "asks for a port's state each time";
  return {};
}

template <class H, class Wait>
std::string_view pipes(H& a, H& b, Wait& wait) {
  auto door = b.listen();
  typename H::Pipe there;
  if (door.accept(there)) return "nobody is at a door that nobody has dialled";
  auto here = a.dial(door.address());
  std::array<std::byte, 3> const first{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 4096> big{};
  big.back() = std::byte{9};
  if (here.send(first) != Errc::ok || here.send(big) != Errc::ok)
    return "a new pipe takes messages";
  bool open = false;
  for (int tries = 0; tries < 100 && !open; ++tries) {
    open = door.accept(there);
    if (!open) wait();
  }
  if (!open) return "a door gives a pipe to who dials it";
  std::array<std::byte, 4096> got{};
  if (next_message(there, got, wait) != 3 || got[2] != std::byte{3}) return "messages arrive whole";
  if (next_message(there, got, wait) != 4096 || got.back() != std::byte{9})
    return "messages of 4096 bytes arrive, in order";
  if (there.send(first) != Errc::ok || next_message(here, got, wait) != 3)
    return "a pipe goes both ways";
  typename H::Pipe another;
  if (door.accept(another)) return "one call is one pipe";
  return {};
}

}  // namespace host_detail

/// The first sentence that H breaks, or nothing.
template <Host H, class Wait, class Cable>
std::string_view host(HostPair<H, Wait, Cable> p) {
  Time const before = p.a.now();
  if (static_cast<std::size_t>(p.port) >= p.a.port_count()) return "counts its ports";
  PortId const none{static_cast<std::uint16_t>(p.a.port_count())};
  if (p.a.port_state(none) != PortState{}) return "a port that is not there is not active";
  if (p.a.random() == p.a.random()) return "random numbers differ";
  if (auto const broken = host_detail::ports(p.a, p.b, p.port, p.wait, p.cable); !broken.empty())
    return broken;
  if (auto const broken = host_detail::pipes(p.a, p.b, p.wait); !broken.empty()) return broken;
  if (p.a.now() < before) return "time does not run backwards";
  return {};
}

}  // namespace vccl::contracts
