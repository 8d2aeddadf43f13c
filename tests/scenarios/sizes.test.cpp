// SPDX-License-Identifier: Apache-2.0
// Sizes: larger than a message, larger than memory, empty, several in one, longer than the receive.
#include <support/world.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace vccl::test {

namespace {
constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1 << 30;
}  // namespace

TEST_CASE("L1: messages are split at the smaller of both paths' limits, also 4 GiB and a byte") {
  for (bool const cut : {false, true}) {
    World w{{.fabric = {.bytes_per_second = 50'000'000'000}, .connect = false}};
    for (auto& host : w.hosts) host->hooks.max_message = {8 * mib, 2 * mib};
    std::uint64_t longest = 0;
    w.hosts[0]->hooks.post = [&](PortId, WorkRequest const& wr) {
      if (wr.traffic == Traffic::data && wr.length > longest) longest = wr.length;
      return Errc::ok;
    };
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    REQUIRE(w.settle());

    std::uint64_t const sizes[] = {2 * mib - 1, 2 * mib, 2 * mib + 1, 4 * mib + 3,
                                   8 * mib - 1, 8 * mib, 8 * mib + 1, 4 * gib + 1};
    for (std::uint64_t const bytes : sizes) {
      CAPTURE(bytes);
      soft::Computed const source = w.fabric().computed_memory(bytes, bytes);
      soft::Computed const target = w.fabric().computed_memory(bytes, bytes);
      Memory const from =
          w.ends->register_memory(End::sender, source.address, bytes, MemoryKind::host);
      Memory const into =
          w.ends->register_memory(End::receiver, target.address, bytes, MemoryKind::host);
      std::array<RecvOp, 1> const op{{{into, Tag{1}}}};
      if (cut && bytes > gib) w.inject("at 20ms link host1.port0 down");
      Request const r = w.ends->irecv(op);
      Request const s = w.ends->isend(from, Tag{1});
      Result const got = w.wait(End::receiver, r);
      Result const sent = w.wait(End::sender, s);
      CHECK(got.error == Errc::ok);
      CHECK(got.sizes[0] == bytes);
      CHECK(sent.error == Errc::ok);
      CHECK(sent.sizes[0] == bytes);
      soft::ComputedMemory const result = w.fabric().computed(target);
      CHECK(result.wrong_bytes() == 0);
      CHECK(result.written_bytes() >= bytes);
      bool all = true;
      for (std::uint64_t i = 0; i < result.granules(); ++i) {
        std::uint64_t const whole = bytes - i * mib < mib ? bytes - i * mib : mib;
        all = all && result.written_to(i) >= whole;
      }
      CHECK(all);
      w.ends->release_memory();
    }
    CHECK(longest == 2 * mib);
    CHECK(w.sender().active_path == (cut ? 1 : 0));
    CHECK(w.sender().counters.failovers == (cut ? 1 : 0));
    CHECK(w.fired(soft::Action::link_down) == (cut ? 1 : 0));
  }
}

TEST_CASE("L3: empty messages need no memory, alone or among others, also over a switch") {
  World w;
  REQUIRE(w.settle());
  std::vector<std::uint64_t> source(64, 7), target(64);
  std::uint64_t unregistered = 0;
  Memory const from = w.ends->register_memory(End::sender, source.data(), 512, MemoryKind::host);
  Memory const into = w.ends->register_memory(End::receiver, target.data(), 512, MemoryKind::host);
  std::array<std::uint64_t, 3> const addresses{0, 1,
                                               reinterpret_cast<std::uintptr_t>(&unregistered)};
  std::uint64_t steps = 0;
  for (bool const cut : {false, true}) {
    for (std::uint64_t const a : addresses) {
      for (std::uint64_t const b : addresses) {
        Memory const nothing{.address = a};
        Memory const nowhere{.address = b};
        // Alone.
        std::array<RecvOp, 1> const one{{{nowhere, Tag{3}}}};
        Request const r = w.ends->irecv(one);
        Request const s = w.ends->isend(nothing, Tag{3});
        REQUIRE(r);
        REQUIRE(s);
        // Among others; what is received has room that is not used.
        std::array<RecvOp, 3> const three{{{nowhere, Tag{4}}, {into, Tag{5}}, {into, Tag{6}}}};
        Request const g = w.ends->irecv(three);
        Request const x = w.ends->isend(from, Tag{5});
        Request const y = w.ends->isend(nothing, Tag{4});
        if (cut && steps == 18) {
          w.inject("link host0.port0 down");
          w.idle(1_ms);
        }
        Request const z = w.ends->isend(nothing, Tag{6});
        Result const alone = w.wait(End::receiver, r);
        CHECK(alone.error == Errc::ok);
        CHECK(alone.sizes[0] == 0);
        Result const group = w.wait(End::receiver, g);
        CHECK(group.error == Errc::ok);
        CHECK(group.receives == 3);
        CHECK(group.sizes[0] == 0);
        CHECK(group.sizes[1] == 512);
        CHECK(group.sizes[2] == 0);
        for (Request const q : {s, x, y, z}) {
          Result const done = w.wait(End::sender, q);
          CHECK(done.error == Errc::ok);
          CHECK(done.delivered == Delivered::yes);
        }
        steps += 2;
        CHECK(w.sender().counters.steps == steps);
        CHECK(w.receiver().counters.steps == steps);
      }
    }
  }
  CHECK(target == source);
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.receiver().counters.failovers == 1);
}

namespace {

/// A grouped receive {A, B, C}, sends in the order B, C, A, then single receives; a switch once B
/// has met its receive. `longer`: C is longer than its receive.
void grouped(bool cut, bool longer) {
  CAPTURE(cut);
  CAPTURE(longer);
  World w;
  REQUIRE(w.settle());
  std::array<std::vector<std::uint8_t>, 3> source, target;
  std::array<std::uint64_t, 3> const sizes{100, 200, longer ? 301u : 300u};
  std::array<RecvOp, 3> ops;
  std::array<Memory, 3> from;
  for (std::size_t i = 0; i < 3; ++i) {
    source[i].assign(400, static_cast<std::uint8_t>(i + 1));
    target[i].assign(300, 0xee);
    from[i] = w.ends->register_memory(End::sender, source[i].data(), 400, MemoryKind::host);
    from[i].length = sizes[i];
    Memory const m =
        w.ends->register_memory(End::receiver, target[i].data(), 300, MemoryKind::host);
    ops[i] = {m, Tag{static_cast<std::uint32_t>(10 + i)}};
  }
  Request const group = w.ends->irecv(ops);
  Request const b = w.ends->isend(from[1], Tag{11});
  w.idle(2_ms);
  CHECK(!w.ends->test(End::receiver, group).done);
  if (cut) {
    w.inject("link host0.port0 down");
    REQUIRE(w.until([&] { return w.receiver().active_path == 1; }));
    CHECK(w.fired(soft::Action::link_down) == 1);
  }
  Request const c = w.ends->isend(from[2], Tag{12});
  Request const a = w.ends->isend(from[0], Tag{10});
  Result const got = w.wait(End::receiver, group);
  CHECK(got.receives == 3);
  CHECK(got.error == (longer ? Errc::message_too_long : Errc::ok));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(got.sizes[i] == sizes[i]);
    std::size_t const written = longer && i == 2 ? 0 : static_cast<std::size_t>(sizes[i]);
    std::vector<std::uint8_t> expected(300, 0xee);
    for (std::size_t k = 0; k < written; ++k) expected[k] = static_cast<std::uint8_t>(i + 1);
    CHECK(target[i] == expected);
  }
  CHECK(w.wait(End::sender, a).error == Errc::ok);
  CHECK(w.wait(End::sender, b).error == Errc::ok);
  Result const last = w.wait(End::sender, c);
  CHECK(last.error == (longer ? Errc::message_too_long : Errc::ok));
  CHECK(last.delivered == (longer ? Delivered::no : Delivered::yes));

  // Single receives, each with the send of its tag.
  std::array<Request, 3> singles;
  for (std::size_t i = 0; i < 3; ++i) singles[i] = w.ends->irecv({&ops[i], 1});
  Request const order[] = {w.ends->isend(from[0], Tag{10}), w.ends->isend(from[1], Tag{11}),
                           w.ends->isend(from[0], Tag{12})};
  for (std::size_t i = 0; i < 3; ++i) {
    Result const one = w.wait(End::receiver, singles[i]);
    CHECK(one.error == Errc::ok);
    CHECK(one.sizes[0] == (i == 2 ? 100 : sizes[i]));
    CHECK(w.wait(End::sender, order[i]).error == Errc::ok);
  }
  CHECK(w.sender().counters.steps == 4);
  CHECK(w.sender().counters.failovers == (cut ? 1 : 0));
}

}  // namespace

TEST_CASE("L5: each receive of a group gets the send of its tag, in whatever order they come") {
  grouped(false, false);
  grouped(true, false);
}

TEST_CASE("L5: a send longer than its receive is an error at both ends, the others are fine") {
  grouped(false, true);
  grouped(true, true);
}

}  // namespace vccl::test
