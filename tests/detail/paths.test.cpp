// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/paths.hpp>

#include <archetypes/transport.hpp>
#include <vccl/transport/no_backup.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace vccl;
using namespace vccl::detail;

namespace {
struct Other : archetype::Transport {
  using archetype::Transport::Transport;
};
template <class...>
struct List {};
}  // namespace

TEST_CASE("primary and backups become one list, in order; NoBackup adds none") {
  using A = archetype::Transport;
  CHECK(std::is_same_v<TransportsOf<A, NoBackup>::apply<List>, List<A>>);
  CHECK(std::is_same_v<TransportsOf<A, Other>::apply<List>, List<A, Other>>);
  CHECK(std::is_same_v<TransportsOf<A, Backups<Other, A>>::apply<List>, List<A, Other, A>>);
}

TEST_CASE("with() reaches the path of that number, each() all of them in order") {
  PathSet<archetype::Transport, Other, archetype::Transport> set;
  void* first = &set.get<0>();
  void* second = &set.get<1>();
  void* third = &set.get<2>();
  auto const at = [&](PathId q) {
    return set.with(q, [](auto& path) { return static_cast<void*>(&path); });
  };
  CHECK(at(0) == first);
  CHECK(at(1) == second);
  CHECK(at(2) == third);
  PathId next = 0;
  set.each([&](auto id, auto& path) {
    CHECK(id == next++);
    CHECK(static_cast<void*>(&path) == at(id));
  });
  CHECK(next == 3);
}
