// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/soft/fault_script.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace vccl;
using namespace vccl::soft;

namespace {

Fault one(std::string_view line) {
  auto const all = parse_faults(line);
  REQUIRE(all.size() == 1);
  return all[0];
}

std::string error_of(std::string_view text) {
  try {
    (void)parse_faults(text);
  } catch (ScriptError const& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the four lines of the design mean what they say") {
  auto const all = parse_faults(
      "at 300ms         link host0.port0 down\n"
      "after step 37    drop ack host1.port0 for 2s\n"
      "# a comment, and an empty line\n\n"
      "every p=0.01     delay data host0.port1 by 4ms # behind it too\n"
      "call post_send 17 host0 fails ENOMEM");
  REQUIRE(all.size() == 4);
  CHECK((all[0].at == Duration{300'000'000} && all[0].action == Action::link_down &&
         all[0].place == Place{0, 0}));
  CHECK((all[1].after_step == 37 && all[1].packets == PacketKind::ack &&
         all[1].lasts == Duration{2'000'000'000}));
  CHECK((all[2].chance == 10'000'000 && all[2].by == Duration{4'000'000} &&
         all[2].place == Place{0, 1}));
  CHECK((all[3].call == Call::post_send && all[3].first == 17 && all[3].last == 17 &&
         all[3].error == ENOMEM));
  CHECK(all[3].place == Place{0, Place::all});
}

TEST_CASE("conditions, clauses, rates and ranges are read") {
  CHECK(one("after step 5 of host1 kill host1").step_place == Place{1, Place::all});
  CHECK(one("at 1.5ms after packet 3 every 4 hold any any for 2s count 9").after_packet == 3);
  CHECK(one("link any speed 2.5Gbps").rate == 312'500'000);
  CHECK(one("link any throttle 1000B/s").rate == 1000);
  CHECK(one("link any speed unlimited").rate == 0);
  CHECK(one("fence host0.port1 takes 20ms on reset count 1").steps == FenceSteps::reset);
  CHECK(one("call poll 3.. any fails EIO").last == 0);
  CHECK(one("call poll 3..5 any fails EIO").last == 5);
  CHECK(one("gid host0.port0 move 5").index == 5);
  CHECK(one("link host0.port0 down for 100us").lasts == Duration{100'000});
}

TEST_CASE("an error names the line, the word and what was expected, in one line") {
  CHECK(error_of("\n\nlink host0.port0 dwon") ==
        "line 3: 'dwon', expected down or up or speed or throttle or latency");
  CHECK(error_of("at 300 link host0.port0 down") ==
        "line 1: '300', expected a duration such as 300ms (ns, us, ms, s)");
  CHECK(error_of("delay data host0.port0") == "line 1: the line ends, expected by and a duration");
  CHECK(error_of("kill host0.port0") == "line 1: 'host0.port0', expected hostN");
  CHECK(error_of("drop dta any").starts_with("line 1: 'dta', expected data, cts"));
  CHECK(error_of("drop data port1").starts_with("line 1: 'port1', expected hostN"));
  CHECK(error_of("every p=1.5 drop data any").starts_with("line 1: 'p=1.5', expected p="));
  CHECK(error_of("call post_send 0 any fails EIO").starts_with("line 1: '0', expected which call"));
  CHECK(
      error_of("call post_send 1 any fails EPIPE").starts_with("line 1: 'EPIPE', expected EAGAIN"));
  CHECK(error_of("link any up for 2s").starts_with("line 1: 'for', expected the end of the line"));
  CHECK(error_of("drop data any for 1s for 2s").starts_with("line 1: 'for', expected for, count"));
  CHECK(error_of("every 3 link any down").starts_with("line 1: 'link', expected drop"));
  CHECK(error_of("explode").starts_with("line 1: 'explode', expected at, after"));
  CHECK(error_of("at 5ms") == error_of("at 5ms "));
}
