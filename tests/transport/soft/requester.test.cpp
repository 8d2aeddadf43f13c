// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/requester.hpp>

#include <doctest/doctest.h>
#include <transport/soft/pair.hpp>

using namespace vccl;
using namespace vccl::test;
using V = std::vector<int>;

TEST_CASE("a message of any size arrives whole, and its acknowledgement completes it") {
  soft::Fabric fabric{still({.latency = {1000}, .mtu = 1024})};
  Pair p{fabric};
  for (std::uint64_t n : {1u, 8u, 1023u, 1024u, 1025u, 100'000u, 200'000u}) {
    std::memset(p.target.data(), 0, p.target.size());
    CHECK(p.go(p.write(n, n)) == Errc::ok);
    CHECK(Pair::poll(p.a).empty());
    p.run();
    auto const done = Pair::poll(p.a);
    REQUIRE(done.size() == 1);
    CHECK((done[0].id == n && done[0].status == Status::success));
    CHECK(p.same(n));
    CHECK(p.target[n] == std::byte{0});
  }
}

// IBTA vol. 1, 9.7.6.1.3 and 11.6.2 (retry counter exceeded): retry_count further tries, each after
// 4.096 us x 2^timeout, then status 12; the rest flushes with 5 in order.
TEST_CASE("without an answer a request fails after its retries, and what is behind it flushes") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.timeout = 10, .retry_count = 3}};
  fabric.link(1, 0).down();
  for (std::uint64_t id = 1; id <= 3; ++id) CHECK(p.a.post(p.write(8, id)) == Errc::ok);
  CHECK(p.a.flush() == Errc::ok);
  Duration const window = soft::ack_timeout(10) * 4;
  fabric.advance(window - Duration{1});
  CHECK(Pair::poll(p.a).empty());
  fabric.advance(Duration{1});
  auto const done = Pair::poll(p.a);
  REQUIRE(done.size() == 3);
  CHECK((done[0].id == 1 && done[0].status == Status::retry_exceeded));
  CHECK((done[1].id == 2 && done[1].status == Status::flushed));
  CHECK((done[2].id == 3 && done[2].status == Status::flushed));
  CHECK(p.a.state(0) == soft::QpState::err);
  CHECK(fabric.link(0, 0).stats().packets_dropped == 12);
}

TEST_CASE("an outage within the retry window costs no error and no message") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.timeout = 10, .retry_count = 3}};
  fabric.link(0, 0).down();
  CHECK(p.go(p.write(5000)) == Errc::ok);
  fabric.advance(soft::ack_timeout(10) * 3 - Duration{1});
  fabric.link(0, 0).up();
  p.run();
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(p.same(5000));
  CHECK(fabric.link(0, 0).stats().data_bytes_again == 3 * 5000);
}

TEST_CASE("the real timeout may be a third of the nominal one or three times as long") {
  for (std::uint32_t percent : {30u, 300u}) {
    soft::Fabric fabric{still({.timeout_percent = percent})};
    Pair p{fabric, {.timeout = 10, .retry_count = 0}};
    fabric.link(0, 0).down();
    CHECK(p.go(p.write(8)) == Errc::ok);
    p.run();
    CHECK(fabric.now().ns == soft::ack_timeout(10).ns * percent / 100);
    CHECK(Pair::statuses(p.a) == V{12});
  }
}

// Linux' rxe never gives up with retry_count 7; IBTA vol. 1 counts to seven.
TEST_CASE("seven retries are seven, or for ever where the fabric is told so") {
  for (bool for_ever : {false, true}) {
    soft::Fabric fabric{still({.seven_retries_for_ever = for_ever})};
    Pair p{fabric, {.timeout = 5, .retry_count = 7}};
    fabric.link(0, 0).down();
    CHECK(p.go(p.write(8)) == Errc::ok);
    p.run(Duration{100'000'000});
    CHECK(Pair::statuses(p.a) == (for_ever ? V{} : V{12}));
  }
}

