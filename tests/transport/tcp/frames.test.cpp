// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/frames.hpp>

#include <support/sockets.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace vccl;
using namespace vccl::test;
using tcp::Parsed;

namespace {

void put(tcp::Inbox& inbox, std::span<std::byte const> bytes) {
  REQUIRE(inbox.room().size() >= bytes.size());
  std::memcpy(inbox.room().data(), bytes.data(), bytes.size());
  inbox.filled(bytes.size());
}
template <class Plain>
std::vector<std::byte> bytes_of(Plain const& p) {
  auto const b = std::as_bytes(std::span{&p, 1});
  return {b.begin(), b.end()};
}
std::vector<std::byte> framed(std::span<std::byte const> message) {
  tcp::MessageHeader const h{.bytes = static_cast<std::uint32_t>(message.size())};
  std::vector<std::byte> all(sizeof h + message.size());
  std::memcpy(all.data(), &h, sizeof h);
  std::memcpy(all.data() + sizeof h, message.data(), message.size());
  return all;
}
tcp::Greeting good() {
  tcp::Greeting g;
  g.attempt = 3;
  g.pipe = {1, 2};
  g.secret = {3, 4};
  return g;
}
Parsed greeted(tcp::Greeting const& g) {
  tcp::Inbox inbox;
  put(inbox, bytes_of(g));
  tcp::Greeting out;
  return inbox.greeting(out);
}

}  // namespace

TEST_CASE("a greeting is taken when it is whole, wherever it was cut") {
  std::vector<std::byte> const all = bytes_of(good());
  for (std::size_t cut = 0; cut < all.size(); ++cut) {
    CAPTURE(cut);
    tcp::Inbox inbox;
    tcp::Greeting g;
    put(inbox, std::span{all}.first(cut));
    CHECK(inbox.greeting(g) == Parsed::wait);
    put(inbox, std::span{all}.subspan(cut));
    REQUIRE(inbox.greeting(g) == Parsed::one);
    CHECK(bytes_of(g) == all);
    CHECK(inbox.greeting(g) == Parsed::wait);
  }
}

TEST_CASE("a greeting of another kind, version or size is bad") {
  CHECK(greeted(good()) == Parsed::one);
  tcp::Greeting g = good();
  g.magic ^= 1;
  CHECK(greeted(g) == Parsed::bad);
  g = good();
  g.version = 2;
  CHECK(greeted(g) == Parsed::bad);
  g = good();
  g.bytes = 47;
  CHECK(greeted(g) == Parsed::bad);
  g = good();
  g.kind = tcp::Greeting::Kind{0};
  CHECK(greeted(g) == Parsed::bad);
  g.kind = tcp::Greeting::Kind{5};
  CHECK(greeted(g) == Parsed::bad);
  g = good();
  g.attempt = 0;
  CHECK(greeted(g) == Parsed::bad);
}

TEST_CASE("what is no greeting is known by its first eight bytes") {
  tcp::Inbox inbox;
  tcp::Greeting g;
  put(inbox, std::as_bytes(std::span{std::string_view{"GET / H"}}));
  CHECK(inbox.greeting(g) == Parsed::wait);
  put(inbox, std::as_bytes(std::span{std::string_view{"T"}}));
  CHECK(inbox.greeting(g) == Parsed::bad);
  CHECK(inbox.greeting(g) == Parsed::bad);
}

TEST_CASE("messages come whole, in order, with their bytes, wherever they were cut") {
  std::vector<std::byte> all;
  for (std::uint32_t n = 1; n <= 20; ++n) {
    auto const one = framed(message(n, n == 7 ? tcp::max_message : n));
    all.insert(all.end(), one.begin(), one.end());
  }
  for (std::size_t piece : {1u, 2u, 3u, 7u, 8u, 9u, 100u, 4096u, 4103u, 4104u}) {
    CAPTURE(piece);
    tcp::Inbox inbox;
    std::vector<std::byte> into(tcp::max_message);
    std::uint32_t n = 0;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      put(inbox, std::span{all}.subspan(at, std::min(piece, all.size() - at)));
      for (std::size_t size = 0; inbox.message(into, size) == Parsed::one;) {
        ++n;
        auto const sent = message(n, n == 7 ? tcp::max_message : n);
        REQUIRE(size == sent.size());
        CHECK(std::memcmp(into.data(), sent.data(), size) == 0);
      }
    }
    CHECK(n == 20);
  }
}

