// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What can be set of the out-of-band channel over TCP, and what an errno of it means.

#include <vccl/op.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace vccl::tcp {

/// The defaults suit a cluster's management network. The names are not owned.
struct Config {
  // Where a door is; nothing of it binds who dials, but for the zone of link-local addresses.
  const char* address = nullptr;    ///< Of this host, numeric: peers dial it.
  const char* interface = nullptr;  ///< By name, as `ip link` has it.
  std::uint16_t port = 0;           ///< 0: any that is free.

  // Who dials.
  Duration connect = {10'000'000'000};      ///< A first connection is tried for so long, ...
  Duration connect_once = {2'000'000'000};  ///< ... each attempt for so long: TCP asks twice in it
                                            ///< (RFC 6298, 2.1: again after 1 s), ...
  Duration wait_first = {10'000'000};       ///< ... after a pause of so long, ...
  Duration wait_most = {1'000'000'000};     ///< ... twice as long each time, at most this.

  // Who listens.
  Duration patience = {2'000'000'000};  ///< A caller that has not greeted in this is dropped.
  std::size_t callers = 64;             ///< That have not greeted yet.
  std::size_t waiting = 256;            ///< That have, and are not accepted yet.
  Duration look_every = {5'000'000};    ///< Pipes look for callers that come back so often.

  // Both.
  std::size_t queue = 16 << 10;  ///< Bytes of messages that wait for the socket, per pipe.
};

/// True when a connection that failed so may succeed later: the peer is not up yet, the network is
/// on its way, or something else has the port for now.
[[nodiscard]] constexpr bool transient(int error) noexcept {
  switch (error) {
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTDOWN:
    case ENETDOWN:
    case EAGAIN:
    case EADDRNOTAVAIL:  // No local port is free just now (connect(2)).
    case EPROTO:
      return true;
    default:
      return false;
  }
}

/// What to do about an errno of set-up.
[[nodiscard]] constexpr const char* advice(int error) noexcept {
  switch (error) {
    case EADDRINUSE:
      return "another socket listens on this port: give another, or 0 for any that is free";
    case EADDRNOTAVAIL:
      return "this host has no such address: see `ip address`";
    case EACCES:
    case EPERM:
      return "not allowed: ports below 1024 need root, and a firewall may refuse";
    case EMFILE:
    case ENFILE:
      return "too many open files: raise `ulimit -n`";
    case EAFNOSUPPORT:
      return "this host does not speak that address family: give an address of the other";
    case ENODEV:
      return "this host has no such interface: see `ip link`";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "no route to the peer: see `ip route get`, and the address that the peer gave";
    case ECONNREFUSED:
    case ETIMEDOUT:
      return "nobody answers there: is the peer up, does its firewall let us through";
    case ECONNABORTED:
      return "the peer has closed its door or its end of this pipe";
    case EPROTO:
      return "who answers there is no door of this library, or of another version";
    case EINVAL:
      return "this is no address of a door";
    default:
      return "see errno(3)";
  }
}

}  // namespace vccl::tcp
