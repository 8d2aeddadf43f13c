// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/fault_format.hpp>

#include <vccl/transport/soft/fault_script.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace vccl;
using namespace vccl::soft;

TEST_CASE("every kind of line reads the same after it was written") {
  for (const char* line : {
           "at 300ms link host0.port0 down",
           "link host0.port0 down for 2s",
           "after step 37 of host0.port1 link any up",
           "link host1.port0 speed 100Gbps",
           "link host1 throttle 12345B/s",
           "link any speed unlimited",
           "link any throttle 40Mbps",
           "link any latency 1500ns",
           "after step 37 drop ack host1.port0 for 2s",
           "every p=0.010000000 delay data host0.port1 by 4ms",
           "at 1us after step 2 after packet 3 every 5 every p=0.500000000 reorder any any by 9us "
           "for 1s count 7",
           "duplicate cts host0 by 3ns",
           "hold control any for 1s count 3",
           "drop oob host0 count 1",
           "gid host0.port0 new",
           "gid host0.port0 remove",
           "gid host0.port0 restore",
           "gid host0.port0 move 5",
           "at 1s kill host1",
           "at 2s revive host1",
           "device host0.port0 fatal",
           "device host0.port0 returns",
           "qp host0.port0 fatal",
           "cq host0.port0 error",
           "cq host0.port0 mute for 20ms",
           "fence host0.port1 takes 20ms",
           "fence host0.port1 fails on error count 2",
           "fence any hangs on reset",
           "call post_send 17 host0 fails ENOMEM",
           "call register_memory 1.. any fails EINVAL",
           "call describe 2..4 host0.port1 fails EIO",
           "reset any breaks",
           "reset any works",
       }) {
    std::string const text = line;
    auto const parsed = parse_faults(text);
    REQUIRE(parsed.size() == 1);
    CHECK(format(parsed[0]) == text);
    CHECK(parse_faults(format(parsed[0]))[0] == parsed[0]);
  }
}
