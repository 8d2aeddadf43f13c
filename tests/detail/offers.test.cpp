// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/offers.hpp>

#include <archetypes/transport.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::detail;

namespace {
struct Two {
  archetype::Host host;
  std::array<PathBlock*, 2> blocks{new PathBlock{}, new PathBlock{}};
  PathSet<archetype::Transport, archetype::Transport> paths;

  explicit Two(std::size_t lanes_of_backup = 1) {
    std::array<PortId, 2> const ports{PortId{0}, PortId{1}};
    paths.get<0>().open(host, {ports.data(), 1}, {}, *blocks[0], false);
    if (lanes_of_backup != 0) {
      paths.get<1>().open(host, {ports.data(), lanes_of_backup}, {}, *blocks[1], false);
    }
  }
  ~Two() {
    for (PathBlock* b : blocks) delete b;
  }
  Two(Two const&) = delete;
  Two& operator=(Two const&) = delete;
  Offer offer() {
    Offer o;
    make_offer(o, paths, 1);
    return o;
  }
};
}  // namespace

TEST_CASE("an offer names every path, and those that are there are up") {
  Two at;
  Offer const o = at.offer();
  CHECK(o.paths == 2);
  CHECK(o.path[0].lanes == 1);
  CHECK(o.path[0].up == 1);
  CHECK(o.path[0].block == reinterpret_cast<std::uint64_t>(at.blocks[0]));
  CHECK(o.max_message == 1);
  Two none{0};
  CHECK(none.offer().path[1].lanes == 0);
  CHECK(none.offer().path[1].up == 0);
}

TEST_CASE("what both ends have is joined; a path that one end lacks, or cuts otherwise, is not") {
  Two a;
  Offer const mine = a.offer();
  Two b;
  Joined const both = join(a.paths, mine, b.offer());
  CHECK(both.present == 0b11);
  CHECK(both.up == 0b11);
  Two without{0};
  CHECK(join(a.paths, mine, without.offer()).present == 0b01);
  Two wider{2};
  CHECK(join(a.paths, mine, wider.offer()).present == 0b01);
  Offer down = b.offer();
  down.path[0].up = 0;
  Joined const half = join(a.paths, mine, down);
  CHECK(half.present == 0b11);
  CHECK(half.up == 0b10);
}

TEST_CASE("the speed of a path is that of its lanes together") {
  PathOffer p;
  p.addresses[0].speed_mbps = 100;
  p.addresses[1].speed_mbps = 300;
  CHECK(speed_of(p) == 400);
}
