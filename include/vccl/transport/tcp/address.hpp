// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Where a door is: an IPv4 or IPv6 address with its port, and the secret that opens it.

#include <vccl/detail/secret.hpp>
#include <vccl/error.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace vccl::tcp {

using vccl::detail::same_secret;
using vccl::detail::Secret;

/// Travels in a Handle. Whoever holds it may call.
struct Address {
  std::uint8_t version = 0;  ///< 4 or 6.
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t port = 0;                ///< 1 to 65535.
  std::array<std::uint8_t, 16> bytes{};  ///< In network order; of IPv4 the first four.
  Secret secret{};
};
static_assert(std::is_trivially_copyable_v<Address> && sizeof(Address) == 40);

/// All bits zero: every address of a host, which nobody can dial.
[[nodiscard]] constexpr bool is_wildcard(Address const& a) noexcept {
  return a.bytes == std::array<std::uint8_t, 16>{};
}
/// fe80::/10 (RFC 4291, 2.5.6): means something on one link only. Which one is not in the address:
/// each end has a number of its own for it.
[[nodiscard]] constexpr bool is_link_local(Address const& a) noexcept {
  return a.version == 6 && a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80;
}

/// Throws SetupError when `text` is no numeric address. Nothing is looked up: that would block.
[[nodiscard]] inline Address parse(const char* text) {
  Address a;
  if (::inet_pton(AF_INET, text, a.bytes.data()) == 1) {
    a.version = 4;
  } else if (::inet_pton(AF_INET6, text, a.bytes.data()) == 1) {
    a.version = 6;
  } else {
    throw SetupError{"inet_pton", EINVAL, "give a numeric IPv4 or IPv6 address, without a zone"};
  }
  return a;
}

/// An address as the socket calls take it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

/// False for what is no address of a door. `zone`: interface number for link-local ones.
[[nodiscard]] inline bool to_socket(Address const& a, std::uint32_t zone,
                                    SocketAddress& out) noexcept {
  out = {};
  if (a.port > 65535 || is_wildcard(a)) return false;
  std::uint16_t const port = htons(static_cast<std::uint16_t>(a.port));
  if (a.version == 4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = port;
    std::memcpy(&in.sin_addr, a.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&out.storage, &in, sizeof in);
    out.length = sizeof in;
  } else if (a.version == 6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = port;
    std::memcpy(&in.sin6_addr, a.bytes.data(), sizeof in.sin6_addr);
    if (is_link_local(a)) in.sin6_scope_id = zone;
    std::memcpy(&out.storage, &in, sizeof in);
    out.length = sizeof in;
  } else {
    return false;
  }
  return true;
}

/// The address in what a system call gave; version 0 when it is of another family.
[[nodiscard]] inline Address from_socket(const sockaddr* from) noexcept {
  Address a;
  if (from == nullptr) return a;
  if (from->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, from, sizeof in);
    a.version = 4;
    a.port = ntohs(in.sin_port);
    std::memcpy(a.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
  } else if (from->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, from, sizeof in);
    a.version = 6;
    a.port = ntohs(in.sin6_port);
    std::memcpy(a.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
  return a;
}

}  // namespace vccl::tcp
