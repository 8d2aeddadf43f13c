// SPDX-License-Identifier: Apache-2.0
// Counters, windows and rings: around their wraps, when full, and when one end lags behind.
#include <support/world.hpp>
#include <vccl/detail/records.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace vccl::test {

namespace {
constexpr Step two_to(int n) { return Step{1} << n; }
}  // namespace

TEST_CASE("H6: counters wrap while a path fails, and bytes and counters of both ends are right") {
  for (Step const wrap : {two_to(10), two_to(16), two_to(24), two_to(31), two_to(32)}) {
    for (Epoch const epoch : {1u, 0xffu, 0xffffu, 0xffff'ffffu}) {
      CAPTURE(wrap);
      CAPTURE(epoch);
      Route route{PortId{0}};
      route.first_step = wrap - 8;
      route.first_epoch = epoch;
      World w{{.fabric = {.latency = 10_us, .first_psn = (1 << 24) - 8},
               .sender = route,
               .receiver = route}};
      REQUIRE(w.settle());
      w.load(Load::uniform(64, 1000));
      w.sends_at_most = 4;
      REQUIRE(w.run_until(4));
      w.inject("drop data host0.port0 for 60ms");
      w.sends_at_most = 12;  // Four before the wrap, four behind it.
      w.until([] { return false; }, 1_ms);
      w.inject("link host0.port0 down for 100ms");
      REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
      w.sends_at_most = 40;
      REQUIRE(w.run_until(40));
      CHECK(w.fired(soft::Action::drop) > 0);
      CHECK(w.fired(soft::Action::link_down) == 1);
      CHECK(w.sender().counters.resent_steps == 8);
      REQUIRE(w.until([&] { return w.sender().counters.failbacks == 1; }));
      std::uint64_t const before = w.data_bytes(0, 0);
      w.sends_at_most = World::none;
      CHECK(w.run());
      CHECK(w.data_bytes(0, 0) - before == 24 * 1000);
      for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
        CHECK(s.counters.steps == 64);
        CHECK(s.counters.failovers == 1);
        CHECK(s.counters.failbacks == 1);
        CHECK(s.epoch == epoch + 2);
      }
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("H8: small steps run ahead of one that is held back, as far as the window and no more") {
  static_assert(detail::window < 1u << 15, "below half of the notify's 16 bits");
  for (std::size_t const ahead : {1023u, 1024u, 1025u}) {
    for (Step const first : {Step{0}, two_to(16) - 20, two_to(16) - 1000}) {
      CAPTURE(ahead);
      CAPTURE(first);
      Route route{PortId{0}};
      route.first_step = first;
      route.qps_per_lane = 4;
      World w{{.fabric = {.latency = 10_us}, .sender = route, .receiver = route}};
      std::size_t posted = 0;
      std::set<std::uint32_t> arrived;
      std::size_t arrivals = 0;
      w.hosts[0]->hooks.post = [&](PortId, WorkRequest const& wr) {
        if (wr.kind == WorkRequest::Kind::write_with_immediate) ++posted;
        return Errc::ok;
      };
      w.hosts[1]->hooks.completion = [&](PortId, Completion& c) {
        if (c.status != Status::success || c.kind != Completion::Kind::received_with_immediate)
          return;
        ++arrivals;
        arrived.insert(c.immediate);
      };
      REQUIRE(w.settle());
      Load load = Load::uniform(1 + ahead, 64);
      load.depth = 64;
      load.ahead = 256;
      w.load(load);
      // Every fourth packet is of the first step's QP; the others' steps run ahead.
      w.inject("every 4 hold data host0.port0 for 2s");
      w.until([] { return false; }, 50_ms);
      CHECK(w.fired(soft::Action::hold) == 16);
      CHECK(posted == detail::window);
      CHECK(arrivals == 48);
      CHECK(w.receiver().counters.steps == 0);
      CHECK(w.received() == 0);
      std::array<RecvOp, 1> const nothing{};
      Request const receive = w.ends->irecv(nothing);
      CHECK(!receive);
      CHECK(receive.why == Errc::would_block);
      Request const send = w.ends->isend({}, Tag{0});
      CHECK(!send);
      CHECK(send.why == Errc::would_block);
      w.inject("link host0.port0 down");
      CHECK(w.run());
      w.idle(2_s);  // What was held comes, and nobody takes it for its alias.
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.received() == 1 + ahead);
      CHECK(arrived.size() == arrivals);
      CHECK(w.problems() == "");
    }
  }
}

namespace {

template <class U>
void compares() {
  constexpr U half = static_cast<U>(U{1} << (std::numeric_limits<U>::digits - 1));
  constexpr U most = std::numeric_limits<U>::max();
  bool right = true;
  for (U const base :
       {U{0}, U{1}, static_cast<U>(half - 1), half, static_cast<U>(half + 1), most}) {
    for (U const step : {U{1}, U{2}, static_cast<U>(half / 2), static_cast<U>(half - 1)}) {
      auto const later = static_cast<U>(base + step);
      right = right && newer(later, base) && !newer(base, later) && !newer(base, base);
    }
  }
  CHECK(right);
}

}  // namespace

TEST_CASE("H9: positions compare as serial numbers, in every width that they have") {
  compares<std::uint8_t>();
  compares<std::uint16_t>();
  compares<std::uint32_t>();
  compares<std::uint64_t>();
}

TEST_CASE("H9: around every wrap, completions and positions that come twice move nothing back") {
  for (MemoryKind const kind : {MemoryKind::host, MemoryKind::device}) {
    for (Step const wrap : {two_to(16), two_to(31), two_to(32)}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(wrap);
      Route route{PortId{0}};
      route.first_step = wrap - 300;
      World w{{.fabric = {.latency = 10_us}, .sender = route, .receiver = route}};
      auto& hooks = w.hosts[0]->hooks;
      std::uint64_t transmitted = 0;
      std::vector<Completion> taken;
      bool again = false;  // What is taken now is a second time.
      hooks.post = [&](PortId, WorkRequest const& wr) {
        if (wr.kind == WorkRequest::Kind::write_with_immediate) ++transmitted;
        return Errc::ok;
      };
      hooks.completion = [&](PortId p, Completion& c) {
        if (p == PortId{0} && !again && c.status == Status::success) taken.push_back(c);
      };
      REQUIRE(w.settle());
      Load load = Load::uniform(600, 500);
      load.kind = kind;
      load.depth = 32;
      w.load(load);
      // Each position comes over both paths and the pipe, and comes again when it is old.
      w.inject("duplicate control any by 3ms\nduplicate oob any by 3ms");
      std::uint64_t done = 0;
      std::uint64_t received = 0;
      std::uint64_t twice = 0;
      std::size_t next = 100;
      bool right = true;
      auto const watch = [&] {
        std::uint64_t const d = w.sender().counters.steps;
        std::uint64_t const r = w.receiver().counters.steps;
        right = right && d >= done && r >= received && d <= transmitted && r <= transmitted &&
                d <= 600 && r <= 600;
        done = d;
        received = r;
        if (taken.size() >= next && hooks.late.empty()) {
          next += 20;
          for (std::size_t const age : {1u, 2u, 33u, 64u, 99u}) {
            hooks.late.push_back(taken[taken.size() - age]);
            ++twice;
          }
        }
        return w.finished();
      };
      CHECK(w.until(watch, 2_s));
      CHECK(right);
      CHECK(twice > 50);
      if (kind == MemoryKind::device) CHECK(w.fired(soft::Action::duplicate) > 0);
      CHECK(w.received() == 600);
      CHECK(done == 600);
      CHECK(w.sender().counters.path_faults == 0);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("H10: a ring takes what fits and no more, however long its reader is idle") {
  for (Step const first :
       {Step{0}, two_to(31) - 32, two_to(32) - 32, two_to(63) - 32, Step{0} - 32}) {
    CAPTURE(first);
    Route route{PortId{0}};
    route.first_step = first;
    World w{{.fabric = {.latency = 10_us}, .sender = route, .receiver = route}};
    std::set<std::uint64_t> slots;  // That a CTS was written to.
    std::size_t written = 0;
    w.hosts[1]->hooks.post = [&](PortId, WorkRequest const& wr) {
      if (wr.traffic != Traffic::cts) return Errc::ok;
      ++written;
      slots.insert(wr.remote);
      return Errc::ok;
    };
    REQUIRE(w.settle());
    // The sender is idle: it gets a ring full of CTS, none of them twice.
    Load load = Load::uniform(300, 200);
    load.depth = 64;
    load.ahead = 256;
    w.load(load);
    w.sends_at_most = 0;
    w.paused[static_cast<std::size_t>(End::sender)] = true;
    w.until([] { return false; }, 100_ms);
    CHECK(written == detail::window);
    CHECK(slots.size() == detail::window);
    std::array<RecvOp, 1> const nothing{};
    CHECK(w.ends->irecv(nothing).why == Errc::would_block);
    w.paused = {};
    w.sends_at_most = World::none;
    CHECK(w.run());
    // The receiver is idle: nothing is written for which there is no CTS.
    w.load(load);
    std::uint64_t const bytes = w.data_bytes(0, 0);
    w.paused[static_cast<std::size_t>(End::receiver)] = true;
    w.until([] { return false; }, 100_ms);
    CHECK(w.data_bytes(0, 0) == bytes);
    CHECK(w.ends->isend({}, Tag{0}).why == Errc::would_block);
    w.paused = {};
    CHECK(w.run());
    CHECK(written == 600);
    CHECK(slots.size() == detail::window);
    CHECK(w.received() == 600);
    CHECK(w.sender().counters.path_faults == 0);
    CHECK(w.problems() == "");
  }
}

namespace {

/// A CTS as it was written: where, and what it says of its step.
struct Written {
  std::uint64_t place = 0;  ///< In its path's ring.
  detail::CtsElement cts;
};

}  // namespace

TEST_CASE("H11: a CTS is overwritten when its step has come, and says the same on another path") {
  for (bool const cut : {false, true}) {
    CAPTURE(cut);
    World w{{.fabric = {.latency = 10_us}}};
    std::array<std::map<Step, Written>, 2> written;  // By path.
    std::set<std::uint16_t> arrived;
    std::array<std::uint64_t, 2> ring{~std::uint64_t{0}, ~std::uint64_t{0}};
    bool in_time = true;
    std::size_t posted = 0;
    w.hosts[0]->hooks.post = [&](PortId, WorkRequest const& wr) {
      if (wr.kind == WorkRequest::Kind::write_with_immediate) ++posted;
      return Errc::ok;
    };
    w.hosts[1]->hooks.completion = [&](PortId, Completion& c) {
      if (c.status == Status::success && c.kind == Completion::Kind::received_with_immediate)
        arrived.insert(detail::unpack(c.immediate).step);
    };
    w.hosts[1]->hooks.post = [&](PortId p, WorkRequest const& wr) {
      if (wr.traffic != Traffic::cts) return Errc::ok;
      auto const cts =
          detail::load_record<detail::CtsElement>(reinterpret_cast<void const*>(wr.local));
      auto const path = static_cast<std::size_t>(p);
      ring[path] = std::min(ring[path], wr.remote);
      written[path][cts.step] = {wr.remote - ring[path], cts};
      if (cts.step >= detail::window)
        in_time =
            in_time && arrived.contains(static_cast<std::uint16_t>(cts.step - detail::window));
      return Errc::ok;
    };
    REQUIRE(w.settle());
    Load load = Load::uniform(300, 200);
    load.depth = 64;
    load.ahead = 256;
    w.load(load);
    w.sends_at_most = 0;
    w.until([] { return false; }, 5_ms);
    w.sends_at_most = World::none;
    for (int i = 0; i < 1000 && posted < 64; ++i) w.round();
    REQUIRE(posted == 64);
    // All 64 land; the sender's owner and service sleep. The receiver asks for 64 more.
    w.paused[static_cast<std::size_t>(End::sender)] = true;
    w.until([] { return false; }, 5_ms);
    CHECK(w.receiver().counters.steps == 64);
    CHECK(w.sender().counters.steps == 0);
    CHECK(written[0].size() == 128);
    if (cut) {
      w.inject("link host0.port0 down");
      w.until([] { return false; }, 100_ms);
    }
    w.paused = {};
    CHECK(w.run());
    CHECK(in_time);
    CHECK(w.received() == 300);
    CHECK(w.sender().counters.failovers == (cut ? 1 : 0));
    CHECK(w.problems() == "");
    if (!cut) continue;
    CHECK(w.fired(soft::Action::link_down) == 1);
    REQUIRE(written[1].size() == 300 - 64);
    CHECK(written[1].begin()->first == 64);
    for (Step s = 64; s < 128; ++s) {
      Written const& before = written[0][s];
      Written const& again = written[1][s];
      CHECK(before.place == again.place);
      CHECK(before.cts.address == again.cts.address);
      CHECK(before.cts.length == again.cts.length);
      CHECK(before.cts.tag == again.cts.tag);
      CHECK(before.cts.count == again.cts.count);
      CHECK(before.cts.epoch == 1);
      CHECK(again.cts.epoch == 2);
    }
  }
}

}  // namespace vccl::test
