// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/responder.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

// IBTA vol. 1, 9.7.5.2.8: a NAK for a sequence error names the packet to go back to.
TEST_CASE("a lost packet is asked for at once, and everything from it on is sent again") {
  soft::Fabric fabric{still({.latency = {1000}})};
  Pair p{fabric};
  fabric.inject("after packet 3 drop data host0.port0 count 1");
  CHECK(p.go(p.write(10 * 4096)) == Errc::ok);
  p.run();
  CHECK(fabric.fired(soft::Action::drop) == 1);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(p.same(10 * 4096));
  CHECK(fabric.now() < Time{100'000});  // no timer was needed
  CHECK(fabric.link(0, 0).stats().data_bytes_again == 7 * 4096);
}

// IBTA vol. 1, 9.7.4.1.2 (duplicate request): acknowledged again, not carried out again.
TEST_CASE("a duplicate is acknowledged and not carried out") {
  soft::Fabric fabric{still({.latency = {1000}})};
  Pair p{fabric};
  CHECK(p.b.post_receive(0, 1) == Errc::ok);
  CHECK(p.b.post_receive(0, 2) == Errc::ok);
  fabric.inject("duplicate data host0.port0 by 5us count 1");
  CHECK(p.go(p.notify(100, 7)) == Errc::ok);
  fabric.advance(Duration{3'000});
  CHECK(Pair::statuses(p.a) == V{0});
  p.target[0] = std::byte{99};
  p.run();
  CHECK(fabric.fired(soft::Action::duplicate) == 1);
  CHECK(p.target[0] == std::byte{99});
  CHECK(Pair::poll(p.b).size() == 1);
}

TEST_CASE("a lost acknowledgement leads to a duplicate, one completion and one receive") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.timeout = 5}};
  CHECK(p.b.post_receive(0, 1) == Errc::ok);
  CHECK(p.b.post_receive(0, 2) == Errc::ok);
  fabric.inject("drop ack host1.port0 count 1");
  CHECK(p.go(p.notify(100, 7)) == Errc::ok);
  CHECK(Pair::poll(p.a).empty());
  p.run();
  CHECK(fabric.fired(soft::Action::drop) == 1);
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(Pair::poll(p.b).size() == 1);
}

// IBTA vol. 1, 9.9.3.1 and 10.7.3.2: NAK remote access error, both QPs to ERR; keys are of one
// port.
TEST_CASE("a bad remote key or range is status 10, and both QPs are in ERR") {
  soft::Fabric fabric{still()};
  for (int what = 0; what < 4; ++what) {
    Pair p{fabric};
    auto const other = SoftNic::register_memory(fabric.host(1), PortId{1}, p.target.data(), 100,
                                                Access::remote_write, MemoryKind::host);
    auto const closed = SoftNic::register_memory(fabric.host(1), PortId{0}, p.target.data(), 100,
                                                 Access::local, MemoryKind::host);
    WorkRequest bad = p.write(8, 2);
    if (what == 0) bad.keys.remote = p.into.keys().local;
    if (what == 1) bad.remote += p.target.size() - 7;
    if (what == 2) bad.keys.remote = other.keys().remote;
    if (what == 3) bad.keys.remote = closed.keys().remote;
    CHECK(p.b.post_receive(0, 9) == Errc::ok);
    CHECK(p.a.post(bad) == Errc::ok);
    CHECK(p.go(p.write(8, 3)) == Errc::ok);
    CHECK(Pair::statuses(p.a) == V{10, 5});
    CHECK(Pair::statuses(p.b) == V{5});
    CHECK(p.a.state(0) == soft::QpState::err);
    CHECK(p.b.state(0) == soft::QpState::err);
    PortEvent e;
    CHECK(fabric.host(1).poll_event(e));
    CHECK((e.kind == PortEvent::Kind::qp_fatal && e.qp_num == p.b.qp_number(0)));
    CHECK(p.target[0] == std::byte{0});
  }
}

// IBTA vol. 1, 9.7.4.1.5: the key of an empty write is not looked at.
TEST_CASE("an empty notify needs no memory") {
  soft::Fabric fabric{still()};
  Pair p{fabric};
  CHECK(p.b.post_receive(0, 5) == Errc::ok);
  WorkRequest w;
  w.kind = WorkRequest::Kind::write_with_immediate;
  w.immediate = 3;
  w.local = w.remote = 1;
  CHECK(p.go(w) == Errc::ok);
  auto const got = Pair::poll(p.b);
  REQUIRE(got.size() == 1);
  CHECK((got[0].id == 5 && got[0].immediate == 3 && got[0].bytes == 0));
}

TEST_CASE(
    "a send goes into the oldest receive; one that is too long is status 1 there and 9 here") {
  soft::Fabric fabric{still({.latency = {10}})};
  Pair p{fabric};
  soft::ReceiveEntry const room{1, address_of(p.target.data()), 10'000, p.into.keys().local};
  CHECK(p.b.post_receive(0, room) == Errc::ok);
  CHECK(p.b.post_receive(0, room) == Errc::ok);
  WorkRequest w = p.write(9'000);
  w.kind = WorkRequest::Kind::send;
  CHECK(p.go(w) == Errc::ok);
  p.run();
  CHECK(p.same(9'000));
  auto const got = Pair::poll(p.b);
  REQUIRE(got.size() == 1);
  CHECK((got[0].kind == Completion::Kind::received && got[0].bytes == 9'000));
  w.length = 10'001;
  CHECK(p.go(w) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{0, 9});
  CHECK(Pair::statuses(p.b) == V{1});
}

TEST_CASE("an immediate is seen after all its data, also when the receive came late") {
  soft::Fabric fabric{still({.latency = {1000}})};
  Pair p{fabric, {.min_rnr_timer = 1}};
  CHECK(p.go(p.notify(20'000, 1)) == Errc::ok);
  while (fabric.now() < Time{50'000} && fabric.step()) CHECK(Pair::poll(p.b).empty());
  CHECK(p.b.post_receive(0, 1) == Errc::ok);
  bool seen = false;
  while (!seen && fabric.step()) {
    seen = !Pair::poll(p.b).empty();
    if (seen) CHECK(p.same(20'000));
  }
  CHECK(seen);
}

// What a late packet does: the network held it while its sender's QP failed and was made quiet.
TEST_CASE("a held packet lands as long as the receiver's QP is there, with the old bytes") {
  for (bool fenced : {false, true}) {
    soft::Fabric fabric{still()};
    Pair p{fabric, {.timeout = 5, .retry_count = 1}};
    fabric.inject("hold data host0.port0 for 50ms");
    CHECK(p.go(p.write(100)) == Errc::ok);
    fabric.advance(Duration{1'000'000});
    CHECK(Pair::statuses(p.a) == V{12});
    CHECK(p.a.fence(FenceStep::reset) == Errc::ok);
    std::byte const old = p.source[0];
    p.source[0] = std::byte{77};
    if (fenced) CHECK(p.b.fence(FenceStep::error) == Errc::ok);
    fabric.advance(Duration{60'000'000});
    CHECK(p.target[0] == (fenced ? std::byte{0} : old));
    CHECK(fabric.fired(soft::Action::hold) == 2);
  }
}

TEST_CASE(
    "a held packet does no harm after both ends were armed again with new numbers, and lands with "
    "the old ones") {
  for (std::int32_t psn : {-1, 100}) {
    soft::Fabric fabric{still({.first_psn = psn})};
    Pair p{fabric, {.timeout = 5, .retry_count = 1}};
    fabric.inject("hold data host0.port0 for 50ms");
    CHECK(p.go(p.write(100)) == Errc::ok);
    fabric.advance(Duration{1'000'000});
    CHECK(p.quiet());
    CHECK(p.connect());
    fabric.advance(Duration{60'000'000});
    CHECK(p.target[0] == (psn < 0 ? std::byte{0} : p.source[0]));
  }
}

TEST_CASE("adaptive routing lands plain writes in any order, and a notify after all of them") {
  bool disordered = false;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    soft::Fabric fabric{still({.seed = seed, .latency = {1000}})};
    fabric.adaptive_routing(true);
    Pair p{fabric};
    CHECK(p.b.post_receive(0, 1) == Errc::ok);
    CHECK(p.a.post(p.write(40 * 4096)) == Errc::ok);
    CHECK(p.go(p.notify(4096, 9, 2, 40 * 4096)) == Errc::ok);
    while (fabric.step()) {
      bool const last = p.target[39 * 4096 + 1] != std::byte{0};
      for (std::size_t i = 0; i < 39; ++i)
        disordered |= last && p.target[i * 4096 + 1] == std::byte{0};
      if (!Pair::poll(p.b).empty()) CHECK(p.same(41 * 4096));
    }
    CHECK(Pair::statuses(p.a) == V{0, 0});
  }
  CHECK(disordered);
}

// PCI Express Base Specification, 2.4.1: what is not relaxed passes no write before it.
TEST_CASE("relaxed writes land in any order, all before a completion or an ordered write behind") {
  bool disordered = false;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (bool const relaxed : {false, true}) {
      soft::Fabric fabric{still({.seed = seed, .latency = {1000}, .relaxed_ordering = true})};
      Access const access = relaxed ? Access::remote_write_relaxed : Access::remote_write;
      Pair p{fabric, {}, MemoryKind::host, 256 * 1024, access};
      std::uint64_t flag = 0;
      std::uint64_t const one = 1;
      auto const source =
          SoftNic::register_memory(fabric.host(0), PortId{0}, const_cast<std::uint64_t*>(&one), 8,
                                   Access::local, MemoryKind::host);
      auto const ordered = SoftNic::register_memory(fabric.host(1), PortId{0}, &flag, 8,
                                                    Access::remote_write, MemoryKind::host);
      CHECK(p.b.post_receive(0, 1) == Errc::ok);
      CHECK(p.a.post(p.write(8192)) == Errc::ok);
      CHECK(p.go(p.write(8192, 2, 8192)) == Errc::ok);
      fabric.advance({50'000});
      bool const whole = p.same(16384);  // Everything has come.
      CHECK((whole || relaxed));
      disordered |=
          !whole && std::memcmp(p.source.data() + 16000, p.target.data() + 16000, 64) == 0;
      WorkRequest w = p.write(8, 3);
      w.local = address_of(&one);
      w.remote = address_of(&flag);
      w.keys = {source.keys().local, ordered.keys().remote};
      CHECK(p.go(w) == Errc::ok);
      p.run();
      CHECK(flag == 1);
      CHECK(p.same(16384));
      CHECK(p.go(p.notify(8192, 9, 4, 16384)) == Errc::ok);
      p.run();
      CHECK(Pair::poll(p.b).size() == 1);
      CHECK(p.same(3 * 8192));
      CHECK(Pair::statuses(p.a) == V{0, 0, 0, 0});
    }
  }
  CHECK(disordered);
}
