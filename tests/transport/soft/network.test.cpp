// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/network.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("time for bytes is exact and has no limit of its own") {
  CHECK(soft::time_for(0, 5) == Duration{});
  CHECK(soft::time_for(1000, 0) == Duration{});
  CHECK(soft::time_for(1'000'000, 1'000'000) == Duration{1'000'000'000});
  CHECK(soft::time_for(1, 3) == Duration{333'333'333});
  CHECK(soft::time_for(std::uint64_t{1} << 40, std::uint64_t{1} << 30).ns ==
        1024 * 1'000'000'000LL);
}

TEST_CASE("latency counts once each way, the larger of both cables'") {
  soft::Fabric fabric{still({.latency = {1000}})};
  Pair p{fabric};
  fabric.link(1, 0).set_latency(Duration{3000});
  CHECK(p.go(p.write(8)) == Errc::ok);
  fabric.advance(Duration{2999});
  CHECK(p.target[0] == std::byte{0});
  fabric.advance(Duration{1});
  CHECK(p.same(8));
  fabric.advance(Duration{2999});
  CHECK(Pair::poll(p.a).empty());
  fabric.advance(Duration{1});
  CHECK(Pair::statuses(p.a) == V{0});
}

TEST_CASE("a message takes its bytes over the slower of both speeds") {
  soft::Fabric fabric{still({.bytes_per_second = 10'000'000})};
  Pair p{fabric};
  fabric.link(1, 0).throttle(1'000'000);
  CHECK(p.go(p.write(100'000)) == Errc::ok);
  p.run();
  CHECK(fabric.now() == Time{100'000'000});
}

TEST_CASE("two lanes share a cable evenly") {
  soft::Fabric fabric{still({.bytes_per_second = 1'000'000})};
  Pair p{fabric}, q{fabric};
  CHECK(p.go(p.write(256 * 1024)) == Errc::ok);
  CHECK(q.go(q.write(256 * 1024)) == Errc::ok);
  fabric.advance(Duration{335'000'000});
  auto half = [](Pair& x) {
    return x.target[100'000] != std::byte{0} && x.target[200'000] == std::byte{0};
  };
  CHECK(half(p));
  CHECK(half(q));
}

TEST_CASE("a cable pulled in the middle loses the rest, and only the rest") {
  soft::Fabric fabric{still({.bytes_per_second = 1'000'000})};
  Pair p{fabric, {.timeout = 14, .retry_count = 1}};
  CHECK(p.go(p.write(250'000)) == Errc::ok);
  fabric.advance(Duration{100'000'000});
  fabric.link(0, 0).down();
  p.run();
  CHECK(Pair::statuses(p.a) == V{12});
  CHECK(p.same(65'536));
  CHECK(p.target[200'000] == std::byte{0});
}

TEST_CASE("rails: ports reach ports with the same number only, when the fabric says so") {
  for (bool rails : {false, true}) {
    soft::Fabric fabric{still({.rails = rails})};
    SoftNic a{fabric.host(0), {.port = PortId{0}, .timeout = 5, .retry_count = 0}};
    SoftNic b{fabric.host(1), {.port = PortId{1}}};
    LaneAddress at_a, at_b;
    CHECK((a.describe(at_a) == Errc::ok && b.describe(at_b) == Errc::ok));
    CHECK((a.connect(at_b) == Errc::ok && b.connect(at_a) == Errc::ok));
    CHECK((a.post(WorkRequest{}) == Errc::ok && a.flush() == Errc::ok));
    while (fabric.step()) {
    }
    CHECK(Pair::statuses(a) == (rails ? V{12} : V{0}));
  }
}

TEST_CASE("what is sent over a cable takes along the bytes of that moment") {
  soft::Fabric fabric{still({.latency = {1000}})};
  Pair p{fabric};
  std::byte const was = p.source[0];
  CHECK(p.go(p.write(8)) == Errc::ok);
  p.source[0] = std::byte{200};
  p.run();
  CHECK(p.target[0] == was);
}
