// SPDX-License-Identifier: Apache-2.0
// Errors that no other path would mend, and calls of the transport that fail.
#include <support/soak.hpp>
#include <support/world.hpp>
#include <vccl/error.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace vccl::test {

namespace {

/// What the sender's memory going away leads to, with `script` in force.
struct Lost {
  explicit Lost(char const* script) : w{{.fabric = {.latency = 20_us, .oob_latency = 20_us}}} {
    REQUIRE(w.settle());
    w.hosts[0]->hooks.completion = [this](PortId, Completion& c) {
      if (c.status == Status::local_protection) ++local_protection;
    };
    // The receiver's QP gives up by itself: its CTS find nobody who answers.
    w.hosts[1]->hooks.completion = [this](PortId, Completion& c) {
      if (c.status != Status::flushed) return;
      c.status = Status::retry_exceeded;
      ++retry_exceeded;
    };
    Load load = Load::uniform(2000, 4096);
    load.depth = 16;
    w.load(load);
    REQUIRE(w.run_until(100));
    w.inject(script);
    // The memory is not registered any more: its key is none.
    w.hosts[0]->hooks.post = [](PortId, WorkRequest& r) {
      if (r.traffic == Traffic::data && r.length != 0) r.keys.local = 0xffff'ffff;
      return Errc::ok;
    };
    REQUIRE(w.until([&] { return w.sender().cause != Cause::none; }, 5_s));
    Time const seen = w.now();
    REQUIRE(w.until([&] { return w.sender().ended && w.receiver().ended; }, 5_s));
    took = w.now() - seen;
    CHECK(w.run(1_s));
  }
  World w;
  int local_protection = 0;
  int retry_exceeded = 0;
  Duration took{};
};

}  // namespace

TEST_CASE("A6: the sender's fatal error is the cause at both ends, though the receiver sees 12") {
  // Its own 12 comes while it makes the path quiet; or long before the sender's word can reach it.
  for (char const* script : {"", "drop control host0.port0\nhold oob host0 for 1s"}) {
    CAPTURE(script);
    bool const late = *script != '\0';
    Lost l{script};
    CHECK(l.local_protection == 1);
    CHECK(l.retry_exceeded > 0);
    for (End const end : {End::sender, End::receiver}) {
      CAPTURE((end == End::sender));
      ConnectionStatus const s = l.w.ends->status(end);
      CHECK(s.cause == Cause::local_error);
      // Before the word is there the receiver cannot know better; the cause is the same even then.
      if (!late) CHECK(s.counters.failovers == 0);
      CHECK(l.w.errors(end) == std::vector{Errc::aborted});
    }
    CHECK(l.w.problems() == "");
    if (!late) CHECK(l.took < 3_ms);  // A round trip, and a tick of each end.
  }
}

namespace {

/// What a failing call led to.
struct Refusal {
  std::string wrong;
  std::uint64_t fired = 0;
  bool failed = false;
};

/// Sets a connection up, sends, fails over and returns with a call that fails.
Refusal refuse(std::string const& script) {
  Refusal out;
  std::optional<World> made;
  try {
    made.emplace(Start{.link = links::quick, .fabric = {.latency = 5_us}, .connect = false});
    World& w = *made;
    w.inject(script);
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    w.load(Load::uniform(60, 500));
  } catch (SetupError const& e) {
    out.failed = true;
    if (*e.what() == '\0') out.wrong = "an error without a text";
    if (made) out.fired = made->fired(soft::Action::call_fails);
    return out;
  }
  World& w = *made;
  w.sends_at_most = 25;
  // With a path that works, no failing call of the other holds it up for longer than the NIC's
  // retry window.
  bool const everywhere = script.find(".port") == std::string::npos;
  if (!w.run_until(25, 4_s) && !everywhere && !w.receiver().ended) out.wrong += "held up\n";
  w.service_period = everywhere ? 10_ms : 1_ms;  // What fails everywhere takes its time.
  w.inject("link host0.port0 down for 60ms");
  w.sends_at_most = World::none;
  // Silence is what must not be: everything ends, at the latest at the outage deadline.
  if (!w.run(45_s)) out.wrong += "silence\n";
  w.until([&] { return w.receiver().counters.failbacks != 0 || w.receiver().ended; }, 5_s);
  out.fired = w.fired(soft::Action::call_fails);
  out.failed = w.received() != 60;
  if (out.failed) {
    for (End const end : {End::sender, End::receiver}) {
      ConnectionStatus const s = w.ends->status(end);
      if (!s.ended) out.wrong += "one end goes on without the other\n";
      if (s.cause == Cause::none) out.wrong += "no cause\n";
      if (w.errors(end).size() > 1) out.wrong += "more than one error\n";
    }
  }
  // A receiver that cannot read its queues lacks what the sender's NIC saw acknowledged: then both
  // say so (docs/failure_model.md, rule 7).
  bool const behind =
      w.sender().cause == Cause::position_behind && w.receiver().cause == Cause::position_behind;
  std::string const problems = w.problems();
  if (!behind || problems.find("hangs") != std::string::npos) out.wrong += problems;
  return out;
}

char const* const calls[] = {"post_send", "post_receive", "poll",  "flush",
                             "describe",  "connect",      "fence", "register_memory"};
char const* const errors[] = {"EINVAL", "EIO", "ENOMEM"};

bool in_full() { return soak_count(0, 1) != 0; }

/// Calls `f(call, host, error)`; `turn` chooses the errors when not all are tried.
template <class F>
void for_each_call(std::size_t turn, F f) {
  for (std::string const call : calls) {
    for (int host = 0; host < 2; ++host) {
      if (host == 0 && call == "post_receive") continue;  // A sender posts none.
      for (std::size_t e = 0; e < 3; ++e) {
        if (!in_full() && e != turn % 3) continue;
        f(call, "host" + std::to_string(host), errors[e]);
      }
      ++turn;
    }
  }
}

}  // namespace

TEST_CASE("B6: whichever call of the transport fails once, it ends in success or one error") {
  std::uint64_t refused = 0;
  std::size_t runs = 0;
  for (std::size_t n = 1; n <= 200; n = in_full() || n < 3 ? n + 1 : n * 4) {
    for_each_call(n, [&](std::string const& call, std::string const& host, char const* error) {
      std::string const script =
          "call " + call + ' ' + std::to_string(n) + ' ' + host + " fails " + error;
      CAPTURE(script);
      Refusal const r = refuse(script);
      CHECK(r.wrong == "");
      CHECK(r.fired <= 1);
      if (n == 1) CHECK(r.fired == 1);
      refused += r.fired;
      ++runs;
    });
  }
  CHECK(refused > runs / 4);  // Some calls are not made so often.
}

TEST_CASE("B6: a call that fails for good, on one port or all, ends in success or one error") {
  std::size_t turn = 0;
  for (char const* where : {".port0", ""}) {
    for (char const* from : {"1..", "20.."}) {
      for_each_call(turn, [&](std::string const& call, std::string const& host, char const* error) {
        std::string const script =
            "call " + call + ' ' + from + ' ' + host + where + " fails " + error;
        CAPTURE(script);
        Refusal const r = refuse(script);
        CHECK(r.wrong == "");
        if (*from == '1') CHECK(r.fired > 0);
      });
      ++turn;
    }
  }
}

}  // namespace vccl::test
