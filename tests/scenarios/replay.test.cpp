// SPDX-License-Identifier: Apache-2.0
// What is sent again when a path dies, and what is not; and what is told when nothing helps.
#include <support/soak.hpp>
#include <support/world.hpp>
#include <vccl/detail/records.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace vccl::test {

namespace {

/// Ten steps are posted on the primary; the receiver executes six, four are acknowledged. It dies.
std::unique_ptr<World> ten_steps(MakeEnds link) {
  auto w = std::make_unique<World>(Start{.link = link, .fabric = {.latency = 10_us}});
  REQUIRE(w->settle());
  w->idle(5_ms);
  w->load(Load::uniform(10, 1000));
  w->inject("after packet 6 drop data host0.port0\nafter packet 4 drop ack host1.port0");
  w->until([] { return false; }, 10_ms);
  REQUIRE(w->fired(soft::Action::drop) >= 4 + 2);
  REQUIRE(w->sender().counters.steps == 4);
  REQUIRE(w->receiver().counters.steps == 6);
  w->inject("link host0.port0 down");
  return w;
}

}  // namespace

TEST_CASE("E8: of ten steps, six executed and four acknowledged, seven to ten are sent again") {
  auto w = ten_steps(links::resilient);
  CHECK(w->run());
  CHECK(w->fired(soft::Action::link_down) == 1);
  CHECK(w->received() == 10);
  CHECK(w->sent() == 10);
  CHECK(w->sender().counters.failovers == 1);
  CHECK(w->receiver().counters.failovers == 1);
  CHECK(w->sender().counters.resent_steps == 4);
  CHECK(w->data_bytes(0, 1) == 4 * 1000);
  CHECK(w->problems() == "");
}

TEST_CASE("E8: a sender that resends what it has not seen acknowledged is caught") {
  auto w = ten_steps(links::switched);
  switches.sender_done = true;
  // It wants to send the fifth step again, for which the receiver never asks again.
  CHECK(!w->run(5_s));
  CHECK(w->sender().counters.failovers == 1);
  CHECK(w->received() == 6);
  CHECK(w->problems() == "step 6: hangs: it is not received\nstep 4: hangs: it is not sent\n");
}

TEST_CASE("E8: a notify of the fifth step that comes again ends the connection, at both ends") {
  auto w = ten_steps(links::resilient);
  std::uint64_t changed = 0;
  w->hosts[1]->hooks.completion = [&](PortId p, Completion& c) {
    if (p != PortId{1} || c.kind != Completion::Kind::received_with_immediate || changed != 0)
      return;
    detail::Notify n = detail::unpack(c.immediate);
    CHECK(n.step == 6);
    n.step = 4;
    c.immediate = detail::pack(n);
    ++changed;
  };
  CHECK(w->run(5_s));
  CHECK(changed == 1);
  CHECK(w->sender().cause == Cause::protocol_error);
  CHECK(w->receiver().cause == Cause::protocol_error);
  // What a NIC acknowledged that tells lies was told as sent; nothing was handed over twice.
  CHECK(w->received() == 6);
  CHECK(w->problems().find("after it was done") == std::string::npos);
  CHECK(w->problems().find("wrong") == std::string::npos);
}

