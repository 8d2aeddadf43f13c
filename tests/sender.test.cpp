// SPDX-License-Identifier: Apache-2.0
#include <vccl/sender.hpp>

#include <support/world.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace vccl;
using namespace vccl::literals;
using test::World;

namespace {
/// Memory at one end that tests post by hand.
struct Block {
  Block(World& w, End end, std::size_t n)
      : words(n / 8 + 1), memory{w.ends->register_memory(end, words.data(), n, MemoryKind::host)} {}
  std::vector<std::uint64_t> words;
  Memory memory;
  [[nodiscard]] Memory part(std::uint64_t bytes) const {
    Memory m = memory;
    m.length = bytes;
    return m;
  }
};

Result wait(World& w, End end, Request r) {
  for (Time const limit = w.now() + 20_s; w.now() < limit; w.pass(limit)) {
    static_cast<void>(w.ends->ready(end == End::sender ? End::receiver : End::sender));
    if (Result const x = w.ends->test(end, r); x.done) return x;
  }
  return {};
}
}  // namespace

TEST_CASE("a send that is posted before the ends are ready goes out when they are") {
  World w;
  Block from{w, End::sender, 100};
  Block into{w, End::receiver, 100};
  REQUIRE_FALSE(w.sender().ready);
  Request const s = w.ends->isend(from.part(100), Tag{3});
  RecvOp const op{into.part(100), Tag{3}};
  Request const r = w.ends->irecv({&op, 1});
  CHECK(s);
  CHECK(r);
  Result const sent = wait(w, End::sender, s);
  CHECK(sent.done);
  CHECK(sent.error == Errc::ok);
  CHECK(sent.delivered == Delivered::yes);
  CHECK(sent.sizes[0] == 100);
}

TEST_CASE("the 257th send is not taken, and is once one is reported") {
  World w;
  REQUIRE(w.settle());
  std::vector<Request> all;
  for (int i = 0; i < 256; ++i) all.push_back(w.ends->isend({}, Tag{1}));
  for (Request r : all) CHECK(r);
  Request const no = w.ends->isend({}, Tag{1});
  CHECK_FALSE(no);
  CHECK(no.why == Errc::would_block);
  RecvOp const op{{}, Tag{1}};
  CHECK(w.ends->irecv({&op, 1}));
  CHECK(wait(w, End::sender, all[0]).error == Errc::ok);
  CHECK(w.ends->isend({}, Tag{1}));
}