// man ibv_modify_qp: rnr_retry 7 means infinite; IBTA vol. 1, 9.7.5.2.8.
TEST_CASE("without a receive a notify is retried after the responder's timer, rnr_retry times") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.rnr_retry = 2, .min_rnr_timer = 12}};
  CHECK(p.go(p.notify(5000, 1)) == Errc::ok);
  fabric.advance(Duration{2 * 640'000 - 1});
  CHECK(Pair::poll(p.a).empty());
  fabric.advance(Duration{1});
  CHECK(Pair::statuses(p.a) == V{13});
  CHECK(p.b.state(0) == soft::QpState::rts);
}

TEST_CASE("rnr_retry 7 waits until a receive is there") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.rnr_retry = 7, .min_rnr_timer = 1}};
  CHECK(p.go(p.notify(5000, 0x01020304)) == Errc::ok);
  fabric.advance(Duration{100'000'000});
  CHECK(Pair::poll(p.b).empty());
  CHECK(p.b.post_receive(0, 44) == Errc::ok);
  fabric.advance(Duration{10'000});
  auto const got = Pair::poll(p.b);
  REQUIRE(got.size() == 1);
  CHECK((got[0].id == 44 && got[0].immediate == 0x01020304 && got[0].bytes == 5000));
  CHECK(got[0].kind == Completion::Kind::received_with_immediate);
  CHECK(Pair::statuses(p.a) == V{0});
}

// IBTA vol. 1, 10.8.3.3.4 (local protection error) and man ibv_post_send: bad lkey or range.
TEST_CASE("a bad local key or range is status 4, after what was posted before it") {
  soft::Fabric fabric{still({.latency = {1000}})};
  for (int what = 0; what < 3; ++what) {
    Pair p{fabric};
    WorkRequest bad = p.write(8, 2);
    if (what == 0) bad.keys.local = p.from.keys().remote;
    if (what == 1) bad.local += p.source.size() - 7;
    if (what == 2) bad.keys.local = p.into.keys().local;
    CHECK(p.a.post(p.write(8, 1)) == Errc::ok);
    CHECK(p.a.post(bad) == Errc::ok);
    CHECK(p.go(p.write(8, 3)) == Errc::ok);
    p.run();
    CHECK(Pair::statuses(p.a) == V{0, 4, 5});
    CHECK(p.b.state(0) == soft::QpState::rts);
  }
}

TEST_CASE("memory that is given up while it is being sent is status 4") {
  soft::Fabric fabric{still({.bytes_per_second = 1'000'000})};
  Pair p{fabric};
  CHECK(p.go(p.write(200'000)) == Errc::ok);
  fabric.advance(Duration{10'000'000});
  auto const gone = std::move(p.from);
  {
    auto const end = std::move(const_cast<SoftNic::Registration&>(gone));
  }
  p.run();
  CHECK(Pair::statuses(p.a) == V{4});
}

TEST_CASE("a message longer than the port's maximum is status 1") {
  soft::Fabric fabric{still({.max_message = 1000})};
  Pair p{fabric};
  CHECK(p.a.max_message() == 1000);
  CHECK(p.go(p.write(1000)) == Errc::ok);
  CHECK(p.go(p.write(1001)) == Errc::ok);
  CHECK(Pair::statuses(p.a) == V{0, 1});
}

// IBTA vol. 1, 10.8.6: an unsignaled request makes no completion unless it fails.
TEST_CASE(
    "unsignaled work is retired by the next signaled completion, and completes when it fails") {
  soft::Fabric fabric{still()};
  Pair p{fabric, {.send_depth = 4, .timeout = 5, .retry_count = 0}};
  WorkRequest quiet = p.write(8, 1);
  quiet.signaled = false;
  for (int i = 0; i < 3; ++i) CHECK(p.go(quiet) == Errc::ok);
  CHECK(Pair::poll(p.a).empty());
  CHECK(p.go(p.write(8, 2)) == Errc::ok);
  CHECK(p.go(quiet) == Errc::would_block);
  CHECK(Pair::statuses(p.a) == V{0});
  fabric.link(0, 0).down();
  for (int i = 0; i < 4; ++i) CHECK(p.go(quiet) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{12, 5, 5, 5});
}

TEST_CASE("packet numbers wrap in the middle of a message") {
  soft::Fabric fabric{still({.latency = {10}, .mtu = 256, .first_psn = 0xff'fff0})};
  Pair p{fabric};
  fabric.inject("every 7 drop data host0.port0");
  CHECK(p.at_a.packet_numbers[0] == 0xff'fff0);
  CHECK(p.go(p.write(100'000)) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{0});
  CHECK(p.same(100'000));
  CHECK(fabric.fired(soft::Action::drop) > 10);
}

TEST_CASE("a read brings the peer's bytes, and a lost answer is asked for again") {
  soft::Fabric fabric{still({.latency = {10}})};
  Pair p{fabric, {.timeout = 5}};
  fabric.inject("drop ack host1.port0 count 3");
  for (std::size_t i = 0; i < p.target.size(); ++i) p.target[i] = static_cast<std::byte>(i % 251);
  WorkRequest read = p.write(50'000);
  read.kind = WorkRequest::Kind::read;
  CHECK(p.a.post(read) == Errc::ok);
  CHECK(p.go(p.write(0, 2)) == Errc::ok);
  p.run();
  CHECK(Pair::statuses(p.a) == V{0, 0});
  CHECK(p.same(50'000));
  CHECK(fabric.fired(soft::Action::drop) == 3);
}
