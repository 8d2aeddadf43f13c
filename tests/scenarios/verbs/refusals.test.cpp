// SPDX-License-Identifier: Apache-2.0
// Every call of libibverbs fails in turn, while setting up and in traffic.
#include <support/soak.hpp>
#include <support/verbs_link.hpp>
#include <support/world.hpp>
#include <vccl/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

namespace vccl::test {

namespace {

using emulated::Machine;
using emulated::Refusal;
using emulated::Verb;

constexpr std::array<int, 3> errors{EINVAL, EIO, ENOMEM};

/// What a refused call led to.
struct Outcome {
  std::string wrong;
  std::uint64_t struck = 0;
  std::uint64_t set_up = 0;  ///< Calls until both ends were ready.
  std::uint64_t all = 0;
  bool failed = false;
};

/// Everything but the end: the path is lost, and taken again where it heals.
void live(World& w, bool everywhere, Outcome& out) {
  w.ends->accept();
  w.ends->connect(apart().sender, w.ends->handle());
  w.load(Load::uniform(60, 500));
  w.settle(1_s);
  out.set_up = machine().calls().calls();
  w.sends_at_most = 25;
  if (!w.run_until(25, 4_s) && !everywhere && !w.receiver().ended) out.wrong += "held up\n";
  if (everywhere) w.service_period = 10_ms;  // What fails everywhere takes its time.
  w.inject("link host0.port0 down for 60ms");
  w.sends_at_most = World::none;
  // Silence is what must not be: everything ends, at the latest at the outage deadline.
  if (!w.run(45_s)) out.wrong += "silence\n";
  w.until([&] { return w.receiver().counters.failbacks != 0 || w.receiver().ended; }, 2_s);
  out.failed = w.received() != 60;
  for (End const end : {End::sender, End::receiver}) {
    ConnectionStatus const s = w.ends->status(end);
    if (out.failed && !s.ended) out.wrong += "one end goes on without the other\n";
    if (out.failed && s.cause == Cause::none) out.wrong += "no cause\n";
    if (w.errors(end).size() > 1) out.wrong += "more than one error\n";
    if (!out.failed && !w.errors(end).empty()) out.wrong += "an error, though all is received\n";
  }
  // A receiver that cannot read its queues lacks what the sender's NIC saw acknowledged: then both
  // say so (docs/failure_model.md, rule 7).
  bool const behind =
      w.sender().cause == Cause::position_behind && w.receiver().cause == Cause::position_behind;
  std::string const problems = w.problems();
  if (!behind || problems.find("hangs") != std::string::npos) out.wrong += problems;
}

/// Sets a connection up, sends, fails over, returns and closes with a call that fails.
Outcome refuse(std::optional<Refusal> const& refusal, emulated::Habits const& habits = {}) {
  Outcome out;
  VerbsSetup setup;
  setup.habits = habits;
  setup.prepare = [&](Machine& m) {
    if (refusal) m.refuse(*refusal);
  };
  VerbsScope const scope{setup};
  bool const everywhere = refusal && refusal->count == 0 && refusal->device.empty();
  try {
    World w{apart(false)};
    live(w, everywhere, out);
    for (End const end : {End::sender, End::receiver}) w.ends->close(end);
    auto const closed = [&] {
      return w.ends->closed(End::sender) && w.ends->closed(End::receiver);
    };
    if (!w.until(closed, 3_s)) out.wrong += "does not close\n";
    out.all = machine().calls().calls();
  } catch (SetupError const& e) {
    out.failed = true;
    if (*e.what() == '\0') out.wrong += "an error without a text\n";
  }
  out.struck = Machine::last_struck();
  out.wrong += Machine::last_words();
  return out;
}

bool in_full() { return soak_count(0, 1) != 0; }

}  // namespace

TEST_CASE("B6: without a failing call nothing is wrong") {
  Outcome const o = refuse({});
  CHECK(o.wrong == "");
  CHECK(!o.failed);
  CHECK(o.set_up > 100);
  CHECK(o.all > 10 * o.set_up);
}

TEST_CASE("B6: whichever call fails once while setting up, it ends in success or one error") {
  std::uint64_t const calls = refuse({}).set_up;
  std::size_t failed = 0;
  for (std::uint64_t n = 1; n <= calls; ++n) {
    for (std::size_t e = 0; e < errors.size(); ++e) {
      if (!in_full() && e != n % errors.size()) continue;
      CAPTURE(n);
      CAPTURE(errors[e]);
      Outcome const o = refuse(Refusal{.from = n, .error = errors[e]},
                               {.clears_cq = n % 4 < 2, .minus_one = n % 2 == 0});
      CHECK(o.wrong == "");
      failed += o.failed ? 1 : 0;
    }
  }
  CHECK(failed > 10);
  CHECK(failed < calls);
}

TEST_CASE("B6: whichever call of a kind fails once, it ends in success or one error") {
  std::size_t kinds = 0;
  std::uint64_t all = 0;
  for (std::size_t v = 0; v < static_cast<std::size_t>(Verb::any); ++v) {
    Verb const verb{static_cast<std::uint8_t>(v)};
    CAPTURE(emulated::name_of(verb));
    std::uint64_t step = 1;
    std::uint64_t struck = 0;
    for (std::uint64_t n = 1;; n += step) {
      int const error = errors[n % errors.size()];
      CAPTURE(n);
      CAPTURE(error);
      Outcome const o = refuse(Refusal{.verb = verb, .from = n, .error = error});
      CHECK(o.wrong == "");
      CHECK(o.struck <= 1);
      if (o.struck == 0) break;  // It is made less often.
      ++struck;
      if (!in_full() && n > 8) step = step * 2;
    }
    kinds += struck != 0 ? 1 : 0;
    all += struck;
  }
  CHECK(kinds == 21);  // All but those of DMA-BUFs and of ECE, which devices here do not offer.
  CHECK(all > 150);
}

TEST_CASE(
    "B6: a kind of call that fails for good, on one device or all, ends in success or one error") {
  std::size_t turn = 0;
  for (std::string_view const device : {"emu0_0", "emu1_0", ""}) {
    for (std::uint64_t const from : {1u, 20u}) {
      for (std::size_t v = 0; v <= static_cast<std::size_t>(Verb::any); ++v) {
        Verb const verb{static_cast<std::uint8_t>(v)};
        for (std::size_t e = 0; e < errors.size(); ++e) {
          if (!in_full() && e != turn % errors.size()) continue;
          CAPTURE(emulated::name_of(verb));
          CAPTURE(device);
          CAPTURE(from);
          CAPTURE(errors[e]);
          Outcome const o = refuse(Refusal{
              .verb = verb, .from = from, .count = 0, .error = errors[e], .device = device});
          CHECK(o.wrong == "");
        }
        ++turn;
      }
    }
  }
}

}  // namespace vccl::test
