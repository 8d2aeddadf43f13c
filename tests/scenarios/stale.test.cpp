// SPDX-License-Identifier: Apache-2.0
// What belongs to an earlier life of a path, or of the peer: completions, packets, handles.
#include <support/world.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

/// The port that an address of the software NIC is of.
std::size_t port_of(LaneAddress const& a) { return soft::gid_parts(a.gid).port; }

}  // namespace

TEST_CASE("E3: completions left when a path is made anew with its QP's number count once, or not") {
  World w{{.fabric = {.latency = 10_us, .reuse_qp_numbers = true}, .connect = false}};
  std::vector<std::uint32_t> numbers;  // Of the primary's QP at the sender, by life.
  w.hosts[0]->hooks.address = [&](LaneAddress& a) {
    if (port_of(a) == 0) numbers.push_back(a.qp_numbers[0]);
  };
  std::vector<Completion> taken;  // On the primary, before it is destroyed.
  std::size_t taken_at_reset = 0;
  w.hosts[0]->hooks.completion = [&](PortId p, Completion& c) {
    if (p == PortId{0} && c.status == Status::success && taken_at_reset == 0) taken.push_back(c);
  };
  w.hosts[0]->hooks.fence = [&](PortId p, FenceStep step) {
    if (p == PortId{0} && step == FenceStep::reset) taken_at_reset = taken.size();
  };
  w.inject("reset host0.port0 breaks\nreset host1.port0 breaks");  // Destroyed, and made anew.
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  w.load(Load::uniform(400, 500));
  w.sends_at_most = 15;
  REQUIRE(w.run_until(15));
  REQUIRE(w.until([&] { return w.sent() == 15; }));
  // Five are sent and acknowledged and nobody polls; then the primary refuses a post.
  w.sends_at_most = 20;
  for (int i = 0; i < 5; ++i) w.round();
  std::size_t const before = taken.size();
  w.fabric().advance(100_us);
  REQUIRE(w.sender().counters.steps == 15);
  w.hosts[0]->hooks.post = [](PortId p, WorkRequest const&) {
    return p == PortId{0} ? Errc::path_down : Errc::ok;
  };
  w.sends_at_most = 21;
  REQUIRE(w.until([&] { return taken_at_reset != 0; }));
  CHECK(w.sender().path_causes[0] == Cause::call_failed);
  CHECK(taken_at_reset == before + 5);
  REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
  CHECK(w.sender().counters.steps == 20);
  CHECK(w.sender().counters.resent_steps == 0);
  w.hosts[0]->hooks.post = nullptr;

  REQUIRE(w.until([&] { return w.sender().counters.failbacks == 1; }));
  REQUIRE(numbers.size() >= 2);
  CHECK(numbers.back() == numbers.front());
  CHECK(w.fired(soft::Action::reset_breaks) > 0);
  std::uint64_t const steps = w.sender().counters.steps;
  std::uint64_t const stale = w.sender().counters.stale;
  w.hosts[0]->hooks.late.assign(taken.end() - 5, taken.end());
  w.hosts[0]->hooks.late_port = PortId{0};
  w.sends_at_most = 21;
  w.idle(10_ms);
  CHECK(w.hosts[0]->hooks.late.empty());
  CHECK(w.sender().counters.stale == stale + 5);
  CHECK(w.sender().counters.steps == steps);
  w.sends_at_most = World::none;
  CHECK(w.run());
  CHECK(w.received() == 400);
  CHECK(w.data_bytes(0, 0) > 300 * 500);
  CHECK(w.problems() == "");
}

namespace {

/// Three packets of the primary are held for 2 s and come when it has been rebuilt with its QP's
/// number, at the very place of the new life that they had in the old one. What is found wrong.
std::string old_packets(std::int32_t first_psn) {
  World w{{.fabric = {.latency = 10_us, .reuse_qp_numbers = true, .first_psn = first_psn}}};
  std::size_t posted = 0;  // On the primary's QP in this life, a packet each.
  w.hosts[0]->hooks.address = [&](LaneAddress& a) {
    if (port_of(a) == 0) posted = 0;
  };
  w.hosts[0]->hooks.post = [&](PortId p, WorkRequest const&) {
    if (p == PortId{0}) ++posted;
    return Errc::ok;
  };
  REQUIRE(w.settle());
  Load load = Load::uniform(300, 500);
  load.depth = 8;
  w.load(load);
  w.sends_at_most = 60;
  REQUIRE(w.run_until(60));
  REQUIRE(w.until([&] { return w.sent() == 60; }));
  std::size_t const place = posted;
  w.inject("hold data host0.port0 for 2s count 3");
  Time const held = w.now();
  w.sends_at_most = 63;
  for (int i = 0; i < 8; ++i) w.round();
  CHECK(w.fired(soft::Action::hold) == 3);
  w.inject("link host0.port0 down for 100ms");
  REQUIRE(w.until([&] { return w.sender().counters.failbacks == 1; }));
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  w.until([] { return false; }, held + 1950_ms - w.now());  // Probes and answers count as well.
  while (posted < place) {
    ++w.sends_at_most;
    REQUIRE(w.run_until(w.sends_at_most));
  }
  CHECK(posted == place);
  CHECK(w.now() < held + 1990_ms);
  w.until([] { return false; }, held + 2_s - w.now() + 1_ms);
  w.sends_at_most = World::none;
  w.run();
  return w.problems() + (w.received() == 300 ? "" : "not all is received\n");
}

}  // namespace

