// SPDX-License-Identifier: Apache-2.0
#include <vccl/concepts.hpp>

#include <archetypes/bundle.hpp>
#include <archetypes/transport.hpp>

#include <doctest/doctest.h>

// What breaks a concept is in tests/concepts, one fault a type.

namespace vccl::test {
namespace {

TEST_CASE("the archetype of every role models it") {
  CHECK(Transport<archetype::Transport>);
  CHECK(Host<archetype::Host>);
  CHECK(PathSelector<archetype::PathSelector>);
  CHECK(Detector<archetype::Detector>);
  CHECK(Fence<archetype::Fence>);
  CHECK(Release<archetype::Release>);
  CHECK(Rollback<archetype::Rollback>);
  CHECK(Failback<archetype::Failback>);
  CHECK(Health<archetype::Health>);
  CHECK(Aggregator<archetype::Aggregator>);
  CHECK(Telemetry<archetype::Telemetry>);
  CHECK(PolicyBundle<archetype::PolicyBundle>);
}

TEST_CASE("no archetype models a role that is not its own") {
  CHECK_FALSE(Transport<archetype::Host>);
  CHECK_FALSE(Host<archetype::Transport>);
  CHECK_FALSE(Detector<archetype::Failback>);
  CHECK_FALSE(Fence<archetype::Detector>);
  CHECK_FALSE(Health<archetype::Telemetry>);
  CHECK_FALSE(PolicyBundle<archetype::Transport>);
}

TEST_CASE("the NIC's retry window is 4.096 us, doubled with each timeout step, for every try") {
  CHECK(Timing{.nic_timeout = 1, .nic_retry_count = 0}.nic_retry_window() == 8'192_ns);
  CHECK(Timing{.nic_timeout = 1, .nic_retry_count = 6}.nic_retry_window() == 57'344_ns);
  CHECK(Timing{.nic_timeout = 31, .nic_retry_count = 6}.nic_retry_window() ==
        Duration{61'572'651'155'456});
}

}  // namespace
}  // namespace vccl::test
