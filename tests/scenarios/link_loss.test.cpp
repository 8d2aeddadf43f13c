// SPDX-License-Identifier: Apache-2.0
// Link loss, and what the status of a failed completion means.
#include <support/world.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>

namespace vccl::test {
namespace {

/// Gives the next completion that `matches` a status, and what else a failed one may hold.
struct Spoiler {
  Status status = Status::success;
  std::uint64_t fired = 0;
  soft::Random random{1};
  Completion::Kind kind = Completion::Kind::sent;
  PortId port{0};
  bool armed = false;

  void operator()(PortId at, Completion& c) {
    if (!armed || at != port || c.status != Status::success) return;
    if ((c.kind == Completion::Kind::sent) != (kind == Completion::Kind::sent)) return;
    armed = false;
    ++fired;
    c.status = status;
    // Only id, status, qp_num and vendor_err of a failed completion mean anything.
    c.kind = static_cast<Completion::Kind>(random.below(3));
    c.immediate = static_cast<std::uint32_t>(random.next());
    c.bytes = static_cast<std::uint32_t>(random.next());
    c.vendor_error = static_cast<std::uint32_t>(random.next());
  }
};

/// What both ends make of a failure.
struct Decision {
  PathId paths[2];
  Epoch epochs[2];
  std::uint64_t failovers[2];
  Cause causes[2];
  std::size_t received;
  bool ended;
  friend bool operator==(Decision const&, Decision const&) = default;
};

Decision decision_of(World& w) {
  ConnectionStatus const s = w.sender();
  ConnectionStatus const r = w.receiver();
  return {{s.active_path, r.active_path},
          {s.epoch, r.epoch},
          {s.counters.failovers, r.counters.failovers},
          {s.path_causes[0], r.path_causes[0]},
          w.received(),
          s.ended || r.ended};
}

}  // namespace

TEST_CASE("A2: a failed completion is routed by id and QP, whatever else is in it") {
  // Writes with immediate and size records at the sender; CTS writes and flush reads at the
  // receiver; notifies. 2,500 fillings each.
  struct Where {
    End end;
    Completion::Kind kind;
    Decision expected;
  };
  Where const places[] = {
      {End::sender,
       Completion::Kind::sent,
       {{1, 1}, {2, 2}, {1, 1}, {Cause::retry_exceeded, Cause::retry_exceeded}, 12, false}},
      {End::receiver,
       Completion::Kind::sent,
       {{1, 1}, {2, 2}, {1, 1}, {Cause::peer_report, Cause::retry_exceeded}, 12, false}},
      {End::receiver,
       Completion::Kind::received_with_immediate,
       {{1, 1}, {2, 2}, {1, 1}, {Cause::peer_report, Cause::retry_exceeded}, 12, false}},
  };
  std::size_t others = 0;
  std::uint64_t fired = 0;
  std::uint64_t fillings = 0;
  std::string problems;
  for (std::uint64_t seed = 0; fillings < 10'000; ++seed) {
    for (Where const& where : places) {
      ++fillings;
      World w;
      Spoiler spoiler{.status = Status::retry_exceeded,
                      .random = soft::Random{seed},
                      .kind = where.kind,
                      .armed = true};
      Load load = Load::uniform(12, 64);
      load.depth = 4;
      load.kind = MemoryKind::device;  // So that reads are in flight as well.
      load.steps[3][0].send = 32;      // And a size record.
      REQUIRE(w.settle());
      w.hosts[where.end == End::sender ? 0 : 1]->hooks.completion = [&](PortId p, Completion& c) {
        spoiler(p, c);
      };
      w.load(load);
      w.run(1_s);
      fired += spoiler.fired;
      problems += w.problems();
      if (decision_of(w) != where.expected) ++others;
    }
  }
  CHECK(fired == fillings);
  CHECK(others == 0);
  CHECK(problems == "");
}

namespace {

/// Runs into `status` on the active path: the primary, or the backup with the primary mended.
Decision meet(Status status, bool backup, End end, World& w, std::uint64_t& fired) {
  Spoiler spoiler{.status = Status::retry_exceeded};
  auto const hook = [&](PortId p, Completion& c) { spoiler(p, c); };
  w.hosts[end == End::sender ? 0 : 1]->hooks.completion = hook;
  REQUIRE(w.settle());
  if (backup) {
    spoiler.armed = true;
    w.load(Load::uniform(80, 1000));  // Enough for a receiver, which asks for few completions.
    REQUIRE(w.run(1_s));
    w.idle(600_ms);  // The primary is up again, and not trusted yet.
    REQUIRE(w.sender().active_path == 1);
    REQUIRE(w.sender().usable_paths == 3);
    REQUIRE(spoiler.fired == 1);
    spoiler.port = PortId{1};
  }
  spoiler.status = status;
  spoiler.armed = true;
  w.load(Load::uniform(80, 1000));
  w.run(5_s);
  w.idle(100_ms);
  fired = spoiler.fired - (backup ? 1 : 0);
  w.hosts[0]->hooks.completion = w.hosts[1]->hooks.completion = nullptr;
  return decision_of(w);
}

Cause cause_of(Status s) {
  switch (static_cast<int>(s)) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 19:
      return Cause::local_error;
    case 9:
    case 10:
    case 11:
      return Cause::remote_error;
    case 13:
      return Cause::protocol_error;
    default:
      return Cause::unknown_status;
  }
}

}  // namespace

