// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Which entry of a port's GID table a lane uses; asked again at each re-arm, since entries move.

#include <vccl/error.hpp>
#include <vccl/transport/verbs/status.hpp>

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace vccl::verbs {

/// What the user wants of a GID.
struct GidWish {
  int index = -1;           ///< This one and no other; -1: the best.
  bool prefer_ipv4 = true;  ///< Among routable ones, those of IPv4 first (as NCCL's default).
  std::uint32_t routable_index = 1;  ///< InfiniBand: used when its GID holds a FLID (as NCCL's).
};

[[nodiscard]] inline bool is_zero(ibv_gid const& g) noexcept {
  for (std::uint8_t b : g.raw) {
    if (b != 0) return false;
  }
  return true;
}

/// fe80::/64, which no router passes on (RFC 4291, 2.5.6).
[[nodiscard]] inline bool is_link_local(ibv_gid const& g) noexcept {
  if (g.raw[0] != 0xfe || g.raw[1] != 0x80) return false;
  for (std::size_t i = 2; i < 8; ++i) {
    if (g.raw[i] != 0) return false;
  }
  return true;
}

/// ::ffff:a.b.c.d, an IPv4 address (RFC 4291, 2.5.5.2; RoCE v2 puts it so into the table).
[[nodiscard]] inline bool is_ipv4(ibv_gid const& g) noexcept {
  for (std::size_t i = 0; i < 10; ++i) {
    if (g.raw[i] != 0) return false;
  }
  return g.raw[10] == 0xff && g.raw[11] == 0xff;
}

/// Local identifier of a router on the way to other subnets; bytes 4 and 5 (NCCL net_ib, FLID).
[[nodiscard]] inline std::uint16_t flid_of(ibv_gid const& g) noexcept {
  return static_cast<std::uint16_t>(g.raw[4] << 8 | g.raw[5]);
}
/// Subnet within the fabric; bytes 6 and 7 (NCCL net_ib, local subnet prefix).
[[nodiscard]] inline std::uint16_t subnet_of(ibv_gid const& g) noexcept {
  return static_cast<std::uint16_t>(g.raw[6] << 8 | g.raw[7]);
}

/// How good an entry is for RoCE; 0: not at all. Routable RoCE v2 is best. RoCE v1 is taken only
/// when there is no RoCE v2: the two do not understand each other, and both ends choose alike. NCCL
/// (net_ib) looks at the family first and at the version then; where only the family that is not
/// preferred has RoCE v2, it keeps v1 and this does not.
[[nodiscard]] inline int rank_of(ibv_gid_entry const& e, GidWish const& wish) noexcept {
  if (is_zero(e.gid)) return 0;
  bool const v2 = e.gid_type == IBV_GID_TYPE_ROCE_V2;
  if (!v2 && e.gid_type != IBV_GID_TYPE_ROCE_V1) return 0;
  bool const routable = !is_link_local(e.gid);
  bool const wanted = is_ipv4(e.gid) == wish.prefer_ipv4;
  return 1 + (v2 ? 4 : 0) + (routable ? 2 : 0) + (routable && wanted ? 1 : 0);
}

/// Walks the table of a port; of equal entries the first stays. ok: `into` is the entry.
/// would_block: none is usable now (a port that came up a moment ago). path_down: the device does
/// not answer.
template <class Api>
[[nodiscard]] Errc choose_gid(ibv_context* context, std::uint8_t port, ibv_port_attr const& attr,
                              GidWish const& wish, ibv_gid_entry& into) noexcept {
  // ENODATA is a hole in the table; providers without the newer call say EINVAL for it.
  auto ask = [&](std::uint32_t index, ibv_gid_entry& entry) {
    entry = {};
    int const error = error_of(Api::query_gid(context, port, index, &entry));
    if (error == 0 && !is_zero(entry.gid)) return Errc::ok;
    bool const hole = error == 0 || error == ENODATA || error == EINVAL || is_transient(error);
    return hole ? Errc::would_block : Errc::path_down;
  };
  if (wish.index >= 0) return ask(static_cast<std::uint32_t>(wish.index), into);
  std::uint32_t const length =
      attr.gid_tbl_len > 0 ? static_cast<std::uint32_t>(attr.gid_tbl_len) : 0;
  if (attr.link_layer != IBV_LINK_LAYER_ETHERNET) {
    if (wish.routable_index < length && ask(wish.routable_index, into) == Errc::ok &&
        flid_of(into.gid) != 0) {
      return Errc::ok;
    }
    return ask(0, into);
  }
  int best = 0;
  for (std::uint32_t i = 0; i < length; ++i) {
    ibv_gid_entry e;
    Errc const answer = ask(i, e);
    if (answer == Errc::path_down) return answer;
    if (answer != Errc::ok || rank_of(e, wish) <= best) continue;
    best = rank_of(e, wish);
    into = e;
  }
  return best > 0 ? Errc::ok : Errc::would_block;
}

}  // namespace vccl::verbs
