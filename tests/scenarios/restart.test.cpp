// SPDX-License-Identifier: Apache-2.0
// The peer's process dies, and another one takes its place.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace vccl::test {

namespace {

struct Death {
  bool reuse_numbers;  ///< The new process gets QPs with the numbers of the old one.
  bool announced;      ///< The old one had said where the send goes.
  bool successor;      ///< There is a new process, with a connection of its own.
};

void die(Death const& how) {
  CAPTURE(how.reuse_numbers);
  CAPTURE(how.announced);
  CAPTURE(how.successor);
  World w{{.fabric = {.latency = 5_us, .reuse_qp_numbers = how.reuse_numbers}}};
  REQUIRE(w.settle());
  w.load(Load::uniform(20, 1000));
  REQUIRE(w.run());
  std::vector<std::byte> from(1000, std::byte{1});
  std::vector<std::byte> into(1000, std::byte{2});
  Memory const source = w.ends->register_memory(End::sender, from.data(), 1000, MemoryKind::host);
  if (how.announced) {
    RecvOp const op{w.ends->register_memory(End::receiver, into.data(), 1000, MemoryKind::host),
                    Tag{5}};
    REQUIRE(w.ends->irecv({&op, 1}));
    w.idle(10_ms);
  }
  std::array<std::array<std::uint32_t, 2>, 2> numbers{};
  auto const receiver_qps = [&w] {
    return std::array{w.hosts[1]->hooks.described[0].qp_numbers[0],
                      w.hosts[1]->hooks.described[1].qp_numbers[0]};
  };
  numbers[0] = receiver_qps();
  // Idle. The process goes, nobody is told, and another one is there at the same addresses.
  w.inject("kill host1\nrevive host1");
  CHECK(w.fired(soft::Action::kill) == 1);
  CHECK(w.fired(soft::Action::revive) == 1);
  w.ends->destroy(End::receiver);
  // Numbers are given out again in reverse order, so with its ports exchanged each gets its own.
  PortId const port{how.reuse_numbers ? std::uint16_t{1} : std::uint16_t{0}};
  World next{w, {.receiver = port, .connect = false}};
  if (how.successor) {
    next.ends->accept();
    next.ends->connect(port, next.ends->handle());
    REQUIRE(next.settle());
    numbers[1] = receiver_qps();
    CHECK((numbers[0] == numbers[1]) == how.reuse_numbers);
    next.load(Load::uniform(200, 1000));
    REQUIRE(next.run());
  }
  w.idle(1_s);
  w.service_period = next.service_period = 10_ms;
  Time const begin = w.now();
  Request const sent = w.ends->isend(source, Tag{5});
  REQUIRE(sent);
  if (how.successor) {
    // It works while the old sender finds out; nothing of the old one reaches it.
    Load load = Load::uniform(400, 1000);
    load.pause = 100_ms;
    next.load(load);
    World* const one[] = {&next};
    Result r;
    until_all(
        one,
        [&] {
          r = w.ends->test(End::sender, sent);
          return r.done;
        },
        40_s);
    CHECK(r.done);
    CHECK(r.error == Errc::aborted);
    CHECK(r.delivered != Delivered::yes);
  } else {
    Result const r = w.wait(End::sender, sent, 40_s);
    CHECK(r.done);
    CHECK(r.error == Errc::aborted);
    CHECK(r.delivered != Delivered::yes);
  }
  CHECK(w.now() - begin <= 33_s);  // The outage deadline and the linger.
  CHECK(w.sender().ended);
  CHECK(w.sender().counters.failovers == 0);
  MESSAGE("ended after " << (w.now() - begin).ns / 1'000'000 << " ms: " << text(w.sender().cause));
  CHECK(into == std::vector<std::byte>(1000, std::byte{2}));
  if (how.successor) {
    next.wind_up();
    CHECK(next.run());
    CHECK(next.received() == next.sent());
    CHECK(next.sender().counters.path_faults == 0);
    CHECK(next.receiver().counters.path_faults == 0);
    CHECK(next.problems() == "");
  }
}

}  // namespace

TEST_CASE("B3: the first send to a peer that was restarted fails for good, and reaches nobody") {
  for (bool const reuse : {false, true}) {
    for (bool const announced : {false, true}) {
      for (bool const successor : {false, true}) die({reuse, announced, successor});
    }
  }
}

}  // namespace vccl::test