TEST_CASE("E4: packets of an earlier life of a QP are refused by the numbers of the new one") {
  CHECK(old_packets(-1) == "");
}

TEST_CASE("E4: with numbers that follow from the QP's own they are taken, and that is noticed") {
  CHECK(old_packets(1'000) != "");
}

TEST_CASE("E4: packet numbers are new and random at every rebuild") {
  soft::Fabric fabric{{.virtual_time = true}};
  SoftNic nic{fabric.host(0), {.port = PortId{0}}};
  std::vector<std::uint32_t> all;
  std::array<std::size_t, 16> buckets{};
  std::size_t repeats = 0;
  for (std::size_t n = 0; n < 10'000; ++n) {
    LaneAddress mine;
    REQUIRE(nic.describe(mine) == Errc::ok);
    std::uint32_t const psn = mine.packet_numbers[0];
    auto const from = all.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(16, n));
    if (std::find(from, all.end(), psn) != all.end()) ++repeats;
    all.push_back(psn);
    ++buckets[psn >> 20];
    REQUIRE(nic.fence(FenceStep::reset) == Errc::ok);
  }
  CHECK(repeats <= 1);  // By chance: 10'000 x 16 / 2^24 are 0.01.
  // 625 each, with a standard deviation of 24: five of them either way.
  for (std::size_t const b : buckets) CHECK((b > 505 && b < 745));
}

namespace {

/// A teardown with 20 writes outstanding, as the transport sees it.
struct Teardown {
  std::vector<std::uint64_t> posted, good, failed;  ///< Ids of data on the primary.
  std::vector<FenceStep> fences;
  std::size_t failed_at_reset = 0;
  Time error_at{}, reset_at{};
  std::uint64_t muted = 0, refused = 0;
};

Teardown tear_down(std::string const& script) {
  World w{{.fabric = {.latency = 10_us}}};
  Teardown t;
  auto& hooks = w.hosts[0]->hooks;
  hooks.post = [&](PortId p, WorkRequest const& wr) {
    if (p == PortId{0} && wr.traffic == Traffic::data) t.posted.push_back(wr.id);
    return Errc::ok;
  };
  hooks.completion = [&](PortId p, Completion& c) {
    if (p != PortId{0} || std::find(t.posted.begin(), t.posted.end(), c.id) == t.posted.end())
      return;
    (c.status == Status::success ? t.good : t.failed).push_back(c.id);
  };
  hooks.fence = [&](PortId p, FenceStep step) {
    if (p != PortId{0}) return;
    if (t.fences.empty() || t.fences.back() != step) t.fences.push_back(step);
    if (step == FenceStep::error && t.error_at == Time{}) t.error_at = w.now();
    if (step == FenceStep::reset && t.reset_at == Time{}) {
      t.reset_at = w.now();
      t.failed_at_reset = t.failed.size();
    }
  };
  REQUIRE(w.settle());
  Load load = Load::uniform(100, 500);
  load.depth = 32;
  w.load(load);
  w.sends_at_most = 20;
  REQUIRE(w.run_until(20));
  REQUIRE(w.until([&] { return w.sent() == 20; }));
  w.inject("drop data host0.port0");
  w.sends_at_most = 40;
  w.until([&] { return t.posted.size() == 40; });
  REQUIRE(t.posted.size() == 40);
  w.inject(script + "\nlink host0.port0 down");
  w.until([&] { return w.sender().active_path == 1; });
  w.sends_at_most = World::none;
  // Time moves only between calls: one that waited for a fence or the peer would never return.
  CHECK(w.run(2_s));
  CHECK(w.received() == 100);
  CHECK(w.sent() == 100);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.sender().counters.resent_steps == 20);
  CHECK(w.problems() == "");
  CHECK(t.good.size() == 20);
  t.muted = w.fired(soft::Action::cq_mute);
  t.refused = w.fired(soft::Action::fence_fails);
  return t;
}

}  // namespace