TEST_CASE("A4: every status, on either path, at either end, has its one consequence") {
  for (int number = 1; number <= 25; ++number) {
    Status const status = static_cast<Status>(number <= 23 ? number : number == 24 ? 24 : 0xee);
    for (bool const backup : {false, true}) {
      for (End const end : {End::sender, End::receiver}) {
        CAPTURE(static_cast<int>(status));
        CAPTURE(backup);
        CAPTURE(end == End::sender);
        World w;
        std::uint64_t fired = 0;
        Decision const d = meet(status, backup, end, w, fired);
        CHECK(fired == 1);
        CHECK(w.problems() == "");
        if (status == Status::retry_exceeded || status == Status::flushed) {
          CHECK(!d.ended);
          CHECK(d.received == (backup ? 160 : 80));
          CHECK(d.paths[0] == (backup ? 0 : 1));
          CHECK(d.paths[1] == d.paths[0]);
          CHECK(d.epochs[0] == (backup ? 3u : 2u));
          CHECK(d.failovers[0] == 1);
          CHECK(d.failovers[1] == 1);
        } else {
          CHECK(w.sender().ended);
          CHECK(w.receiver().ended);
          CHECK(w.sender().cause == cause_of(status));
          CHECK(w.receiver().cause == cause_of(status));
          CHECK(d.epochs[0] == (backup ? 2u : 1u));  // It did not bounce.
          CHECK(w.errors(End::sender) == std::vector{Errc::aborted});
          CHECK(w.errors(End::receiver) == std::vector{Errc::aborted});
        }
      }
    }
  }
}

TEST_CASE("A4: receiver-not-ready exhaustion fails over where the bundle says so") {
  for (bool const lenient : {false, true}) {
    World w{{.link = links::switched}};
    switches.rnr_is_path_fault = lenient;
    std::uint64_t fired = 0;
    Decision const d = meet(Status::rnr_retry_exceeded, false, End::sender, w, fired);
    CHECK(fired == 1);
    CHECK(d.ended == !lenient);
    CHECK(d.failovers[0] == (lenient ? 1 : 0));
    CHECK(w.problems() == "");
  }
}

