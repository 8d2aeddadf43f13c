// SPDX-License-Identifier: Apache-2.0
// Counters that wrap.
#include <support/world.hpp>
#include <vccl/detail/records.hpp>
#include <vccl/transport/soft/packet.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace vccl::test {

TEST_CASE("H7: steps around 2^32 keep their notifies and their bytes, also over a switch") {
  for (bool const cut : {false, true}) {
    Route route{PortId{0}};
    route.first_step = (Step{1} << 32) - 3;
    World w{{.sender = route, .receiver = route}};
    std::vector<std::uint32_t> posted, arrived;
    w.hosts[0]->hooks.post = [&](PortId, WorkRequest const& wr) {
      if (wr.kind == WorkRequest::Kind::write_with_immediate) posted.push_back(wr.immediate);
      return Errc::ok;
    };
    w.hosts[1]->hooks.completion = [&](PortId, Completion& c) {
      if (c.status == Status::success && c.kind == Completion::Kind::received_with_immediate)
        arrived.push_back(c.immediate);
    };
    REQUIRE(w.settle());
    w.load(Load::uniform(7, 1000));
    w.sends_at_most = 4;
    REQUIRE(w.run_until(4));
    if (cut) {
      w.inject("link host0.port0 down");
      REQUIRE(w.until([&] { return w.receiver().active_path == 1; }));
      CHECK(w.fired(soft::Action::link_down) == 1);
    }
    w.sends_at_most = World::none;
    REQUIRE(w.run());
    CHECK(w.received() == 7);
    CHECK(w.problems() == "");
    REQUIRE(posted.size() == 7);
    CHECK(arrived == posted);
    for (std::size_t i = 0; i < 7; ++i) {
      detail::Notify const n = detail::unpack(posted[i]);
      CHECK(n.step == static_cast<std::uint16_t>(route.first_step + i));
      CHECK(n.epoch == (cut && i >= 4 ? 2 : 1));
    }
    CHECK(w.sender().counters.steps == 7);
    CHECK(w.receiver().counters.steps == 7);
  }
}

TEST_CASE("H7: an immediate is in network order on the wire") {
  std::uint32_t const wire = soft::wire_order(0x01020304);
  std::uint8_t bytes[4];
  std::memcpy(bytes, &wire, 4);
  CHECK(bytes[0] == 1);
  CHECK(bytes[1] == 2);
  CHECK(bytes[2] == 3);
  CHECK(bytes[3] == 4);
  CHECK(soft::wire_order(wire) == 0x01020304);
}

}  // namespace vccl::test
