// SPDX-License-Identifier: Apache-2.0
// close(), abort() and destruction in every state of a connection, from either end.
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <string>

namespace vccl::test {

namespace {

enum class State { setting_up, idle, traffic, deciding, stranded, arming, draining, ended };
enum class Way { close, abort, destroy };

bool has_event(World& w, Event::Kind kind) {
  for (Event const& e : w.ends->events(End::receiver)) {
    if (e.kind == kind) return true;
  }
  return false;
}

/// Brings a connection into a state. Everything takes its time, so that it stays there.
void bring(World& w, State state) {
  if (state == State::setting_up) {
    w.idle(15_ms);
    REQUIRE(!w.ends->ready(End::receiver));
    return;
  }
  REQUIRE(w.settle());
  if (state == State::idle) return;
  Load load = Load::uniform(4000, 20'000);
  load.pause = 1_ms;
  w.load(load);
  REQUIRE(w.run_until(10));
  switch (state) {
    case State::traffic:
      return;
    case State::deciding:
      w.inject("fence host1.port0 takes 300ms\nlink host1.port0 down");
      REQUIRE(w.until([&] { return has_event(w, Event::Kind::path_lost); }));
      w.idle(20_ms);
      REQUIRE(w.receiver().active_path == 0);
      return;
    case State::stranded:
      w.inject("link host1.port0 down\nlink host0.port1 down");
      w.until([] { return false; }, 400_ms);
      REQUIRE(w.receiver().usable_paths == 0);
      return;
    case State::arming:
    case State::draining:
      w.inject("link host1.port0 down for 100ms");
      REQUIRE(w.until([&] { return w.receiver().counters.arm_attempts == 1; }));
      if (state == State::arming) return;
      REQUIRE(w.until([&] { return has_event(w, Event::Kind::rearmed); }));
      // Good for a second, then the drain begins; what is on the wire takes 20 ms and more.
      w.inject("at 900ms link host0.port1 latency 60ms");
      w.until([] { return false; }, 1020_ms);
      REQUIRE(w.receiver().active_path == 1);
      REQUIRE(w.receiver().counters.failbacks == 0);
      return;
    default:
      w.ends->close(End::sender);
      w.idle(5_s);
      REQUIRE(w.ends->closed(End::receiver));
      return;
  }
}

}  // namespace

TEST_CASE("an end comes within two seconds, in every state, from either end, in every way") {
  for (int s = 0; s <= static_cast<int>(State::ended); ++s) {
    auto const state = static_cast<State>(s);
    for (End const end : {End::sender, End::receiver}) {
      for (Way const way : {Way::close, Way::abort, Way::destroy}) {
        CAPTURE(s);
        CAPTURE((end == End::sender));
        CAPTURE(static_cast<int>(way));
        End const other = end == End::sender ? End::receiver : End::sender;
        World w{{.fabric = {.latency = 100_us, .oob_latency = 10_ms}}};
        bring(w, state);
        bool const mid_load = state >= State::traffic && state != State::ended;
        w.stop_posting();
        if (way == Way::close) w.ends->close(end);
        if (way == Way::abort) w.ends->abort(end);
        if (way == Way::destroy) w.ends->destroy(end);
        if (way == Way::destroy) {
          w.idle(2500_ms);
        } else {
          w.until([&] { return w.ends->closed(end); }, 2_s);
          CHECK(w.ends->closed(end));
          w.idle(2500_ms);
          if (mid_load) CHECK(w.run(1_s));  // No request is left over.
          CHECK(w.problems() == "");
        }
        if (state == State::setting_up) w.idle(12_s);  // A listener knows of no such caller.
        if (state != State::setting_up || end == End::receiver) {
          ConnectionStatus const peer = w.ends->status(other);
          // A peer that no message reaches any more finds out by itself.
          if (state != State::stranded && state != State::setting_up) CHECK(peer.ended);
          if (way == Way::abort && mid_load && state != State::stranded)
            CHECK(peer.cause == Cause::user_abort);
        }
        w.ends->release_memory();
        w.ends->destroy(other);
        if (way != Way::destroy) w.ends->destroy(end);
        CHECK(w.queue_pairs() == 0);
        CHECK(w.registrations() == 0);
      }
    }
  }
}

TEST_CASE("ends may be destroyed in any order, also before they were ever ready") {
  for (bool const settled : {false, true}) {
    for (End const first : {End::sender, End::receiver}) {
      World w;
      if (settled) REQUIRE(w.settle());
      w.ends->destroy(first);
      w.idle(1_ms);
      w.ends->destroy(first == End::sender ? End::receiver : End::sender);
      w.idle(1_ms);
      CHECK(w.queue_pairs() == 0);
    }
  }
}

TEST_CASE("a closed end takes nothing more and says so; closing again does nothing") {
  for (End const end : {End::sender, End::receiver}) {
    World w;
    REQUIRE(w.settle());
    w.ends->close(end);
    w.ends->close(end);
    w.idle(3_s);
    w.ends->abort(end);
    CHECK(w.ends->status(end).cause == Cause::closed);
    Request const r = end == End::sender ? w.ends->isend({}, Tag{}) : w.ends->irecv({});
    CHECK(!r);
    if (end == End::sender) CHECK(r.why == Errc::closed);
    ConnectionStatus const peer = w.ends->status(end == End::sender ? End::receiver : End::sender);
    CHECK(peer.cause == Cause::peer_closed);
  }
}

TEST_CASE("without a backup an end closes at once, and its requests end") {
  World w{{.link = links::plain}};
  REQUIRE(w.settle());
  w.load(Load::uniform(100, 1000));
  REQUIRE(w.run_until(50));
  w.ends->close(End::sender);
  w.ends->close(End::receiver);
  CHECK(w.run(1_s));
  CHECK(w.sender().cause == Cause::closed);
  CHECK(w.problems() == "");
}

TEST_CASE("paths that come up again and again, and carry no data, end by the outage deadline") {
  for (char const* what : {"data host0", "cts host1"}) {
    CAPTURE(std::string{what});
    World w{{.fabric = {.latency = 10_us}}};
    REQUIRE(w.settle());
    w.load(Load::uniform(2000, 4096));
    REQUIRE(w.run_until(5));
    Time const begin = w.now();
    w.inject("drop " + std::string{what});
    CHECK(w.run(60_s));
    CHECK(w.now() - begin < 33_s);
    CHECK(w.now() - begin > 29_s);
    CHECK(w.fired(soft::Action::drop) > 10);
    CHECK(w.sender().counters.failovers > 10);
    CHECK(w.sender().ended);
    CHECK(w.sender().cause == w.receiver().cause);
    CHECK(w.problems() == "");
  }
}

}  // namespace vccl::test