TEST_CASE("a message is cut to the room that there is, and the next one is whole") {
  tcp::Inbox inbox;
  put(inbox, framed(message(1, 100)));
  put(inbox, framed(message(2, 100)));
  std::array<std::byte, 10> into;
  std::size_t n = 0;
  CHECK(inbox.message({}, n) == Parsed::one);
  CHECK(n == 0);
  CHECK(inbox.message(into, n) == Parsed::one);
  CHECK(n == 10);
  CHECK(number_in(into) == 2);
}

TEST_CASE("no message is empty, longer than 4096 bytes, or without its mark") {
  for (std::uint32_t bytes : {0u, 4097u, 8200u, 0xffff'ffffu}) {
    CAPTURE(bytes);
    tcp::Inbox inbox;
    put(inbox, bytes_of(tcp::MessageHeader{.bytes = bytes}));
    std::array<std::byte, 16> into;
    std::size_t n = 0;
    CHECK(inbox.message(into, n) == Parsed::bad);
  }
  tcp::Inbox inbox;
  put(inbox, bytes_of(tcp::MessageHeader{.magic = 1, .bytes = 4}));
  std::array<std::byte, 16> into;
  std::size_t n = 0;
  CHECK(inbox.message(into, n) == Parsed::bad);
}

TEST_CASE("an inbox that waits for the rest of a message has room for it") {
  tcp::Inbox inbox;
  auto const longest = framed(message(1, tcp::max_message));
  put(inbox, std::span{longest}.first(longest.size() - 1));
  std::array<std::byte, 16> into;
  std::size_t n = 0;
  CHECK(inbox.message(into, n) == Parsed::wait);
  CHECK(inbox.room().size() >= longest.size());
}

TEST_CASE("an outbox takes what fits and refuses the rest, then takes again") {
  tcp::Outbox outbox{3 * (8 + 4096)};
  for (std::uint32_t n = 0; n < 3; ++n) CHECK(outbox.push(message(n, 4096)));
  CHECK_FALSE(outbox.push(message(3, 1)));
  CHECK(outbox.unsent().size() == 3 * 4104);
  outbox.sent(4103);
  CHECK_FALSE(outbox.push(message(3, 1)));  // The first may have to go again.
  outbox.sent(1);
  CHECK(outbox.push(message(3, 4096)));
  CHECK_FALSE(outbox.push(message(4, 1)));
  CHECK(outbox.unsent().size() == 3 * 4104);
}

TEST_CASE("an outbox has room for one longest message at least") {
  tcp::Outbox outbox{0};
  CHECK(outbox.push(message(1, 4096)));
  CHECK_FALSE(outbox.push(message(2, 1)));
}

TEST_CASE("on a new socket the message that was cut off goes again, and no other") {
  for (std::size_t sent = 0; sent <= 3 * 12; ++sent) {
    CAPTURE(sent);
    tcp::Outbox outbox{1 << 14};
    for (std::uint32_t n = 0; n < 3; ++n) REQUIRE(outbox.push(message(n)));
    outbox.sent(sent);
    outbox.restart();
    tcp::Inbox inbox;
    put(inbox, outbox.unsent());
    std::array<std::byte, 16> into;
    std::size_t n = 0;
    std::uint32_t expected = static_cast<std::uint32_t>(sent / 12);
    while (inbox.message(into, n) == Parsed::one) CHECK(number_in(into) == expected++);
    CHECK(expected == 3);
  }
}

TEST_CASE("what goes in by any pieces comes out the same") {
  tcp::Outbox outbox{9'000};
  tcp::Inbox inbox;
  std::vector<std::byte> into(tcp::max_message);
  std::uint32_t in = 0, out = 0;
  std::size_t random = 1, refused = 0;
  while (out < 3000) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::size_t const roll = random >> 33;
    if (in < 3000) {
      if (outbox.push(message(in, 4 + in * 37 % 4093))) {
        ++in;
      } else {
        ++refused;
      }
    }
    std::size_t const n = std::min({roll % 2500, outbox.unsent().size(), inbox.room().size()});
    put(inbox, outbox.unsent().first(n));
    outbox.sent(n);
    for (std::size_t size = 0; inbox.message(into, size) == Parsed::one; ++out) {
      REQUIRE(number_in(into) == out);
      REQUIRE(size == 4 + out * 37 % 4093);
    }
  }
  CHECK(refused > 0);
}
