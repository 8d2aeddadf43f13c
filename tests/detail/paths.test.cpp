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

TEST_CASE("chosen() is the primary at first, then the path that was chosen last") {
  auto const follows = [](auto& set, void* first, void* last, PathId of_last) {
    auto const at = [&] {
      return set.chosen([](auto& path) { return static_cast<void*>(&path); });
    };
    CHECK(at() == first);
    set.choose(of_last);
    CHECK(at() == last);
    CHECK(set.chosen([](auto& path) { return path.id(); }) == of_last);
    set.choose(0);
    CHECK(at() == first);
  };
  PathSet<archetype::Transport, archetype::Transport> same;
  follows(same, &same.get<0>(), &same.get<1>(), 1);
  PathSet<archetype::Transport, Other, archetype::Transport> mixed;
  follows(mixed, &mixed.get<0>(), &mixed.get<2>(), 2);
  PathSet<archetype::Transport> one;
  follows(one, &one.get<0>(), &one.get<0>(), 0);
}
