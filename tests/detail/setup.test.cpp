// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/setup.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::detail;

namespace {
Offer offer() {
  Offer o;
  o.secret = {1, 2};
  o.incarnation = 3;
  o.nonce = 4;
  o.max_message = 1 << 20;
  o.paths = 2;
  for (std::size_t q = 0; q < 2; ++q) {
    o.path[q].block = 0x1000 * (q + 1);
    o.path[q].lanes = 1;
    o.path[q].qps = 1;
    o.path[q].up = 1;
  }
  return o;
}

FrameBuffer hello(Offer const& o) {
  FrameBuffer b;
  write_frame(b, Frame::hello, 42, &o, sizeof o);
  return b;
}

bool reads(FrameBuffer const& b) {
  FrameHeader h;
  Offer o;
  return read_header(b.view(), h) && h.kind == Frame::hello && read_offer(b.view(), o);
}
}  // namespace

TEST_CASE("an offer comes back as it was sent") {
  FrameBuffer const b = hello(offer());
  FrameHeader h;
  Offer o;
  REQUIRE(read_header(b.view(), h));
  CHECK(h.session == 42);
  REQUIRE(read_offer(b.view(), o));
  CHECK(o.nonce == 4);
  CHECK(o.path[1].block == 0x2000);
}

TEST_CASE("no flipped bit of a handshake is taken for one") {
  FrameBuffer const good = hello(offer());
  REQUIRE(reads(good));
  for (std::size_t i = 0; i < good.size; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      FrameBuffer bad = good;
      bad.bytes[i] ^= std::byte(1u << bit);
      CAPTURE(i);
      CHECK_FALSE(reads(bad));
    }
  }
}

TEST_CASE("a handshake that is cut short or too long is not taken") {
  FrameBuffer const good = hello(offer());
  for (std::size_t n = 0; n < good.size; n += 7) {
    FrameBuffer bad = good;
    bad.size = n;
    CHECK_FALSE(reads(bad));
  }
  Offer o = offer();
  FrameBuffer longer;
  write_frame(longer, Frame::hello, 1, &o, sizeof o - 8);
  CHECK_FALSE(reads(longer));
}

TEST_CASE("numbers that cannot be are refused, each of them") {
  auto const refused = [](auto change) {
    Offer o = offer();
    change(o);
    return !reads(hello(o));
  };
  CHECK(refused([](Offer& o) { o.paths = 0; }));
  CHECK(refused([](Offer& o) { o.paths = max_paths + 1; }));
  CHECK(refused([](Offer& o) { o.max_message = 0; }));
  CHECK(refused([](Offer& o) { o.path[0].lanes = 0; }));
  CHECK(refused([](Offer& o) { o.path[1].lanes = max_lanes + 1; }));
  CHECK(refused([](Offer& o) { o.path[1].qps = 0; }));
  CHECK(refused([](Offer& o) { o.path[1].qps = max_qps + 1; }));
  CHECK(refused([](Offer& o) { o.path[0].block = 0; }));
  CHECK(refused([](Offer& o) { o.path[0].up = 2; }));
  CHECK_FALSE(refused([](Offer& o) { o.path[1] = {}; }));  // No backup is no error.
}

TEST_CASE("a control frame travels with as many addresses as it says, and no more") {
  ControlFrame f;
  f.message.sequence = 8;
  f.lanes = 2;
  FrameBuffer b;
  write_frame(b, Frame::control, 7, &f, frame_bytes(f));
  ControlFrame back;
  REQUIRE(read_control_frame(b.view(), back));
  CHECK(back.message == f.message);
  CHECK(back.lanes == 2);
  f.lanes = max_lanes + 1;
  write_frame(b, Frame::control, 7, &f, sizeof f);
  CHECK_FALSE(read_control_frame(b.view(), back));
  f.lanes = 3;  // Says three, brings one.
  write_frame(b, Frame::control, 7, &f, offsetof(ControlFrame, addresses) + sizeof(LaneAddress));
  CHECK_FALSE(read_control_frame(b.view(), back));
}

TEST_CASE("secrets are equal when every word is") {
  CHECK(same_secret({1, 2}, {1, 2}));
  CHECK_FALSE(same_secret({1, 2}, {1, 3}));
  CHECK_FALSE(same_secret({1, 2}, {3, 2}));
}

TEST_CASE("a handle fits what frameworks carry") { CHECK(sizeof(Handle) <= 128); }