namespace {

enum class What { data, flush, cts };
constexpr std::size_t at_stake = 8;  ///< Steps.

/// The primary dies at an end, or at both, when `done` of eight operations of a kind have come
/// through; when all have, their acknowledgements are lost.
void dies_during(std::string const& side, What what, std::size_t done) {
  CAPTURE(side);
  CAPTURE(static_cast<int>(what));
  CAPTURE(done);
  World w{{.fabric = {.latency = 10_us}}};
  REQUIRE(w.settle());
  w.load(Load::uniform(20, 600));
  REQUIRE(w.run());
  w.idle(5_ms);

  bool const all = done == at_stake;
  std::string const after = done == 0 ? "" : "after packet " + std::to_string(done) + " ";
  std::size_t flushes = 0;
  std::size_t refused = 0;
  std::size_t again = 0;
  bool too_early = false;
  Load load = Load::uniform(60, 600);
  load.depth = at_stake;
  if (what == What::data) w.inject(all ? "drop ack host1.port0" : after + "drop data host0.port0");
  if (what == What::cts) w.inject(all ? "drop ack host0.port0" : after + "drop cts host1.port0");
  if (what == What::flush) {
    load.kind = MemoryKind::device;
    if (all) w.inject("drop ack host1.port0");
    w.hosts[1]->hooks.flush_read = [&](PortId p) {
      if (p == PortId{1}) {
        ++again;
        too_early = too_early || w.data_bytes(0, 1) == 0;
        return Errc::ok;
      }
      if (flushes == done) {
        ++refused;
        return Errc::would_block;
      }
      ++flushes;
      return Errc::ok;
    };
  }
  w.load(load);
  w.sends_at_most = what == What::cts ? 0 : at_stake;
  w.until([] { return false; }, 5_ms);
  if (what == What::flush) {
    CHECK(flushes == done);
    CHECK((all || refused > 0));
  }
  if (what != What::flush || all) CHECK(w.fired(soft::Action::drop) > 0);
  std::size_t const has = what == What::cts ? 0 : done;
  CHECK(w.receiver().counters.steps == 20 + has);

  w.inject(side);
  CHECK(w.fired(soft::Action::link_down) == (side.find('\n') == std::string::npos ? 1 : 2));
  REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
  if (what == What::flush) CHECK(w.receiver().counters.steps == 20 + has);
  w.sends_at_most = World::none;
  CHECK(w.run());
  CHECK(w.received() == 80);
  CHECK(w.sent() == 80);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.receiver().counters.failovers == 1);
  CHECK(w.sender().counters.resent_steps == (what == What::cts ? 0 : at_stake - done));
  if (what == What::flush) {
    CHECK(again == 60 - done);
    CHECK(!too_early);
  }
  CHECK(w.problems() == "");
}

}  // namespace

TEST_CASE(
    "E9: at either end, with data, flushes or CTS under way, all comes through exactly once") {
  for (char const* side : {"link host0.port0 down", "link host1.port0 down",
                           "link host0.port0 down\nlink host1.port0 down"}) {
    for (What const what : {What::data, What::flush, What::cts}) {
      for (std::size_t const done : {std::size_t{0}, std::size_t{3}, at_stake})
        dies_during(side, what, done);
    }
  }
}

TEST_CASE("E15: a transfer that fails on both paths is never told as done, whatever has landed") {
  bool device_now = false;
  for (std::string const script : {"link host0.port0 down\nlink host0.port1 down",
                                   "link host1.port0 down\nlink host0.port1 down",
                                   "link host0.port1 down\nat 10ms link host0.port0 down",
                                   "link host0.port0 down\nat 70ms link host1.port1 down"}) {
    CAPTURE(script);
    device_now = !device_now;
    for (MemoryKind const kind : {MemoryKind::host, MemoryKind::device}) {
      if (soak_count(0, 1) == 0 && (kind == MemoryKind::device) != device_now)
        continue;  // In turn.
      World w{{.fabric = {.latency = 10_us, .bytes_per_second = 200'000'000}}};
      REQUIRE(w.settle());
      Load load = Load::uniform(200, 1 << 16);
      load.depth = 4;
      load.kind = kind;
      w.load(load);
      REQUIRE(w.run_until(20));
      w.until([] { return false; }, 100_us);  // A part of the next one has landed.
      w.inject(script);
      CHECK(w.run(60_s));
      CHECK(w.fired(soft::Action::link_down) == 2);
      CHECK(w.received() >= 20);
      CHECK(w.received() < 200);
      CHECK(w.sender().ended);
      CHECK(w.receiver().ended);
      std::size_t failed = 0;
      for (std::size_t n = w.received(); n < 200 && w.receive_result(n).done; ++n, ++failed) {
        CHECK(w.receive_result(n).error == Errc::aborted);
        CHECK(w.receive_result(n).sizes[0] == 0);
        Result const& sent = w.send_result(n);
        if (sent.done) CHECK(sent.error == Errc::aborted);
        if (sent.done) CHECK(sent.delivered != Delivered::yes);
      }
      CHECK(failed >= 1);
      CHECK(w.problems() == "");
    }
  }
}

}  // namespace vccl::test
