// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/gid.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace vccl;
using namespace vccl::verbs;

namespace {
constexpr std::uint32_t v1 = IBV_GID_TYPE_ROCE_V1, v2 = IBV_GID_TYPE_ROCE_V2;

ibv_gid_entry local(std::uint32_t type) {
  ibv_gid_entry e{};
  e.gid.raw[0] = 0xfe;
  e.gid.raw[1] = 0x80;
  e.gid.raw[15] = 1;
  e.gid_type = type;
  return e;
}
ibv_gid_entry ipv4(std::uint32_t type, std::uint8_t last = 1) {
  ibv_gid_entry e{};
  e.gid.raw[10] = e.gid.raw[11] = 0xff;
  e.gid.raw[12] = 10;
  e.gid.raw[15] = last;
  e.gid_type = type;
  return e;
}
ibv_gid_entry ipv6(std::uint32_t type) {
  ibv_gid_entry e{};
  e.gid.raw[0] = 0xfd;
  e.gid.raw[15] = 1;
  e.gid_type = type;
  return e;
}
ibv_gid_entry const hole{};

/// A port whose table is the test's. `error` is what every query answers, if not 0.
struct Table {
  static inline std::vector<ibv_gid_entry> entries;
  static inline int error = 0;
  static inline int asked = 0;
  static int query_gid(ibv_context*, std::uint8_t, std::uint32_t i, ibv_gid_entry* into) noexcept {
    ++asked;
    if (error != 0) return error;
    if (i >= entries.size()) return EINVAL;
    if (is_zero(entries[i].gid)) return ENODATA;
    *into = entries[i];
    into->gid_index = i;
    return 0;
  }
};

/// Index of the chosen entry, or -1 and what choose_gid says.
int choose(std::vector<ibv_gid_entry> table, GidWish wish = {}, bool ethernet = true,
           Errc expect = Errc::ok) {
  Table::entries = std::move(table);
  Table::asked = 0;
  ibv_port_attr attr{};
  attr.gid_tbl_len = static_cast<int>(Table::entries.size());
  attr.link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  ibv_gid_entry into{};
  Errc const e = choose_gid<Table>(nullptr, 1, attr, wish, into);
  CHECK(e == expect);
  return e == Errc::ok ? static_cast<int>(into.gid_index) : -1;
}
}  // namespace

TEST_CASE("routable RoCE v2 is chosen wherever it stands") {
  CHECK(choose({local(v1), local(v2), ipv4(v1), ipv4(v2), ipv6(v2)}) == 3);
  CHECK(choose({ipv4(v2), ipv4(v1), local(v2), local(v1)}) == 0);
  CHECK(choose({local(v1), hole, local(v2), hole, hole, ipv4(v2)}) == 5);
}

TEST_CASE("RoCE v1 is not taken while there is a v2, not even for the preferred family") {
  CHECK(choose({ipv4(v1), ipv6(v2)}) == 1);
  CHECK(choose({ipv4(v1), local(v2)}) == 1);
  CHECK(choose({local(v1), ipv4(v1)}) == 1);
}

TEST_CASE("the preferred family wins among equals, and the first of equals stays") {
  CHECK(choose({ipv6(v2), ipv4(v2)}) == 1);
  CHECK(choose({ipv4(v2), ipv6(v2)}, {.prefer_ipv4 = false}) == 1);
  CHECK(choose({local(v2), ipv4(v2, 1), ipv4(v2, 2)}) == 1);
}

TEST_CASE("an index that the user names wins outright, but must hold something") {
  CHECK(choose({ipv4(v2), local(v1)}, {.index = 1}) == 1);
  CHECK(Table::asked == 1);
  CHECK(choose({ipv4(v2), hole}, {.index = 1}, true, Errc::would_block) == -1);
  CHECK(choose({ipv4(v2)}, {.index = 9}, true, Errc::would_block) == -1);
}

TEST_CASE("an empty table is asked again later, a device that does not answer is not") {
  CHECK(choose({}, {}, true, Errc::would_block) == -1);
  CHECK(choose({hole, hole}, {}, true, Errc::would_block) == -1);
  Table::error = EIO;
  CHECK(choose({ipv4(v2)}, {}, true, Errc::path_down) == -1);
  Table::error = 0;
}

TEST_CASE("InfiniBand takes index 0, or the routable one when its GID holds a FLID") {
  ibv_gid_entry routed = local(IBV_GID_TYPE_IB);
  CHECK(choose({local(IBV_GID_TYPE_IB), routed}, {}, false) == 0);
  routed.gid.raw[4] = 0x12;
  routed.gid.raw[5] = 0x34;
  CHECK(flid_of(routed.gid) == 0x1234);
  CHECK(choose({local(IBV_GID_TYPE_IB), routed}, {}, false) == 1);
  CHECK(choose({local(IBV_GID_TYPE_IB)}, {}, false) == 0);
}

TEST_CASE("link-local is fe80::/64 and nothing near it") {
  CHECK(is_link_local(local(v2).gid));
  CHECK_FALSE(is_link_local(ipv4(v2).gid));
  ibv_gid near = local(v2).gid;
  near.raw[7] = 1;
  CHECK_FALSE(is_link_local(near));
  CHECK(subnet_of(near) == 1);
}
