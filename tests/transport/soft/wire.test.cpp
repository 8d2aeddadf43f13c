// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/wire.hpp>

#include <doctest/doctest.h>

using namespace vccl::soft;

namespace {

std::byte const text[3] = {std::byte{1}, std::byte{2}, std::byte{3}};

}  // namespace

TEST_CASE("a pipe opens at the door with the first message that arrives") {
  Wire w;
  std::uint32_t const door = w.open_door(1);
  std::uint32_t const near = w.dial(0, {1, door});
  CHECK(w.accept(door) == Wire::no_end);
  w.drop(w.write(near, {}, true));  // the first one is lost
  CHECK(w.accept(door) == Wire::no_end);
  w.deliver(w.write(near, text, false));
  std::uint32_t const far = w.accept(door);
  REQUIRE(far != Wire::no_end);
  CHECK(w.accept(door) == Wire::no_end);
  std::byte into[8];
  CHECK(w.read(far, into) == 3);
  CHECK(into[2] == std::byte{3});
  CHECK(w.read(far, into) == 0);
  w.deliver(w.write(far, text, false));
  CHECK(w.read(near, std::span{into, 2}) == 2);
}

TEST_CASE("a door that is closed or was never there does not answer") {
  Wire w;
  std::uint32_t const door = w.open_door(1);
  w.close_door(door);
  w.deliver(w.write(w.dial(0, {1, door}), text, false));
  w.deliver(w.write(w.dial(0, {1, 77}), text, false));
  CHECK(w.accept(door) == Wire::no_end);
}

TEST_CASE("a killed host loses its doors and what its pipes held, and old pipes stay silent") {
  Wire w;
  std::uint32_t const door = w.open_door(1);
  std::uint32_t const near = w.dial(0, {1, door});
  w.deliver(w.write(near, text, false));
  std::uint32_t const far = w.accept(door);
  w.kill(1);
  std::byte into[8];
  CHECK(w.read(far, into) == 0);
  CHECK_FALSE(w.open(far));
  w.deliver(w.write(near, text, false));
  CHECK(w.read(far, into) == 0);
  CHECK(w.open_door(1) != door);
}