TEST_CASE("A4: status 2 fails over when the port is gone, and ends the connection otherwise") {
  for (bool const gone : {false, true}) {
    World w;
    REQUIRE(w.settle());
    Spoiler spoiler{.status = Status::local_qp_operation};
    w.hosts[0]->hooks.completion = [&](PortId p, Completion& c) {
      if (gone && spoiler.armed) w.inject("link host0.port0 down for 20ms");
      spoiler(p, c);
    };
    w.load(Load::uniform(50, 1000));
    REQUIRE(w.run_until(10));
    spoiler.armed = true;
    w.run(5_s);
    CHECK(spoiler.fired == 1);
    CHECK(w.sender().ended == !gone);
    CHECK(w.sender().counters.failovers == (gone ? 1 : 0));
    CHECK(w.problems() == "");
  }
}

namespace {

/// Both ends have ended with one cause; nothing is pending; closing returns; nothing is left.
void check_end(World& w, Time deadline) {
  CHECK(w.now() <= deadline);
  CHECK(w.finished());
  w.idle(3_s);
  CHECK(w.sender().ended);
  CHECK(w.receiver().ended);
  CHECK(w.sender().cause == w.receiver().cause);
  CHECK(w.sender().cause != Cause::none);
  CHECK(w.errors(End::sender).size() <= 1);
  CHECK(w.errors(End::receiver).size() <= 1);
  w.ends->close(End::sender);
  w.ends->close(End::receiver);
  CHECK(w.ends->closed(End::sender));
  CHECK(w.ends->closed(End::receiver));
  CHECK(w.problems() == "");
  w.ends->release_memory();
  w.ends->destroy(End::sender);
  w.ends->destroy(End::receiver);
  CHECK(w.queue_pairs() == 0);
  CHECK(w.registrations() == 0);
}

}  // namespace

TEST_CASE("A5: with one device, its loss ends both ends with one cause by the deadline") {
  World w{{.fabric = {.ports_per_card = 1}}};
  REQUIRE(w.settle());
  CHECK(!w.sender().has_backup);
  Load load = Load::uniform(2000, 1000);
  load.depth = 4;
  w.load(load);
  w.inject("after step 500 link host0.port0 down");
  Time const begin = w.now();
  w.run(60_s);
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.path_faults >= 1);
  CHECK(w.sender().cause == Cause::port_down);
  check_end(w, begin + 33_s);
}

TEST_CASE("A5: with both ports lost within a millisecond, both ends end with one cause") {
  for (char const* backup : {"at 1ms link host0.port1 down", "at 1ms link host1.port1 down"}) {
    World w{{.fabric = {.latency = 1_us}}};
    REQUIRE(w.settle());
    Load load = Load::uniform(20'000, 1000);
    load.depth = 4;
    w.load(load);
    Time const begin = w.now();
    w.inject(std::string{"at 0.5ms link host0.port0 down\n"} + backup);
    w.run(60_s);
    CHECK(w.fired(soft::Action::link_down) == 2);
    CHECK(w.sender().counters.path_faults + w.receiver().counters.path_faults >= 2);
    check_end(w, begin + 33_s);
  }
}

TEST_CASE("A5: with the backup lost first, and then the primary, while the switch is under way") {
  for (char const* script : {"at 1ms link host1.port1 down\nat 2ms link host0.port0 down",
                             "at 1ms link host0.port0 down\nat 51ms link host1.port1 down",
                             "at 1ms link host0.port0 down\nat 52ms link host0.port1 down",
                             "fence host0.port0 takes 30ms\nat 1ms link host0.port0 down\nat 60ms "
                             "link host1.port1 down"}) {
    CAPTURE(script);
    World w{{.fabric = {.latency = 1_us}}};
    REQUIRE(w.settle());
    Load load = Load::uniform(2000, 1000);
    load.depth = 4;
    load.pause = 100_us;
    w.load(load);
    Time const begin = w.now();
    w.inject(script);
    w.run(60_s);
    CHECK(w.fired(soft::Action::link_down) == 2);
    CHECK(w.received() < 2000);
    check_end(w, begin + 33_s);
  }
}

}  // namespace vccl::test
