// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/errands.hpp>

#include <doctest/doctest.h>

#include <array>
#include <sched.h>
#include <vector>

using namespace vccl::verbs;

namespace {
struct Note {
  std::vector<int>* into;
  int number;
  std::thread::id where{};
};
void note(void* p) noexcept {
  auto& n = *static_cast<Note*>(p);
  n.where = std::this_thread::get_id();
  n.into->push_back(n.number);
}
}  // namespace

TEST_CASE("errands run in order, on another thread, and are over when they say so") {
  std::vector<int> order;
  std::array<Note, 3> notes{{{&order, 1}, {&order, 2}, {&order, 3}}};
  std::array<Errand, 3> all;
  Errands errands;
  for (int round = 0; round < 2; ++round) {
    order.clear();
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(errands.start(all[i], note, &notes[i]));
    for (Errand const& e : all) {
      while (e.under_way()) ::sched_yield();
    }
    CHECK(order == std::vector{1, 2, 3});
    CHECK(notes[0].where != std::this_thread::get_id());
    CHECK(notes[0].where == notes[2].where);
  }
}

TEST_CASE("without an errand there is no thread to wait for") {
  Errands const errands;
  Errand const e;
  CHECK(!e.under_way());
}
