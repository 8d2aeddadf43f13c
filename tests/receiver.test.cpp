// SPDX-License-Identifier: Apache-2.0
#include <vccl/receiver.hpp>

#include <support/world.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace vccl;
using namespace vccl::literals;
using test::Load;
using test::World;

TEST_CASE("64 steps are taken ahead, the next is not, and is once one is reported") {
  World w;
  REQUIRE(w.settle());
  RecvOp const op{{}, Tag{1}};
  std::vector<Request> all;
  for (int i = 0; i < 64; ++i) all.push_back(w.ends->irecv({&op, 1}));
  for (Request r : all) CHECK(r);
  CHECK(w.ends->irecv({&op, 1}).why == Errc::would_block);
  Request const s = w.ends->isend({}, Tag{1});
  for (int i = 0; i < 100; ++i) {
    w.idle(1_ms);
    static_cast<void>(w.ends->ready(End::sender));
    static_cast<void>(w.ends->ready(End::receiver));
  }
  CHECK(w.ends->test(End::sender, s).error == Errc::ok);
  CHECK(w.ends->test(End::receiver, all[0]).done);
  CHECK(w.ends->irecv({&op, 1}));
}

TEST_CASE("no receives, more than eight, and an unregistered buffer are refused") {
  World w;
  REQUIRE(w.settle());
  std::vector<RecvOp> ops(9, RecvOp{{}, Tag{1}});
  CHECK(w.ends->irecv({ops.data(), 0}).why == Errc::invalid_argument);
  CHECK(w.ends->irecv(ops).why == Errc::invalid_argument);
  CHECK(w.ends->irecv({ops.data(), 8}));
  std::uint64_t word = 0;
  RecvOp const bad{{reinterpret_cast<std::uint64_t>(&word), 8, nullptr}, Tag{1}};
  CHECK(w.ends->irecv({&bad, 1}).why == Errc::invalid_argument);
}

TEST_CASE(
    "a send longer than its receive is an error at both ends, and the others of the step are not") {
  World w;
  REQUIRE(w.settle());
  std::vector<std::uint64_t> from(100, 0x1111), into(100, 0);
  Memory const a = w.ends->register_memory(End::sender, from.data(), 800, MemoryKind::host);
  Memory const b = w.ends->register_memory(End::receiver, into.data(), 800, MemoryKind::host);
  auto const piece = [](Memory m, std::uint64_t at, std::uint64_t n) {
    m.address += at;
    m.length = n;
    return m;
  };
  RecvOp const ops[] = {{piece(b, 0, 80), Tag{1}}, {piece(b, 160, 80), Tag{2}}};
  Request const r = w.ends->irecv(ops);
  Request const longer = w.ends->isend(piece(a, 0, 88), Tag{1});
  Request const fits = w.ends->isend(piece(a, 0, 40), Tag{2});
  Result got, too_long, ok;
  for (int i = 0; i < 200 && !(got.done && too_long.done && ok.done); ++i) {
    if (!got.done) got = w.ends->test(End::receiver, r);
    if (!too_long.done) too_long = w.ends->test(End::sender, longer);
    if (!ok.done) ok = w.ends->test(End::sender, fits);
    w.idle(100_us);
  }
  CHECK(too_long.error == Errc::message_too_long);
  CHECK(too_long.delivered == Delivered::no);
  CHECK(ok.error == Errc::ok);
  CHECK(got.error == Errc::message_too_long);
  CHECK(got.sizes[0] == 88);  // What would have been needed.
  CHECK(got.sizes[1] == 40);
  for (std::size_t i = 0; i < 20; ++i) CHECK(into[i] == 0);  // Nothing of it was written.
  CHECK(into[20] == 0x1111);
  w.load(Load::uniform(20, 1000));  // The connection goes on.
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE(
    "memory of a device is flushed before a receive is done, by the port that carried the data") {
  World w;
  Load load = Load::uniform(100, 10'000, 2);
  load.kind = MemoryKind::device;
  w.load(load);
  REQUIRE(w.run_until(30));
  w.inject("at 0ms link host1.port0 down");
  CHECK(w.run());
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.receiver().counters.flush_reads >= 200);
  CHECK(w.held_writes(1, 1) == 0);
  CHECK(w.problems() == "");
}

TEST_CASE("an idle end is served: acknowledgements lost while nobody polls are made good") {
  World w;
  w.load(Load::uniform(10, 1000));
  REQUIRE(w.run());
  w.inject("at 0ms drop ack host1.port0");
  w.load(Load::uniform(1, 1000));
  for (int i = 0; i < 3; ++i) static_cast<void>(w.round());
  w.idle(10_s);  // Served, not polled.
  CHECK(w.fired(soft::Action::drop) > 0);
  CHECK(w.sender().active_path == 1);
  CHECK(w.run());
  CHECK(w.received() == 11);
  CHECK(w.sent() == 11);
  CHECK(w.problems() == "");
}

TEST_CASE("a receiver that closes tells the sender what it has, and the rest is peer_closed") {
  World w;
  w.load(Load::uniform(30, 1000));
  REQUIRE(w.run_until(10));
  w.ends->close(End::receiver);
  CHECK(w.run(10_s));
  CHECK(w.sender().cause == Cause::peer_closed);
  CHECK(w.receiver().cause == Cause::closed);
  for (Errc e : w.errors(End::sender)) CHECK(e == Errc::peer_closed);
  CHECK(w.problems() == "");
}
