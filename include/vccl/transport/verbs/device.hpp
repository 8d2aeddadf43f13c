// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Which devices and ports are used, by exact name, and what a port's attributes mean.

#include <vccl/error.hpp>
#include <vccl/op.hpp>

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace vccl::verbs {

/// A device, or one port of it. The name is not owned.
struct PortName {
  std::string_view device;
  std::uint8_t port = 0;  ///< From 1, as libibverbs counts; 0: every port.
};

/// "mlx5_1" or "mlx5_1:2". Throws SetupError for anything else.
[[nodiscard]] inline PortName parse_port_name(std::string_view text) {
  PortName n{text.substr(0, text.find(':'))};
  unsigned port = 0;
  if (n.device.size() != text.size()) {
    for (char c : text.substr(n.device.size() + 1)) {
      bool const digit = c >= '0' && c <= '9';
      port = digit && port < 256 ? port * 10 + static_cast<unsigned>(c - '0') : 256;
    }
    if (port == 0 || port > 255) n.device = {};
  }
  if (n.device.empty())
    throw SetupError{"parse_port_name", EINVAL, "a port is named DEVICE or DEVICE:NUMBER"};
  n.port = static_cast<std::uint8_t>(port);
  return n;
}

/// Exact: "mlx5_1" does not take mlx5_10.
[[nodiscard]] constexpr bool takes(PortName const& n, std::string_view device,
                                   std::uint8_t port) noexcept {
  return n.device == device && (n.port == 0 || n.port == port);
}

/// Reliable connections as we need them: InfiniBand and RoCE; not iWARP, which lacks immediates.
[[nodiscard]] inline bool is_supported(ibv_device const& d) noexcept {
  return d.transport_type == IBV_TRANSPORT_IB;
}

/// The card of a device, from where its device stands in sysfs: the functions of one PCI device
/// (".../0000:17:00.0" and ".../0000:17:00.1") are one card. Empty for one that is not on PCI.
[[nodiscard]] constexpr std::string_view card_of_path(std::string_view path) noexcept {
  std::size_t const slash = path.rfind('/');
  std::string_view const last = slash == path.npos ? path : path.substr(slash + 1);
  bool const pci = last.size() == 12 && last[4] == ':' && last[7] == ':' && last[10] == '.';
  return pci ? path.substr(0, path.size() - 2) : std::string_view{};
}

/// Megabits a second: width times lane speed (IBTA vol. 1, 14.2.5.6 PortInfo; man ibv_query_port).
/// 0: unknown, as for a port that is down.
[[nodiscard]] constexpr std::uint32_t speed_mbps(ibv_port_attr const& p) noexcept {
  auto lanes = [&]() -> std::uint32_t {
    switch (p.active_width) {
      case 1:
        return 1;
      case 2:
        return 4;
      case 4:
        return 8;
      case 8:
        return 12;
      case 16:
        return 2;
      default:
        return 0;
    }
  };
  auto lane = [&]() -> std::uint32_t {
    switch (p.active_speed) {
      case 1:
        return 2'500;
      case 2:
        return 5'000;
      case 4:
      case 8:
        return 10'000;
      case 16:
        return 14'000;
      case 32:
        return 25'000;
      case 64:
        return 50'000;
      case 128:
        return 100'000;
      default:
        return 0;
    }
  };
  return lanes() * lane();
}

/// Bytes of a message; a work request's length has 32 bits and the IBTA's limit is 2^31.
[[nodiscard]] constexpr std::uint64_t max_message(ibv_port_attr const& p) noexcept {
  return p.max_msg_sz < 1u << 31 ? p.max_msg_sz : 1u << 31;
}

}  // namespace vccl::verbs