TEST_CASE("E5: a teardown is ERR, then every flush, then RESET") {
  Teardown const t = tear_down("");
  CHECK(t.fences == std::vector{FenceStep::error, FenceStep::reset});
  CHECK(t.failed_at_reset == 20);
  CHECK(t.posted.size() == t.good.size() + t.failed.size());
  CHECK(t.reset_at - t.error_at < 10_ms);
}

TEST_CASE("E5: flushes that never come have a deadline, and what they were for completes anyhow") {
  Teardown const t = tear_down("cq host0.port0 mute");
  CHECK(t.muted >= 20);
  CHECK(t.fences == std::vector{FenceStep::error, FenceStep::reset});
  CHECK(t.failed.empty());
  CHECK(t.reset_at - t.error_at >= 100_ms);
  CHECK(t.reset_at - t.error_at < 110_ms);
}

TEST_CASE("E5: where RESET has to come first, what the CQ lost completes anyhow") {
  Teardown const t = tear_down("fence host0.port0 fails on error");
  CHECK(t.refused >= 1);
  CHECK(t.fences == std::vector{FenceStep::reset});
  CHECK(t.failed.empty());
}

namespace {

struct Buffers {
  std::vector<std::uint64_t> source, target;
  Memory from, into;

  explicit Buffers(World& w) : source(64, 1), target(64, 2) {
    from = w.ends->register_memory(End::sender, source.data(), 512, MemoryKind::host);
    into = w.ends->register_memory(End::receiver, target.data(), 512, MemoryKind::host);
  }
};

/// The receiving end is closed, or its process killed, and opened again while a sender goes on.
void reopen(bool killed) {
  CAPTURE(killed);
  World w{{.fabric = {.latency = 10_us, .oob_latency = 5_ms}}};
  REQUIRE(w.settle());
  Handle const old = w.ends->handle();
  auto b = std::make_unique<Buffers>(w);
  std::array<RecvOp, 1> const op{{{b->into, Tag{1}}}};
  for (int i = 0; i < 8; ++i) REQUIRE(w.ends->irecv(op));
  w.idle(1_ms);
  w.inject("drop data host0.port0 count 1");  // The first, so those behind it are in flight too.
  std::array<Request, 4> flying;
  for (Request& r : flying) REQUIRE((r = w.ends->isend(b->from, Tag{1})));
  CHECK(w.fired(soft::Action::drop) == 1);
  if (killed) {
    w.inject("kill host1\nrevive host1");
    w.ends->stop_listening();
    w.ends->listen(PortId{0});
  }
  w.ends->accept();
  Buffers next{w};                                        // Registered for the new life.
  Request const window = w.ends->isend(b->from, Tag{1});  // The sender has not heard yet.
  REQUIRE(w.until([&] { return w.sender().ended; }, 40_s));
  for (Request const& r : flying) {
    Result const got = w.wait(End::sender, r);
    CHECK(got.done);
    CHECK((got.error == Errc::peer_closed || got.error == Errc::aborted));
    CHECK(got.delivered != Delivered::yes);
  }
  if (window) CHECK(w.wait(End::sender, window).error != Errc::ok);
  std::size_t left = 0;
  w.hosts[0]->hooks.post = [&](PortId, WorkRequest const&) {
    ++left;
    return Errc::ok;
  };
  Request const late = w.ends->isend(b->from, Tag{1});
  CHECK(!late);
  CHECK((late.why == Errc::aborted || late.why == Errc::closed));
  w.idle(10_ms);
  CHECK(left == 0);
  CHECK(b->target == std::vector<std::uint64_t>(64, 2));
  CHECK(next.target == std::vector<std::uint64_t>(64, 2));
  if (killed) {  // What a handle named is gone too.
    w.ends->connect(PortId{0}, old);
    REQUIRE(w.until([&] { return w.sender().ended; }, 15_s));
    CHECK(w.sender().cause == Cause::setup_deadline);
    CHECK(!w.ends->isend({}, Tag{1}));
  }
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  std::array<RecvOp, 1> const again{{{next.into, Tag{1}}}};
  Memory const from = w.ends->register_memory(End::sender, b->source.data(), 512, MemoryKind::host);
  Request const r = w.ends->irecv(again);
  CHECK(w.wait(End::sender, w.ends->isend(from, Tag{1})).error == Errc::ok);
  CHECK(w.wait(End::receiver, r).error == Errc::ok);
  CHECK(next.target == b->source);
  w.ends->release_memory();
}

}  // namespace

TEST_CASE("E10: a sender whose peer has been opened anew posts nothing more, and says so") {
  reopen(false);
  reopen(true);
}

}  // namespace vccl::test
