// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/lanes.hpp>

#include <doctest/doctest.h>

namespace {
struct Counted {
  Counted(int* alive, int v) : alive_{alive}, value{v} { ++*alive_; }
  Counted(Counted const&) = delete;
  Counted& operator=(Counted const&) = delete;
  ~Counted() { --*alive_; }
  int* alive_;
  int value;
};
}  // namespace

TEST_CASE("lanes are made in place, found by number, and destroyed with their holder") {
  int alive = 0;
  {
    vccl::detail::Lanes<Counted> lanes;
    CHECK(lanes.size() == 0);
    for (int i = 0; i < 4; ++i) lanes.emplace(&alive, i * 10);
    CHECK(alive == 4);
    CHECK(lanes.size() == 4);
    CHECK(lanes[2].value == 20);
    int sum = 0;
    for (Counted const& c : lanes) sum += c.value;
    CHECK(sum == 60);
    lanes.clear();
    CHECK(alive == 0);
    lanes.emplace(&alive, 7);
    CHECK(lanes[0].value == 7);
  }
  CHECK(alive == 0);
}

TEST_CASE("a lane that cannot tell counts as having its address") {
  struct Telling {
    bool there = true;
    [[nodiscard]] bool address_stands() const noexcept { return there; }
  };
  Telling lost{false};
  CHECK(!vccl::detail::address_stands(lost));
  Telling kept;
  CHECK(vccl::detail::address_stands(kept));
  int silent = 0;
  CHECK(vccl::detail::address_stands(silent));
}
