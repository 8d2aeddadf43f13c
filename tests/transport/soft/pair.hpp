// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Two connected lanes with a buffer each, for the tests of the software NIC.

#include <vccl/transport/soft/fabric.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace vccl::test {

inline std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// A fabric whose time moves only when told.
inline soft::FabricConfig still(soft::FabricConfig c = {}) {
  c.virtual_time = true;
  return c;
}

/// Lanes between port 0 of host 0 (a) and port 0 of host 1 (b).
struct Pair {
  explicit Pair(soft::Fabric& f, LaneConfig config = {}, MemoryKind kind = MemoryKind::host,
                std::size_t bytes = 256 * 1024, Access access = Access::remote_write)
      : fabric{f},
        source(bytes),
        target(bytes),
        a{f.host(0), with_port(config)},
        b{f.host(1), with_port(config)},
        from{SoftNic::register_memory(f.host(0), PortId{0}, source.data(), bytes,
                                      Access::remote_write, MemoryKind::host)},
        into{SoftNic::register_memory(f.host(1), PortId{0}, target.data(), bytes, access, kind)} {
    for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
    connected = connect();
  }

  /// Describes and connects both ends.
  bool connect() {
    bool const described = a.describe(at_a) == Errc::ok && b.describe(at_b) == Errc::ok;
    return described && a.connect(at_b) == Errc::ok && b.connect(at_a) == Errc::ok;
  }
  bool quiet() {
    bool good = true;
    for (SoftNic* n : {&a, &b}) {
      good =
          good && n->fence(FenceStep::error) == Errc::ok && n->fence(FenceStep::reset) == Errc::ok;
    }
    return good;
  }

  WorkRequest write(std::uint64_t length, std::uint64_t id = 1, std::uint64_t offset = 0) {
    WorkRequest w;
    w.id = id;
    w.length = length;
    w.local = address_of(source.data()) + offset;
    w.remote = address_of(target.data()) + offset;
    w.keys = {from.keys().local, into.keys().remote};
    return w;
  }
  WorkRequest notify(std::uint64_t length, std::uint32_t immediate, std::uint64_t id = 1,
                     std::uint64_t offset = 0) {
    WorkRequest w = write(length, id, offset);
    w.kind = WorkRequest::Kind::write_with_immediate;
    w.immediate = immediate;
    return w;
  }
  /// Posts and rings.
  Errc go(WorkRequest const& w) {
    Errc const e = a.post(w);
    return e == Errc::ok ? a.flush() : e;
  }
  /// What one poll gives, up to 64.
  static std::vector<Completion> poll(SoftNic& nic) {
    std::vector<Completion> all(64);
    all.resize(nic.poll(all));
    return all;
  }
  static std::vector<int> statuses(SoftNic& nic) {
    std::vector<int> all;
    for (Completion const& c : poll(nic)) all.push_back(static_cast<int>(c.status));
    return all;
  }
  bool same(std::size_t bytes, std::size_t offset = 0) const {
    return std::memcmp(source.data() + offset, target.data() + offset, bytes) == 0;
  }
  /// Runs until nothing is left to happen, at most until `limit`.
  void run(Duration limit = Duration{10'000'000'000}) {
    Time const end = fabric.now() + limit;
    while (fabric.next_event() <= end && fabric.step()) {
    }
  }

  static LaneConfig with_port(LaneConfig c) {
    c.port = PortId{0};
    return c;
  }

  soft::Fabric& fabric;
  std::vector<std::byte> source, target;
  SoftNic a, b;
  SoftNic::Registration from, into;
  LaneAddress at_a, at_b;
  bool connected = false;
};

}  // namespace vccl::test
