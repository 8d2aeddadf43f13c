// SPDX-License-Identifier: Apache-2.0
// The words by which two ends return to the primary are lost, doubled, late, or cut short.
#include <support/soak.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace vccl::test {

namespace {

enum class What { nothing, lost, twice, late, backup_lost_here, backup_lost_there };

/// What is done, and to which word: of a host, counted from when the primary's port is up again.
struct Plan {
  What what = What::nothing;
  std::size_t host = 0;
  std::size_t nth = 0;
};

/// How the ends come to agree.
struct Outcome {
  std::array<std::size_t, 2> words{};  ///< That each host said.
  std::size_t struck = 0;
  Duration apart{};  ///< The longest time that the ends were on different paths.
  bool back = false;
  bool agree = false;
  std::uint64_t failovers = 0;
  std::string problems;
};

bool both_back(World& w) {
  ConnectionStatus const s = w.sender();
  ConnectionStatus const r = w.receiver();
  return s.active_path == 0 && r.active_path == 0 && s.counters.failbacks != 0 &&
         r.counters.failbacks != 0;
}

/// Waits until both ends are back, and a little longer, and watches how far apart they are.
void watch_return(World& w, Outcome& out) {
  Time apart_since{};
  auto const watched = [&](auto until) {
    return [&, until] {
      if (w.sender().active_path == w.receiver().active_path) {
        apart_since = w.now();
      } else if (w.now() - apart_since > out.apart) {
        out.apart = w.now() - apart_since;
      }
      return until();
    };
  };
  apart_since = w.now();
  out.back = w.until(watched([&] { return both_back(w); }), 5_s);
  w.until(watched([] { return false; }), 200_ms);
  out.agree = w.sender().active_path == w.receiver().active_path &&
              w.sender().epoch == w.receiver().epoch && w.sender().active_path == 0;
  out.failovers = w.sender().counters.failovers;
  w.wind_up();
  CHECK(w.run());
  CHECK(w.received() == w.sent());
  out.problems = w.problems();
}

void start_and_lose_the_primary(World& w, bool both_ends) {
  REQUIRE(w.settle());
  Load load = Load::uniform(600, 1000);
  load.pause = 1_ms;
  w.load(load);
  REQUIRE(w.run_until(10));
  w.inject("link host0.port0 down for 80ms");
  if (both_ends) w.inject("link host1.port0 down for 80ms");
  w.until([] { return false; }, 80_ms);
  REQUIRE(w.receiver().active_path == 1);
}

/// With words on the pipe, one by one.
Outcome by_pipe(Plan const& plan, bool both_ends = false,
                MakeEnds link = links::quick_out_of_band) {
  Outcome out;
  World w{{.link = link, .fabric = {.latency = 5_us, .oob_latency = 20_us}}};
  start_and_lose_the_primary(w, both_ends);
  std::vector<std::byte> kept;
  for (std::size_t h = 0; h < 2; ++h) {
    w.hosts[h]->hooks.message = [&, h](std::vector<std::byte>& m) {
      std::size_t const n = out.words[h]++;
      if (h != plan.host) return;
      if (!kept.empty()) w.hosts[h]->hooks.extra.push_back(std::exchange(kept, {}));
      if (n != plan.nth || plan.what == What::nothing) return;
      ++out.struck;
      if (plan.what == What::twice) w.hosts[h]->hooks.extra.push_back(m);
      if (plan.what == What::late) kept = m;
      if (plan.what == What::late || plan.what == What::lost) m.clear();
      if (plan.what == What::backup_lost_here || plan.what == What::backup_lost_there) {
        bool const here = plan.what == What::backup_lost_here;
        w.inject("link host" + std::to_string(here ? h : 1 - h) + ".port1 down for 200ms");
      }
    };
  }
  watch_return(w, out);
  return out;
}

/// With words on the backup only. A packet that is lost there comes again when the NIC repeats it.
Outcome by_path(char const* what, std::size_t host, std::size_t nth, char const* how) {
  Outcome out;
  World w{{.link = links::quick_in_band, .fabric = {.latency = 5_us}}};
  start_and_lose_the_primary(w, false);
  std::string const when = nth == 0 ? "" : "after packet " + std::to_string(nth) + ' ';
  w.inject(when + what + " control host" + std::to_string(host) + ".port1 " + how + " count 1");
  watch_return(w, out);
  out.struck =
      w.fired(soft::Action::drop) + w.fired(soft::Action::delay) + w.fired(soft::Action::duplicate);
  return out;
}

/// A word that is missing is said again after 1 ms, 2 ms, ... 50 ms.
constexpr Duration repeat = 50_ms;

}  // namespace

