// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/end.hpp>

#include <support/nic.hpp>
#include <support/world.hpp>
#include <vccl/connection.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <span>
#include <thread>
#include <vector>

using namespace vccl;
using namespace vccl::test;

namespace {
using Clock = std::chrono::steady_clock;

End other(End e) { return e == End::sender ? End::receiver : End::sender; }
/// What close() and abort() may take at most: 2 s and a quarter.
constexpr std::chrono::milliseconds most{2'700};

template <class F>
std::chrono::milliseconds takes(F f) {
  auto const start = Clock::now();
  f();
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

std::vector<Event::Kind> kinds(World& w, End end) {
  std::vector<Event::Kind> all;
  for (Event const& e : w.ends->events(end)) all.push_back(e.kind);
  return all;
}
}  // namespace

// ---- Status

TEST_CASE("status tells how far set-up is, and the end with its cause") {
  World w{{.connect = false}};
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  for (End e : {End::sender, End::receiver}) {
    ConnectionStatus const s = w.ends->status(e);
    CHECK_FALSE(s.ready);
    CHECK_FALSE(s.ended);
    CHECK(s.cause == Cause::none);
  }
  REQUIRE(w.settle());
  for (End e : {End::sender, End::receiver}) {
    ConnectionStatus const s = w.ends->status(e);
    CHECK(s.ready);
    CHECK_FALSE(s.ended);
    CHECK(s.epoch == 1);
    CHECK(s.active_path == 0);
    CHECK(s.usable_paths == 0b11);
    CHECK(s.has_backup);
    CHECK(s.counters.steps == 0);
    CHECK_FALSE(w.ends->closed(e));
  }
  w.ends->close(End::receiver);
  w.idle(100_ms);
  CHECK(w.receiver().ended);
  CHECK(w.receiver().cause == Cause::closed);
  CHECK(w.ends->closed(End::receiver));
  CHECK(w.sender().cause == Cause::peer_closed);
  CHECK(w.ends->closed(End::sender));
}

TEST_CASE("status counts steps from the first of the route") {
  Route route{PortId{0}};
  route.first_step = 1'000;
  World w{{.sender = route, .receiver = route}};
  REQUIRE(w.settle());
  w.load(Load::uniform(30, 100));
  CHECK(w.run());
  CHECK(w.sender().counters.steps == 30);
  CHECK(w.receiver().counters.steps == 30);
}

TEST_CASE("status may be asked from another thread while nobody else does anything") {
  World w{{.virtual_time = false}};
  REQUIRE(w.settle());
  w.ends->close(End::sender);
  ConnectionStatus s;
  std::thread asks{[&] {
    auto const start = Clock::now();
    do {
      s = w.ends->status(End::receiver);
    } while (!s.ended && Clock::now() - start < most);
  }};
  asks.join();
  CHECK(s.ended);  // The service thread served the end that nobody polls.
  CHECK(s.cause == Cause::peer_closed);
}

TEST_CASE("events tell a failover and a return, once each, in the order of time") {
  World w;
  REQUIRE(w.settle());
  w.load(Load::uniform(200, 1000));
  w.inject("after step 50 link host1.port0 down for 400ms");
  CHECK(w.run());
  w.idle(4_s);
  w.ends->close(End::sender);
  w.idle(100_ms);
  using Kind = Event::Kind;
  std::vector<Kind> const expected{Kind::ready,   Kind::path_lost, Kind::fenced, Kind::switched,
                                   Kind::rearmed, Kind::returned,  Kind::closed};
  for (End e : {End::sender, End::receiver}) {
    CHECK(kinds(w, e) == expected);
    Time last{};
    for (Event const& event : w.ends->events(e)) {
      CHECK(event.end == e);
      CHECK(event.at >= last);
      last = event.at;
    }
  }
}

// ---- Memory

TEST_CASE("an empty buffer is refused with words, and needs no registration") {
  World w;
  REQUIRE(w.settle());
  int x = 0;
  for (End e : {End::sender, End::receiver}) {
    CHECK_THROWS_AS(static_cast<void>(w.ends->register_memory(e, &x, 0, MemoryKind::host)),
                    SetupError);
    CHECK_THROWS_AS(static_cast<void>(w.ends->register_memory(e, nullptr, 8, MemoryKind::host)),
                    SetupError);
  }
}

TEST_CASE("memory is registered on every path, for every lane") {
  Route route{Ports{PortId{0}, PortId{1}}};
  route.backups[0] = Ports{PortId{2}, PortId{3}};
  World w{{.fabric = {.ports_per_host = 4}, .sender = route, .receiver = route}};
  REQUIRE(w.settle());
  std::size_t const before = w.registrations();
  std::vector<int> buffer(10);
  Memory const m = w.ends->register_memory(End::sender, buffer.data(), 40, MemoryKind::host);
  CHECK(w.registrations() == before + 4);
  CHECK(m.length == 40);
  w.ends->release_memory();
  CHECK(w.registrations() == before);
}

// ---- Thin calls

TEST_CASE("without a backup the primary's lane can be used as it is") {
  using Link = Connection<Nic>;
  World w{{.link = links::plain, .connect = false}};
  Link::Context a{*w.hosts[0]}, b{*w.hosts[1]};
  auto listener = b.listen(PortId{0});
  auto receiver = listener.accept();
  auto sender = a.connect(PortId{0}, listener.handle());
  bool ready = false;
  for (int i = 0; i < 100 && !ready; ++i) {
    w.idle(1_ms);
    bool const one = sender.ready();
    ready = receiver.ready() && one;
  }
  REQUIRE(ready);
  std::vector<int> from{1, 2, 3}, into(3);
  auto const mine = sender.register_memory(from);
  auto const theirs = receiver.register_memory(into);
  Memory const x = mine.whole(), y = theirs.whole();
  WorkRequest wr;
  wr.id = 77;
  wr.local = x.address;
  wr.remote = y.address;
  wr.length = x.length;
  wr.keys = {(*x.keys)[0][0].local, (*y.keys)[0][0].remote};
  CHECK(sender.post(wr) == Errc::ok);
  CHECK(sender.flush() == Errc::ok);
  Completion c;
  std::size_t n = 0;
  for (int i = 0; i < 100 && n == 0; ++i) {
    w.idle(1_ms);
    n = sender.poll({&c, 1});
  }
  REQUIRE(n == 1);
  CHECK(c.id == 77);
  CHECK(c.status == Status::success);
  CHECK(into == from);
}

template <class S>
concept HasThinCalls = requires(S& s, WorkRequest const& w, std::span<Completion> c) {
  s.post(w);
  s.flush();
  s.poll(c);
};
using Backed = Connection<Nic, Nic, sync::ReceiverDecides<>, Resilient>;
static_assert(HasThinCalls<Connection<Nic>::Sender> && HasThinCalls<Connection<Nic>::Receiver>);
static_assert(!HasThinCalls<Backed::Sender> && !HasThinCalls<Backed::Receiver>);

// ---- The end, on a real clock

namespace {
enum class Phase { nobody_answers, ready, traffic, no_path };

/// Brings a connection to a phase.
void bring(World& w, Phase phase) {
  w.ends->connect(PortId{0}, w.ends->handle());
  if (phase == Phase::nobody_answers) {
    static_cast<void>(w.ends->ready(End::sender));
    return;
  }
  w.ends->accept();
  REQUIRE(w.settle());
  if (phase == Phase::ready) return;
  Load load = Load::uniform(20'000, 4000);
  load.pause = 200_us;
  w.load(load);
  REQUIRE(w.run_until(50, 10_s));
  if (phase == Phase::no_path)
    w.inject("link host0.port0 down\nlink host0.port1 down\ndrop oob any for 20s");
}
}  // namespace

TEST_CASE("close and abort return in time in every phase, and then the end has ended") {
  for (Phase phase : {Phase::nobody_answers, Phase::ready, Phase::traffic, Phase::no_path}) {
    for (End end : {End::sender, End::receiver}) {
      for (bool aborts : {false, true}) {
        if (phase == Phase::nobody_answers && end == End::receiver) continue;
        if (phase == Phase::no_path && aborts) continue;  // It takes its two seconds.
        CAPTURE(static_cast<int>(phase));
        CAPTURE((end == End::sender));
        CAPTURE(aborts);
        World w{{.virtual_time = false, .connect = false}};
        bring(w, phase);
        auto const took = takes([&] {
          if (aborts) {
            w.ends->abort(end);
          } else {
            w.ends->close(end);
          }
        });
        CHECK(took < most);
        CHECK(w.ends->closed(end));
        CHECK(w.ends->status(end).cause == (aborts ? Cause::user_abort : Cause::closed));
        CHECK(takes([&] { w.ends->close(end); }).count() < 100);  // Again: nothing to do.
        if (phase == Phase::traffic || phase == Phase::no_path) {
          w.stop_posting();
          if (end == End::sender && phase == Phase::traffic) CHECK(w.run(5_s));
          CHECK(w.problems() == "");
        }
      }
    }
  }
}

TEST_CASE("ends may be destroyed in any order with data under way; nothing is left of them") {
  for (End first : {End::sender, End::receiver}) {
    for (bool real : {false, true}) {
      CAPTURE((first == End::sender));
      CAPTURE(real);
      World w{{.virtual_time = !real}};
      REQUIRE(w.settle());
      w.load(Load::uniform(10'000, 2000));
      REQUIRE(w.run_until(100, 10_s));
      CHECK(takes([&] { w.ends->destroy(first); }) < most);
      CHECK(takes([&] { w.ends->destroy(other(first)); }) < most);
      w.ends->release_memory();
      CHECK(w.queue_pairs() == 0);
      CHECK(w.registrations() == 0);
    }
  }
}

TEST_CASE("an end that is destroyed while it is set up leaves nothing") {
  World w{{.connect = false}};
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  w.ends->destroy(End::sender);
  w.ends->destroy(End::receiver);
  CHECK(w.queue_pairs() == 0);
  CHECK(w.registrations() == 0);
}

TEST_CASE("the peer of an end that is destroyed is told at once") {
  for (End gone : {End::sender, End::receiver}) {
    CAPTURE((gone == End::sender));
    World w{{.fabric = {.latency = 10_us, .oob_latency = 1_ms}}};
    REQUIRE(w.settle());
    w.ends->destroy(gone);
    w.idle(10_ms);
    CHECK(w.ends->status(other(gone)).cause == Cause::peer_closed);
    // It waits for an answer that nobody gives any more, but not for ever.
    w.idle(2'500_ms);
    CHECK(w.ends->closed(other(gone)));
  }
}

TEST_CASE("without a backup a destroyed end is silent, and its requests were over before") {
  World w{{.link = links::plain}};
  REQUIRE(w.settle());
  w.ends->destroy(End::sender);
  CHECK_FALSE(w.receiver().ended);
  w.ends->destroy(End::receiver);
  CHECK(w.queue_pairs() == 0);
}