TEST_CASE("a spent request, one of another kind, and a buffer that is not registered are refused") {
  World w;
  REQUIRE(w.settle());
  Request const s = w.ends->isend({}, Tag{1});
  RecvOp const op{{}, Tag{1}};
  static_cast<void>(w.ends->irecv({&op, 1}));
  CHECK(wait(w, End::sender, s).error == Errc::ok);
  CHECK(w.ends->test(End::sender, s).error == Errc::invalid_argument);
  CHECK(w.ends->test(End::sender, Request{}).error == Errc::invalid_argument);
  CHECK(w.ends->test(End::sender, Request{77'777, 1, Errc::ok}).error == Errc::invalid_argument);
  std::uint64_t word = 0;
  Request const no = w.ends->isend({reinterpret_cast<std::uint64_t>(&word), 8, nullptr}, Tag{1});
  CHECK(no.why == Errc::invalid_argument);
}

TEST_CASE(
    "a handle of another kind or version throws with words; a wrong secret is told by status") {
  World w{{.connect = false}};
  Handle h = w.ends->handle();
  Handle bad = h;
  bad.magic ^= 1;
  CHECK_THROWS_AS(w.ends->connect(PortId{0}, bad), SetupError);
  bad = h;
  bad.version += 1;
  CHECK_THROWS_AS(w.ends->connect(PortId{0}, bad), SetupError);
  bad = h;
  bad.address_bytes += 1;
  CHECK_THROWS_AS(w.ends->connect(PortId{0}, bad), SetupError);
  CHECK_THROWS_AS(w.ends->connect(PortId{9}, h), SetupError);
  bad = h;
  bad.secret[0] ^= 1;
  w.ends->accept();
  w.ends->connect(PortId{0}, bad);
  CHECK_FALSE(w.settle(1_s));
  CHECK(w.sender().ended);
  CHECK(w.sender().cause == Cause::wrong_secret);
  CHECK(w.ends->refused() == 1);
  Request const no = w.ends->isend({}, Tag{1});
  CHECK_FALSE(no);
  w.ends->destroy(End::sender);  // The listener is not disturbed: the right one gets in.
  w.ends->connect(PortId{0}, h);
  CHECK(w.settle(1_s));
}

TEST_CASE("a listener that never answers ends the set-up at its deadline") {
  World w{{.connect = false}};
  Handle const h = w.ends->handle();
  w.ends->stop_listening();
  w.ends->connect(PortId{0}, h);
  Request const s = w.ends->isend({}, Tag{1});
  w.idle(9_s);
  static_cast<void>(w.ends->test(End::sender, s));
  CHECK_FALSE(w.sender().ended);
  w.idle(2_s);
  Result const x = w.ends->test(End::sender, s);
  CHECK(w.sender().cause == Cause::setup_deadline);
  CHECK(x.done);
  CHECK(x.error == Errc::refused);
  CHECK(x.delivered == Delivered::no);
}

TEST_CASE("what the two ends do not agree on at set-up is one clear error at both") {
  Route two{PortId{0}};
  two.qps_per_lane = 2;
  Route later{PortId{0}};
  later.first_step = 5;
  for (Route const& other : {two, later, Route{Ports{PortId{0}, PortId{1}}}}) {
    World w{{.receiver = other}};
    CHECK_FALSE(w.settle(2_s));
    CHECK(w.sender().cause == Cause::bad_handshake);
    CHECK(w.receiver().cause == Cause::bad_handshake);
  }
}

TEST_CASE("close lets what is on the wire finish, and the receiver gets the rest as peer_closed") {
  World w{{.fabric = {.latency = 100_us, .bytes_per_second = 100'000'000}}};
  REQUIRE(w.settle());
  Block from{w, End::sender, 1 << 20};
  Block into{w, End::receiver, 1 << 20};
  RecvOp const op{into.part(1 << 20), Tag{1}};
  Request const r1 = w.ends->irecv({&op, 1});
  Request const r2 = w.ends->irecv({&op, 1});
  w.idle(5_ms);
  Request const s = w.ends->isend(from.part(1 << 20), Tag{1});
  w.idle(1_ms);
  w.ends->close(End::sender);
  CHECK(w.ends->isend({}, Tag{1}).why == Errc::closed);
  CHECK(wait(w, End::sender, s).error == Errc::ok);
  CHECK(wait(w, End::receiver, r1).error == Errc::ok);
  CHECK(wait(w, End::receiver, r2).error == Errc::peer_closed);
  w.idle(3_s);
  CHECK(w.ends->closed(End::sender));
  CHECK(w.ends->closed(End::receiver));
  CHECK(w.sender().cause == Cause::closed);
  CHECK(w.receiver().cause == Cause::peer_closed);
}

TEST_CASE("abort ends both ends with the same cause, and says what it does not know") {
  World w{{.fabric = {.latency = 1_ms}}};
  REQUIRE(w.settle());
  Block from{w, End::sender, 64};
  Block into{w, End::receiver, 64};
  RecvOp const op{into.part(64), Tag{1}};
  Request const r = w.ends->irecv({&op, 1});
  w.idle(5_ms);
  Request const s = w.ends->isend(from.part(64), Tag{1});
  Request const never = w.ends->isend(from.part(64), Tag{2});
  w.ends->abort(End::sender);
  w.idle(3_s);
  CHECK(w.sender().cause == Cause::user_abort);
  CHECK(w.receiver().cause == Cause::user_abort);
  Result const sent = wait(w, End::sender, s);
  Result const got = wait(w, End::receiver, r);
  CHECK(sent.done);
  CHECK(got.done);
  if (sent.error == Errc::ok) CHECK(got.error == Errc::ok);
  if (got.error == Errc::ok) CHECK(sent.delivered != Delivered::no);
  CHECK(wait(w, End::sender, never).delivered == Delivered::no);
}

TEST_CASE("status, close and abort may come from another thread, and return within two seconds") {
  for (int way = 0; way < 2; ++way) {
    World w{{.virtual_time = false}};
    REQUIRE(w.settle());
    std::thread other{[&] {
      for (int i = 0; i < 1000; ++i) static_cast<void>(w.ends->status(End::sender));
      Time const t = w.now();
      if (way == 0) {
        w.ends->close(End::sender);
      } else {
        w.ends->abort(End::sender);
      }
      CHECK(w.now() - t < 2500_ms);
    }};
    while (!w.ends->closed(End::sender)) static_cast<void>(w.ends->ready(End::sender));
    other.join();
    CHECK(w.sender().ended);
  }
}

TEST_CASE("close returns at once, or within two seconds, whatever the state of the connection") {
  char const* const states[] = {"", "at 0ms link host0.port0 down",
                                "at 0ms link host0.port0 down\nat 0ms link host0.port1 down",
                                "at 0ms kill host1"};
  for (char const* state : states) {
    CAPTURE(state);
    World w;
    REQUIRE(w.settle());
    if (*state != 0) w.inject(state);
    w.idle(60_ms);
    w.ends->close(End::sender);
    w.idle(2100_ms);
    CHECK(w.ends->closed(End::sender));
  }
  World early{{.connect = false}};
  early.ends->connect(PortId{0}, early.ends->handle());
  early.ends->close(End::sender);
  CHECK(early.ends->closed(End::sender));
}
