// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/memory.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace vccl;
using namespace vccl::soft;

namespace {

Region region(std::uint64_t address, std::uint64_t length, std::uint32_t port, bool remote = true) {
  Region r;
  r.address = address;
  r.length = length;
  r.port = port;
  r.remote_write = remote;
  return r;
}

}  // namespace

TEST_CASE("content does not depend on where reading starts") {
  std::byte all[64], part[64];
  fill_content(3, 0, all, 64);
  bool good = true;
  for (std::uint64_t from = 0; from < 20; ++from) {
    fill_content(3, from, part, 64 - from);
    good = good && std::memcmp(part, all + from, 64 - from) == 0;
  }
  CHECK(good);
  CHECK(all[13] == content_byte(3, 13));
}

TEST_CASE("computed memory counts what is written, what is wrong and where") {
  ComputedMemory source{1u << 30, 3u << 20, 5}, same{1u << 31, 3u << 20, 5};
  same.write(1000, {nullptr, &source, 1000, 2u << 20});
  CHECK(same.written_bytes() == 2u << 20);
  CHECK(same.wrong_bytes() == 0);
  CHECK(same.written_to(0) == (1u << 20) - 1000);
  CHECK(same.written_to(1) == 1u << 20);
  CHECK(same.written_to(2) == 1000);
  std::byte bytes[8];
  fill_content(5, 16, bytes, 8);
  bytes[3] ^= std::byte{1};
  same.write(16, {bytes, nullptr, 0, 8});
  CHECK(same.wrong_bytes() == 1);
  same.write(0, {nullptr, &source, 8, 64});  // shifted
  CHECK(same.wrong_bytes() > 50);
}

TEST_CASE("no two keys are equal, and a local key is no remote key") {
  RegionTable t;
  std::set<std::uint32_t> seen{0};
  for (int i = 0; i < 1000; ++i) {
    Keys const k = t.add(region(0x1000, 16, 0));
    CHECK(seen.insert(k.local).second);
    CHECK(seen.insert(k.remote).second);
    CHECK(t.remote(k.local, 0) == nullptr);
    CHECK(t.local(k.remote, 0) == nullptr);
    if (i % 2 == 0) t.remove(k);
  }
  CHECK(t.live() == 500);
}

TEST_CASE("a key counts on its port only, until it is given up") {
  RegionTable t;
  Keys const k = t.add(region(0x1000, 16, 3));
  CHECK(t.remote(k.remote, 3) != nullptr);
  CHECK(t.remote(k.remote, 2) == nullptr);
  CHECK(t.add(region(0x1000, 16, 3, false)).remote == 0);
  t.remove(k);
  CHECK(t.remote(k.remote, 3) == nullptr);
  Keys const next = t.add(region(0x2000, 16, 3));  // same place in the table
  CHECK(t.local(k.local, 3) == nullptr);
  CHECK(t.local(next.local, 3) != nullptr);
  t.remove(k);  // once more: not the new owner's
  CHECK(t.local(next.local, 3) != nullptr);
}

TEST_CASE("a region of several ports counts on each of them, and on no other") {
  RegionTable t;
  Region r = region(0x1000, 16, 4, false);
  r.ports = 2;
  r.remote_read = true;
  Keys const k = t.add(r);
  CHECK(t.local(k.local, 3) == nullptr);
  CHECK(t.local(k.local, 4) != nullptr);
  CHECK(t.remote(k.remote, 5) != nullptr);
  CHECK(t.remote(k.remote, 6) == nullptr);
}

TEST_CASE("a region covers what lies in it, and nothing that wraps around") {
  Region const r = region(0x1000, 0x100, 0);
  CHECK(r.covers(0x1000, 0x100));
  CHECK(r.covers(0x10ff, 1));
  CHECK_FALSE(r.covers(0x1001, 0x100));
  CHECK_FALSE(r.covers(0xfff, 1));
  CHECK_FALSE(r.covers(0x1010, UINT64_MAX));
}

TEST_CASE("writes to device memory wait in the bus until it is drained, in order") {
  std::byte memory[4] = {};
  Region r = region(reinterpret_cast<std::uintptr_t>(memory), 4, 0);
  r.kind = MemoryKind::device;
  BusBuffer bus;
  std::byte const one[2] = {std::byte{1}, std::byte{1}}, two[1] = {std::byte{2}};
  write_region(r, r.address, {one, nullptr, 0, 2}, bus);
  write_region(r, r.address, {two, nullptr, 0, 1}, bus);
  CHECK(memory[0] == std::byte{0});
  CHECK(bus.size() == 2);
  bus.drain();
  CHECK(memory[0] == std::byte{2});
  CHECK(memory[1] == std::byte{1});
  write_region(r, r.address, {one, nullptr, 0, 2}, bus);
  bus.forget(&r);
  CHECK(bus.size() == 0);
}
