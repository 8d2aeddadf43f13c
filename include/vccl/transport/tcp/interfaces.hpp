// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Which address of this host a door has.

#include <vccl/error.hpp>
#include <vccl/transport/tcp/address.hpp>
#include <vccl/transport/tcp/config.hpp>

#include <net/if.h>

#include <cerrno>
#include <cstdint>
#include <ifaddrs.h>
#include <string_view>

namespace vccl::tcp {

/// The number of the configured interface; 0 when none is named. Throws SetupError: no such one.
template <class Api>
[[nodiscard]] std::uint32_t zone_of(Config const& config) {
  if (config.interface == nullptr) return 0;
  std::uint32_t const zone = Api::interface_index(config.interface);
  if (zone == 0) throw SetupError{"if_nametoindex", ENODEV, advice(ENODEV)};
  return zone;
}

/// Throws SetupError when a link-local address comes without its zone.
inline void check_zone(const char* call, Address const& a, std::uint32_t zone) {
  if (is_link_local(a) && zone == 0)
    throw SetupError{call, EINVAL, "a link-local address needs the name of an interface with it"};
}

/// How well an interface's address suits, from 0, the best; `unfit`: not at all.
inline constexpr int unfit = 3;
[[nodiscard]] inline int fitness(ifaddrs const& i, Config const& config, Address const& wanted) {
  Address const a = from_socket(i.ifa_addr);
  if (a.version == 0 || (i.ifa_flags & IFF_UP) == 0) return unfit;
  if (config.interface != nullptr) {
    if (std::string_view{i.ifa_name} != config.interface) return unfit;
  } else if ((i.ifa_flags & IFF_LOOPBACK) != 0 || is_link_local(a)) {
    return unfit;
  }
  if (wanted.version != 0 && (a.version != wanted.version || a.bytes != wanted.bytes)) return unfit;
  return a.version == 4 ? 0 : is_link_local(a) ? 2 : 1;
}

/// The address that `config` names, or else the best one of its interface: IPv4, then IPv6, then
/// IPv6 of the link. With neither, the first of any interface that is up and no loopback; a host
/// without one has 127.0.0.1. Throws SetupError: no such address or interface.
template <class Api>
[[nodiscard]] Address local_address(Config const& config) {
  std::uint32_t const zone = zone_of<Api>(config);
  Address wanted;
  if (config.address != nullptr) {
    wanted = parse(config.address);
    if (is_wildcard(wanted))
      throw SetupError{"listen", EINVAL, "peers dial this address: give one of this host"};
    check_zone("listen", wanted, zone);
    if (zone == 0) return wanted;  // bind() tells whether it is ours.
  }
  ifaddrs* list = nullptr;
  if (Api::interfaces(&list) != 0) throw SetupError{"getifaddrs", errno, advice(errno)};
  Address best;
  int best_fitness = unfit;
  for (ifaddrs const* i = list; i != nullptr; i = i->ifa_next) {
    int const f = fitness(*i, config, wanted);
    if (f >= best_fitness) continue;
    best_fitness = f;
    best = from_socket(i->ifa_addr);
  }
  Api::free_interfaces(list);
  if (best.version != 0) return best;
  if (zone == 0) return parse("127.0.0.1");
  throw SetupError{"getifaddrs", EADDRNOTAVAIL,
                   "this interface is down, or has no such address: see `ip address`"};
}

}  // namespace vccl::tcp
