// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/listener_core.hpp>

#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::detail;
using namespace vccl::literals;

namespace {
struct Place {
  soft::Fabric fabric{{.hosts = 2, .virtual_time = true}};
  ListenerCore<soft::Host> core{fabric.host(0), 1_s};
  soft::Host::Address address{};
  soft::Host::Pipe accepted{};
  Offer offer{};

  Place() {
    std::memcpy(static_cast<void*>(&address), core.handle().address.data(), sizeof address);
  }
  soft::Host::Pipe dial() { return fabric.host(1).dial(address); }
  Offer good() const {
    Offer o;
    o.secret = core.handle().secret;
    o.incarnation = core.handle().incarnation;
    o.nonce = 9;
    o.max_message = 1;
    o.paths = 1;
    o.path[0].block = 1;
    o.path[0].lanes = 1;
    o.path[0].qps = 1;
    return o;
  }
  static void say(soft::Host::Pipe& p, Offer const& o, Frame kind = Frame::hello) {
    FrameBuffer b;
    write_frame(b, kind, 0, &o, sizeof o);
    CHECK(p.send(b.view()) == Errc::ok);
  }
  Cause answer(soft::Host::Pipe& p) {
    fabric.advance(1_ms);
    FrameBuffer b;
    FrameHeader h;
    std::size_t const n = p.receive(b.bytes);
    if (n == 0 || !read_header({b.bytes.data(), n}, h) || h.kind != Frame::refuse)
      return Cause::none;
    return h.cause;
  }
  bool take() {
    fabric.advance(1_ms);
    return core.take(accepted, offer);
  }
};
}  // namespace

TEST_CASE("who knows the secret is let in, with what it offered") {
  Place at;
  auto p = at.dial();
  CHECK_FALSE(at.take());
  Place::say(p, at.good());
  REQUIRE(at.take());
  CHECK(at.offer.nonce == 9);
  CHECK_FALSE(at.take());
  CHECK(at.core.refused() == 0);
}

TEST_CASE("a wrong secret is refused, told so, and counted") {
  Place at;
  auto p = at.dial();
  Offer o = at.good();
  o.secret[1] ^= 1;
  Place::say(p, o);
  CHECK_FALSE(at.take());
  CHECK(at.answer(p) == Cause::wrong_secret);
  CHECK(at.core.refused() == 1);
}

TEST_CASE("the right secret for an earlier life of the listener is told that it restarted") {
  Place at;
  auto p = at.dial();
  Offer o = at.good();
  o.incarnation ^= 1;
  Place::say(p, o);
  CHECK_FALSE(at.take());
  CHECK(at.answer(p) == Cause::peer_restarted);
}

TEST_CASE("rubbish, silence and frames out of turn do not disturb the next caller") {
  Place at;
  auto silent = at.dial();
  auto rubbish = at.dial();
  auto early = at.dial();
  std::array<std::byte, 100> junk{};
  CHECK(rubbish.send(junk) == Errc::ok);
  Place::say(early, at.good(), Frame::welcome);
  auto p = at.dial();
  Place::say(p, at.good());
  REQUIRE(at.take());
  CHECK(at.answer(rubbish) == Cause::bad_handshake);
  CHECK(at.answer(early) == Cause::bad_handshake);
  CHECK(at.core.refused() == 2);
}

TEST_CASE(
    "a caller that says nothing is dropped after a while, and its hello then comes too late") {
  Place at;
  auto p = at.dial();
  CHECK_FALSE(at.take());
  at.fabric.advance(2_s);
  CHECK_FALSE(at.take());
  Place::say(p, at.good());
  CHECK_FALSE(at.take());
}

TEST_CASE("a closed listener lets nobody in") {
  Place at;
  auto p = at.dial();
  Place::say(p, at.good());
  at.core.close();
  CHECK_FALSE(at.take());
}

TEST_CASE("handles differ from listener to listener in what must not be guessed") {
  Place at;
  ListenerCore<soft::Host> other{at.fabric.host(0), 1_s};
  CHECK(other.handle().secret != at.core.handle().secret);
  CHECK(other.handle().incarnation != at.core.handle().incarnation);
}
