// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/address.hpp>

#include <doctest/doctest.h>

using namespace vccl;

TEST_CASE("an address survives the way to the socket calls and back") {
  for (char const* text : {"127.0.0.1", "10.1.2.3", "::1", "fd00::12:34", "fe80::1"}) {
    CAPTURE(text);
    tcp::Address a = tcp::parse(text);
    a.port = 65535;
    tcp::SocketAddress at;
    REQUIRE(tcp::to_socket(a, 7, at));
    tcp::Address const back = tcp::from_socket(at.get());
    CHECK(back.version == a.version);
    CHECK(back.bytes == a.bytes);
    CHECK(back.port == 65535);
    CHECK(tcp::same_secret(back.secret, {}));
  }
}

TEST_CASE("only a link-local address gets the zone") {
  tcp::SocketAddress at;
  auto const zone = [&at] {
    sockaddr_in6 in{};
    std::memcpy(&in, at.get(), sizeof in);
    return in.sin6_scope_id;
  };
  REQUIRE(tcp::to_socket(tcp::parse("fe80::1"), 7, at));
  CHECK(zone() == 7);
  REQUIRE(tcp::to_socket(tcp::parse("febf::1"), 7, at));
  CHECK(zone() == 7);
  REQUIRE(tcp::to_socket(tcp::parse("fec0::1"), 7, at));
  CHECK(zone() == 0);
  REQUIRE(tcp::to_socket(tcp::parse("fd00::1"), 7, at));
  CHECK(zone() == 0);
}

TEST_CASE("names, zones and rubbish are no addresses") {
  for (char const* text :
       {"", "localhost", "1.2.3", "1.2.3.4:5", "fe80::1%eth0", "::g", "1.2.3.4 "}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(static_cast<void>(tcp::parse(text)), doctest::Contains("numeric"),
                         SetupError);
  }
}

TEST_CASE("nobody is dialled at an impossible address") {
  tcp::SocketAddress at;
  CHECK_FALSE(tcp::to_socket({}, 0, at));
  tcp::Address a = tcp::parse("1.2.3.4");
  a.port = 65536;
  CHECK_FALSE(tcp::to_socket(a, 0, at));
  a.port = 1;
  a.version = 5;
  CHECK_FALSE(tcp::to_socket(a, 0, at));
  CHECK_FALSE(tcp::to_socket(tcp::parse("0.0.0.0"), 0, at));
  CHECK_FALSE(tcp::to_socket(tcp::parse("::"), 0, at));
}

TEST_CASE("an address of another family, or none, has version 0") {
  sockaddr other{};
  other.sa_family = AF_UNIX;
  CHECK(tcp::from_socket(&other).version == 0);
  CHECK(tcp::from_socket(nullptr).version == 0);
}
