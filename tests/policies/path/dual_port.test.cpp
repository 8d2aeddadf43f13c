// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/path/dual_port.hpp>

#include <contracts/path_selector_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using path::DualPort;

constexpr PortView on_card(std::uint16_t port, std::uint16_t card, bool active = true) {
  return {.port = PortId{port}, .state = {.active = active, .card = card}};
}

TEST_CASE("dual port keeps the contract of a path selector") {
  CHECK(contracts::path_selector<DualPort>() == "");
}

TEST_CASE("the two ports of a card back each other up") {
  constexpr PortView ports[] = {on_card(0, 0), on_card(1, 0), on_card(2, 1), on_card(3, 1)};
  CHECK(DualPort::backup(PortId{0}, ports, 0) == PortId{1});
  CHECK(DualPort::backup(PortId{1}, ports, 0) == PortId{0});
  CHECK(DualPort::backup(PortId{2}, ports, 0) == PortId{3});
  CHECK(DualPort::backup(PortId{3}, ports, 0) == PortId{2});
  CHECK(DualPort::backup(PortId{0}, ports, 1) == no_port);
}

TEST_CASE("a card is known by its number, not by where its ports stand in the list") {
  constexpr PortView ports[] = {on_card(7, 1), on_card(4, 9), on_card(6, 1), on_card(5, 9)};
  CHECK(DualPort::backup(PortId{7}, ports, 0) == PortId{6});
  CHECK(DualPort::backup(PortId{5}, ports, 0) == PortId{4});
}

TEST_CASE("more ports of the card are candidates in the order of the list") {
  constexpr PortView ports[] = {on_card(3, 0), on_card(1, 0), on_card(9, 1), on_card(2, 0)};
  CHECK(DualPort::backup(PortId{1}, ports, 0) == PortId{3});
  CHECK(DualPort::backup(PortId{1}, ports, 1) == PortId{2});
  CHECK(DualPort::backup(PortId{1}, ports, 2) == no_port);
}

TEST_CASE("the only port of a card has no backup") {
  constexpr PortView ports[] = {on_card(0, 0), on_card(1, 1)};
  CHECK(DualPort::backup(PortId{0}, ports, 0) == no_port);
}

TEST_CASE("a port that is down is a candidate, as it may be up when it is needed") {
  constexpr PortView ports[] = {on_card(0, 0), on_card(1, 0, false)};
  CHECK(DualPort::backup(PortId{0}, ports, 0) == PortId{1});
}

TEST_CASE("a port that is not in the list has no backup") {
  constexpr PortView ports[] = {on_card(0, 0), on_card(1, 0)};
  CHECK(DualPort::backup(PortId{2}, ports, 0) == no_port);
  CHECK(DualPort::backup(no_port, ports, 0) == no_port);
  CHECK(DualPort::backup(PortId{0}, {}, 0) == no_port);
}

}  // namespace
}  // namespace vccl::test
