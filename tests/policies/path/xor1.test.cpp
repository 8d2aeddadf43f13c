// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/path/xor1.hpp>

#include <contracts/path_selector_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using path::Xor1;

constexpr PortView port(std::uint16_t number, bool active = true) {
  return {.port = PortId{number}, .state = {.active = active, .card = number}};
}

TEST_CASE("xor1 keeps the contract of a path selector") {
  CHECK(contracts::path_selector<Xor1>() == "");
}

TEST_CASE("neighbours in the list back each other up, whatever their numbers and cards") {
  constexpr PortView ports[] = {port(8), port(3), port(5), port(0)};
  CHECK(Xor1::backup(PortId{8}, ports, 0) == PortId{3});
  CHECK(Xor1::backup(PortId{3}, ports, 0) == PortId{8});
  CHECK(Xor1::backup(PortId{5}, ports, 0) == PortId{0});
  CHECK(Xor1::backup(PortId{0}, ports, 0) == PortId{5});
}

TEST_CASE("there is one candidate") {
  constexpr PortView ports[] = {port(0), port(1), port(2), port(3)};
  CHECK(Xor1::backup(PortId{0}, ports, 1) == no_port);
  CHECK(Xor1::backup(PortId{0}, ports, 2) == no_port);
}

TEST_CASE("the last port of an odd list has no backup") {
  constexpr PortView ports[] = {port(0), port(1), port(2)};
  CHECK(Xor1::backup(PortId{2}, ports, 0) == no_port);
  CHECK(Xor1::backup(PortId{1}, ports, 0) == PortId{0});
}

TEST_CASE("a port that is down does not shift the pairs") {
  constexpr PortView ports[] = {port(0), port(1, false), port(2), port(3)};
  CHECK(Xor1::backup(PortId{0}, ports, 0) == PortId{1});
  CHECK(Xor1::backup(PortId{2}, ports, 0) == PortId{3});
}

TEST_CASE("a port that is not in the list has no backup") {
  constexpr PortView ports[] = {port(0), port(1)};
  CHECK(Xor1::backup(PortId{2}, ports, 0) == no_port);
  CHECK(Xor1::backup(no_port, ports, 0) == no_port);
  CHECK(Xor1::backup(PortId{0}, {}, 0) == no_port);
}

}  // namespace
}  // namespace vccl::test