TEST_CASE("C12: whichever word on the pipe is lost, doubled or late, both ends return together") {
  for (bool const both_ends : {false, true}) {
    Outcome const calm = by_pipe({}, both_ends);
    CHECK(calm.back);
    CHECK(calm.apart < 3_ms);
    CHECK(calm.failovers == 1);
    REQUIRE(calm.words[0] > 3);
    REQUIRE(calm.words[1] > 3);
    for (What const what : {What::lost, What::twice, What::late}) {
      for (std::size_t host = 0; host < 2; ++host) {
        std::size_t const every = what == What::lost && !both_ends ? 1 : soak_count(3, 1);
        for (std::size_t nth = 0; nth < calm.words[host]; nth += every) {
          CAPTURE(both_ends);
          CAPTURE(static_cast<int>(what));
          CAPTURE(host);
          CAPTURE(nth);
          Outcome const o = by_pipe({what, host, nth}, both_ends);
          CHECK(o.struck == 1);
          CHECK(o.back);
          CHECK(o.agree);
          CHECK(o.failovers == 1);
          CHECK(o.apart < repeat + 3_ms);
          CHECK(o.problems == "");
        }
      }
    }
  }
}

TEST_CASE("C12: what comes on the slow way long after it was overtaken changes nothing") {
  for (char const* host : {"host0", "host1", "any"}) {
    for (char const* by : {"1ms", "10ms", "70ms", "100ms", "150ms", "400ms"}) {
      CAPTURE(host);
      CAPTURE(by);
      Outcome o;
      World w{{.link = links::quick, .fabric = {.latency = 5_us}}};
      REQUIRE(w.settle());
      w.inject(std::string{"delay oob "} + host + " by " + by);
      start_and_lose_the_primary(w, false);
      watch_return(w, o);
      CHECK(w.fired(soft::Action::delay) > 3);
      CHECK(o.back);
      CHECK(o.agree);
      CHECK(o.failovers == 1);
      CHECK(o.apart < repeat + 3_ms);
      CHECK(w.sender().counters.failbacks == 1);
      CHECK(w.receiver().counters.rearms == 1);
      CHECK(w.sender().counters.path_faults == 1);
      CHECK(w.receiver().counters.path_faults == 1);
      CHECK(o.problems == "");
    }
  }
}

TEST_CASE("C12: whenever the backup fails during the return, both ends come to one path") {
  for (MakeEnds const link : {links::quick_out_of_band, links::quick}) {
    Outcome const calm = by_pipe({}, false, link);
    for (What const what : {What::backup_lost_here, What::backup_lost_there}) {
      for (std::size_t host = 0; host < 2; ++host) {
        for (std::size_t nth = host; nth < calm.words[host]; nth += soak_count(2, 1)) {
          CAPTURE(static_cast<int>(what));
          CAPTURE(host);
          CAPTURE(nth);
          Outcome const o = by_pipe({what, host, nth}, false, link);
          CHECK(o.struck == 1);
          CHECK(o.back);
          CHECK(o.agree);
          CHECK(o.apart < repeat + 3_ms);
          CHECK(o.problems == "");
        }
      }
    }
  }
}

TEST_CASE("C12: whichever word on the backup is lost, doubled or late, both ends return together") {
  struct Fault {
    char const* what;
    char const* how;
    Duration apart;
  };
  Duration const nic_timeout{4096LL << 16};
  for (Fault const f :
       {Fault{"drop", "", nic_timeout + repeat}, Fault{"duplicate", "by 1ms", repeat},
        Fault{"delay", "by 30ms", 30_ms + repeat}}) {
    for (std::size_t host = 0; host < 2; ++host) {
      std::size_t words = 0;
      for (; words < 100; words += soak_count(2, 1)) {
        CAPTURE(f.what);
        CAPTURE(host);
        CAPTURE(words);
        Outcome const o = by_path(f.what, host, words, f.how);
        CHECK(o.back);
        CHECK(o.agree);
        CHECK(o.apart < f.apart + 3_ms);
        CHECK(o.problems == "");
        if (o.struck == 0) break;
      }
      CHECK(words > 3);
      CHECK(words < 100);
    }
  }
}

}  // namespace vccl::test
