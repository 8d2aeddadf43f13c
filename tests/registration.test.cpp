// SPDX-License-Identifier: Apache-2.0
#include <vccl/registration.hpp>

#include <archetypes/transport.hpp>
#include <support/world.hpp>
#include <vccl/context.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <utility>
#include <vector>

using namespace vccl;
using T = archetype::Transport;
using Both = Registration<T, T>;

namespace {
struct Made {
  archetype::Host host;
  detail::HostSet<T, T> hosts{host};
  detail::PathSet<T, T> paths;
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(16);
  Both make() { return {paths, hosts, words.data(), 128, Access::local, MemoryKind::device}; }
};
}  // namespace

TEST_CASE("a registration can be moved and not copied, and its memory stays valid when it moves") {
  CHECK(std::movable<Both>);
  CHECK_FALSE(std::copyable<Both>);
  Made m;
  Both a = m.make();
  Memory const before = a.whole();
  Both b = std::move(a);
  CHECK(b.whole().keys == before.keys);
  CHECK(b.size() == 128);
}

TEST_CASE("parts stay inside the buffer") {
  Made m;
  Both const r = m.make();
  auto const base = reinterpret_cast<std::uint64_t>(m.words.data());
  CHECK(r.whole().address == base);
  CHECK(r.whole().length == 128);
  CHECK(r.whole().kind == MemoryKind::device);
  CHECK(r.part(8, 16).address == base + 8);
  CHECK(r.part(8, 16).length == 16);
  CHECK(r.part(120, 100).length == 8);
  CHECK(r.part(128, 1).length == 0);
  CHECK(r.part(500, 1).address == base + 128);
  CHECK(r.part(8, ~std::uint64_t{0}).length == 120);
}

TEST_CASE("an end registers on every port of every path, and gives all of it back") {
  test::World w;
  std::size_t const before = w.registrations();
  std::vector<std::uint64_t> words(16);
  Memory const m = w.ends->register_memory(End::sender, words.data(), 128, MemoryKind::host);
  CHECK(w.registrations() == before + 2);
  CHECK((*m.keys)[0][0].local != (*m.keys)[1][0].local);
  w.ends->release_memory();
  CHECK(w.registrations() == before);
}

TEST_CASE(
    "an empty buffer, and a port that refuses, are one clear error with nothing left behind") {
  test::World w;
  std::size_t const before = w.registrations();
  std::uint64_t word = 0;
  CHECK_THROWS_AS(
      static_cast<void>(w.ends->register_memory(End::sender, &word, 0, MemoryKind::host)),
      SetupError);
  CHECK_THROWS_AS(
      static_cast<void>(w.ends->register_memory(End::sender, nullptr, 8, MemoryKind::host)),
      SetupError);
  w.inject("call register_memory 2 host0 fails ENOMEM");  // The backup's.
  CHECK_THROWS_AS(
      static_cast<void>(w.ends->register_memory(End::sender, &word, 8, MemoryKind::host)),
      SetupError);
  CHECK(w.registrations() == before);
}
