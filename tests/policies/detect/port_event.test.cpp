// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/detect/port_event.hpp>

#include <contracts/detector_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using Default = detect::PortEvent<>;
using Shortest = detect::PortEvent<detect::Hold{.hold = 1_ns}>;
using Long = detect::PortEvent<detect::Hold{.hold = 10_s}>;

constexpr Verdict port_down{Verdict::Kind::path, Cause::port_down};

TEST_CASE_TEMPLATE("port event detectors keep the contract", D, Default, Shortest, Long) {
  CHECK(contracts::detector<D>() == "");
}

TEST_CASE("the hold is 50 ms unless told otherwise") {
  CHECK(Default::hold() == 50_ms);
  CHECK(Long::hold() == 10_s);
}

TEST_CASE("a port that is down says nothing until one nanosecond before the hold") {
  CHECK(Default::on_port({.down = true, .down_for = 0_ns}) == Verdict{});
  CHECK(Default::on_port({.down = true, .down_for = 50_ms - 1_ns}) == Verdict{});
}

TEST_CASE("a port that is down for exactly the hold takes its path out") {
  CHECK(Default::on_port({.down = true, .down_for = 50_ms}) == port_down);
  CHECK(Default::on_port({.down = true, .down_for = 3'600_s}) == port_down);
}

TEST_CASE("a port that is up says nothing, whatever was before") {
  CHECK(Default::on_port({.down = false, .down_for = 3'600_s}) == Verdict{});
}

TEST_CASE("completions and waits say nothing to it") {
  CHECK(Default::on_completion(Status::retry_exceeded, true) == Verdict{});
  CHECK(Default::on_wait({.waiting = 3'600_s, .probing = 3'600_s}) == Verdict{});
  CHECK(Default::stall() == Duration{});
}

}  // namespace
}  // namespace vccl::test
