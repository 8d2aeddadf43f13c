// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/outage_meter.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::literals;
using detail::OutageMeter;
using detail::Repeater;

TEST_CASE("an outage lasts from the stop to the first step beyond the switch") {
  OutageMeter m;
  m.stopped(Time{100});
  m.stopped(Time{150});  // A second fault is the same outage.
  m.resumed(7, false);
  static_cast<void>(m.update(Time{200}, 7, true, true, 1));
  CHECK(m.last() == Duration{0});
  static_cast<void>(m.update(Time{300}, 8, true, true, 1));
  CHECK(m.last() == Duration{200});
}

TEST_CASE("the dark time counts from the last new step, not from the last switch") {
  OutageMeter m;
  CHECK(m.update(Time{0}, 3, true, true, 0) == Duration{0});
  CHECK(m.update(Time{10}, 3, false, true, 0) == Duration{0});
  CHECK(m.update(Time{60}, 3, false, true, 0) == Duration{50});
  CHECK(m.update(Time{70}, 3, true, true, 1) ==
        Duration{0});  // A path again, but no step on it ...
  CHECK(m.update(Time{90}, 3, false, true, 1) ==
        Duration{80});  // ... so it was no end of the outage.
  CHECK(m.update(Time{95}, 4, false, true, 1) == Duration{0});
}

TEST_CASE("paths that come up and are lost before they carry a step do not end the dark time") {
  OutageMeter m;
  static_cast<void>(m.update(Time{5}, 3, true, true, 0));
  m.stopped(Time{10});
  CHECK(m.update(Time{10}, 3, true, true, 1) == Duration{0});
  m.resumed(3, false);
  CHECK(m.update(Time{50}, 3, true, true, 1) == Duration{0});  // It may be slow.
  m.stopped(Time{80});
  CHECK(m.update(Time{80}, 3, true, true, 2) == Duration{70});
  CHECK(m.update(Time{85}, 3, true, true, 2) == Duration{0});
  CHECK(m.update(Time{90}, 4, true, true, 2) == Duration{0});  // A step.
  m.stopped(Time{95});
  CHECK(m.update(Time{95}, 4, true, true, 0) == Duration{0});
}

TEST_CASE("an idle end on a usable path is in no outage") {
  OutageMeter m;
  static_cast<void>(m.update(Time{10}, 3, false, true, 0));
  static_cast<void>(m.update(Time{20}, 3, true, false, 0));
  CHECK(m.update(Time{30}, 3, false, true, 0) == Duration{0});
}

TEST_CASE("an answered probe ends the dark time") {
  OutageMeter m;
  static_cast<void>(m.update(Time{10}, 3, false, true, 0));
  m.alive();
  CHECK(m.update(Time{500}, 3, false, true, 0) == Duration{0});
}

TEST_CASE("a planned switch is no outage") {
  OutageMeter m;
  m.stopped(Time{100});
  m.resumed(7, true);
  static_cast<void>(m.update(Time{300}, 8, true, true, 0));
  CHECK(m.last() == Duration{0});
}

TEST_CASE("time on a backup adds up") {
  OutageMeter m;
  static_cast<void>(m.update(Time{10}, 0, true, false, 0));
  static_cast<void>(m.update(Time{20}, 0, true, false, 1));
  static_cast<void>(m.update(Time{25}, 0, true, false, 1));
  static_cast<void>(m.update(Time{90}, 0, true, false, 0));
  CHECK(m.on_backup() == Duration{15});
}

TEST_CASE("repeats come after 1, 2, 4, ... up to the cap, and start over after a reset") {
  Repeater r;
  std::int64_t last = 0;
  std::int64_t waits[8] = {};
  int n = 0;
  static_cast<void>(r.due(Time{0}, 1_ms, 50_ms));
  for (std::int64_t us = 1; n < 8; ++us) {
    if (r.due(Time{us * 1000}, 1_ms, 50_ms)) {
      waits[n++] = (us - last) / 1000;
      last = us;
    }
  }
  CHECK(waits[0] == 1);
  CHECK(waits[1] == 2);
  CHECK(waits[2] == 4);
  CHECK(waits[5] == 32);
  CHECK(waits[6] == 50);
  CHECK(waits[7] == 50);
  r.reset();
  CHECK_FALSE(r.due(Time{1'000'000'000}, 1_ms, 50_ms));
  CHECK(r.due(Time{1'001'000'000}, 1_ms, 50_ms));
}
