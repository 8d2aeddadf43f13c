// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/registration.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("a registration ends with its owner, and moving it keeps its keys") {
  soft::Fabric fabric{still()};
  std::byte memory[16];
  auto make = [&](Access a) {
    return SoftNic::register_memory(fabric.host(0), PortId{0}, memory, 16, a, MemoryKind::host);
  };
  {
    SoftNic::Registration first = make(Access::remote_write);
    Keys const keys = first.keys();
    CHECK(keys.local != keys.remote);
    SoftNic::Registration second = std::move(first);
    CHECK((second.keys().local == keys.local && second.keys().remote == keys.remote));
    CHECK(make(Access::local).keys().remote == 0);
    CHECK(fabric.census().registrations == 1);
    second = make(Access::local);
    CHECK(fabric.census().registrations == 1);
  }
  CHECK(fabric.census().registrations == 0);
}

TEST_CASE("what cannot be registered is refused, by rule or by fault") {
  soft::Fabric fabric{still()};
  std::byte memory[16];
  auto make = [&](PortId port, void* p, std::size_t n) {
    (void)SoftNic::register_memory(fabric.host(0), port, p, n, Access::local, MemoryKind::host);
  };
  CHECK_THROWS_AS(make(PortId{2}, memory, 16), SetupError);
  CHECK_THROWS_AS(make(PortId{0}, nullptr, 16), SetupError);
  CHECK_THROWS_AS(make(PortId{0}, memory, 0), SetupError);
  fabric.inject("call register_memory 2 host0.port1 fails ENOMEM");
  make(PortId{0}, memory, 16);
  make(PortId{1}, memory, 16);
  int number = 0;
  try {
    make(PortId{1}, memory, 16);
  } catch (SetupError const& e) {
    number = e.number();
  }
  CHECK(number == ENOMEM);
  CHECK(fabric.fired(soft::Action::call_fails) == 1);
  CHECK(fabric.census().registrations == 0);
}

// PCI Express Base Specification 2.4.1: a read through the same port pushes what was written
// before.
TEST_CASE("inbound writes to device memory are seen after a flush read through the same port") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {}, MemoryKind::device};
  CHECK(p.b.post_receive(0, 1) == Errc::ok);
  CHECK(p.go(p.notify(5000, 1)) == Errc::ok);
  CHECK(Pair::poll(p.b).size() == 1);
  CHECK(p.target[0] == std::byte{0});
  CHECK(fabric.link(1, 0).held_writes() == 1);
  // Through another port: pushes nothing of this one.
  SoftNic other{fabric.host(1), {.port = PortId{1}}};
  LaneAddress at;
  CHECK((other.describe(at) == Errc::ok && other.connect(at) == Errc::ok));
  auto const elsewhere = SoftNic::register_memory(fabric.host(1), PortId{1}, p.target.data(), 16,
                                                  Access::remote_write, MemoryKind::device);
  Memory const m{address_of(p.target.data()), 16, nullptr, MemoryKind::device};
  CHECK((other.post_flush_read(m, elsewhere.keys(), 3) == Errc::ok && other.flush() == Errc::ok));
  CHECK(Pair::statuses(other) == V{0});
  CHECK(p.target[0] == std::byte{0});
  CHECK(p.b.post_flush_read(m, p.into.keys(), 4) == Errc::ok);
  CHECK(p.target[0] == std::byte{0});
  CHECK(p.b.flush() == Errc::ok);
  auto const done = Pair::poll(p.b);
  REQUIRE(done.size() == 1);
  CHECK((done[0].id == 4 && done[0].status == Status::success));
  CHECK(p.same(5000));
}

TEST_CASE("a flush read needs an active port, a valid key and a byte to read") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.timeout = 5, .retry_count = 0}, MemoryKind::device};
  Memory m{address_of(p.target.data()), 16, nullptr, MemoryKind::device};
  fabric.link(1, 0).down();
  CHECK((p.b.post_flush_read(m, p.into.keys(), 4) == Errc::ok && p.b.flush() == Errc::ok));
  p.run();
  CHECK(Pair::statuses(p.b) == V{12});
  CHECK(p.b.state(0) == soft::QpState::rts);
  m.length = 0;
  CHECK(p.b.post_flush_read(m, p.into.keys(), 5) == Errc::invalid_argument);
}
