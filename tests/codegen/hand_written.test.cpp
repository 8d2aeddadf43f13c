// SPDX-License-Identifier: Apache-2.0
#include <codegen/ends.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using namespace vccl;

namespace {

constexpr std::size_t arena = std::size_t{16} << 20;

/// A place in the arena of an end.
struct Piece {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  Tag tag{};
};

/// What both implementations are asked to do: post a step, post a send, ask for one result.
struct Order {
  enum class Kind : std::uint8_t { receive, send, test_oldest_send, test_oldest_receive, test_all };
  Kind kind = Kind::test_all;
  std::vector<Piece> pieces{};
  MemoryKind memory = MemoryKind::host;
};

struct Plan {
  std::uint8_t qps = 1;
  std::uint16_t send_depth = 256;
  std::vector<Order> orders;
};

/// What came of it.
struct Outcome {
  bool ready = false;
  bool finished = true;
  std::vector<Result> sent, received;
  std::vector<std::byte> target;
  std::vector<wire::Posted> journal;
};

bool same(Result const& a, Result const& b) {
  return a.done == b.done && a.error == b.error && a.delivered == b.delivered &&
         a.receives == b.receives && a.sizes == b.sizes;
}
bool same(std::vector<Result> const& a, std::vector<Result> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Result const& x, Result const& y) { return same(x, y); });
}

/// Pieces lie one behind another, so that no step overwrites what another one wrote.
class Planner {
 public:
  Planner(unsigned seed, std::uint8_t qps, std::uint16_t send_depth) : random_{seed} {
    plan_.qps = qps;
    plan_.send_depth = send_depth;
  }

  /// `steps` at once, receives and sends mixed, then everything is waited for.
  void add_batch(std::size_t steps, std::size_t most_bytes) {
    std::vector<Order> batch;
    for (std::size_t s = 0; s < steps; ++s) {
      Order receive{.kind = Order::Kind::receive,
                    .memory = one_in(4) ? MemoryKind::device : MemoryKind::host};
      std::size_t const count = one_in(2) ? 1 : 1 + number(max_receives);
      for (std::size_t r = 0; r < count; ++r) {
        Tag const tag{static_cast<std::uint32_t>(number(3))};
        std::size_t const bytes = one_in(8) ? 0 : number(most_bytes + 1);
        receive.pieces.push_back(place(target_, bytes, tag));
        // Mostly exact, else shorter, empty or too long.
        std::size_t const sent = one_in(6)    ? number(bytes + 1)
                                 : one_in(30) ? bytes + 1 + number(100)
                                              : bytes;
        batch.push_back({.kind = Order::Kind::send, .pieces = {place(source_, sent, tag)}});
        if (one_in(3)) batch.push_back({.kind = Order::Kind::test_oldest_send});
      }
      batch.push_back(std::move(receive));
      if (one_in(2)) batch.push_back({.kind = Order::Kind::test_oldest_receive});
    }
    std::shuffle(batch.begin(), batch.end(), random_);
    for (Order& o : batch) plan_.orders.push_back(std::move(o));
    plan_.orders.push_back({.kind = Order::Kind::test_all});
    source_ = target_ = 0;
  }

  [[nodiscard]] Plan const& plan() const { return plan_; }

 private:
  [[nodiscard]] std::size_t number(std::size_t below) { return random_() % below; }
  [[nodiscard]] bool one_in(std::size_t n) { return number(n) == 0; }
  static Piece place(std::size_t& next, std::size_t bytes, Tag tag) {
    Piece const p{next, bytes, tag};
    next += bytes;
    REQUIRE(next <= arena);
    return p;
  }

  std::mt19937 random_;
  Plan plan_;
  std::size_t source_ = 0, target_ = 0;
};

[[nodiscard]] Memory part(Memory const& of, Piece const& p) {
  return {of.address + p.offset, p.bytes, of.keys, of.kind};
}

/// One question about the oldest request that is not done.
template <class E>
void test_oldest(E& end, std::vector<std::pair<Request, std::size_t>>& waiting,
                 std::vector<Result>& results) {
  if (waiting.empty()) return;
  Result const r = end.test(waiting.front().first);
  if (!r.done) return;
  results[waiting.front().second] = r;
  waiting.erase(waiting.begin());
}

template <class Ends>
Outcome carry_out(Plan const& plan, std::vector<std::byte>& source,
                  std::vector<std::byte>& target) {
  std::fill(target.begin(), target.end(), std::byte{0});
  auto const ends = std::make_unique<Ends>(plan.qps, plan.send_depth);
  Outcome out;
  out.ready = ends->ready;
  if (!ends->ready) return out;
  Memory const from = ends->source(source);
  Memory const into = ends->target(target);
  Memory const into_device = ends->target(target, MemoryKind::device);
  ends->network.journal = &out.journal;
  std::vector<std::pair<Request, std::size_t>> sends, receives;
  for (Order const& o : plan.orders) {
    switch (o.kind) {
      case Order::Kind::receive: {
        std::vector<RecvOp> ops;
        for (Piece const& p : o.pieces) {
          ops.push_back({part(o.memory == MemoryKind::device ? into_device : into, p), p.tag});
        }
        Request const r = ends->receiver.irecv(ops);
        REQUIRE(r);
        receives.emplace_back(r, out.received.size());
        out.received.emplace_back();
        break;
      }
      case Order::Kind::send: {
        Request const r = ends->sender.isend(part(from, o.pieces[0]), o.pieces[0].tag);
        REQUIRE(r);
        sends.emplace_back(r, out.sent.size());
        out.sent.emplace_back();
        break;
      }
      case Order::Kind::test_oldest_send:
        test_oldest(ends->sender, sends, out.sent);
        break;
      case Order::Kind::test_oldest_receive:
        test_oldest(ends->receiver, receives, out.received);
        break;
      case Order::Kind::test_all:
        for (int i = 0; i < 100'000 && !(sends.empty() && receives.empty()); ++i) {
          test_oldest(ends->sender, sends, out.sent);
          test_oldest(ends->receiver, receives, out.received);
        }
        break;
    }
  }
  ends->network.journal = nullptr;
  out.finished = sends.empty() && receives.empty();
  out.target = target;
  return out;
}

struct Arenas {
  std::vector<std::byte> source, target;
  Arenas() : source(arena), target(arena) {
    std::mt19937 random{7};
    for (std::byte& b : source) b = static_cast<std::byte>(random());
  }
};

}  // namespace

TEST_CASE("what is written by hand does the same as a Connection, byte for byte on the wire") {
  Arenas arenas;
  for (std::uint8_t qps = 1; qps <= max_qps; ++qps) {
    Planner planner{qps, qps, 256};
    for (int batch = 0; batch < 60; ++batch) planner.add_batch(4, 4096);
    for (int batch = 0; batch < 4; ++batch) planner.add_batch(3, 600'000);
    using Ours = codegen::Linked<codegen::NoFailover>;
    Outcome const ours = carry_out<Ours>(planner.plan(), arenas.source, arenas.target);
    Outcome const bare = carry_out<codegen::Bare>(planner.plan(), arenas.source, arenas.target);
    CAPTURE(qps);
    REQUIRE(ours.ready);
    REQUIRE(bare.ready);
    CHECK(ours.finished);
    CHECK(bare.finished);
    CHECK(same(ours.sent, bare.sent));
    CHECK(same(ours.received, bare.received));
    CHECK(ours.target == bare.target);
    CHECK(ours.journal.size() > 500);
    CHECK(ours.journal.size() == bare.journal.size());
    std::size_t const n = std::min(ours.journal.size(), bare.journal.size());
    auto const differs =
        std::mismatch(ours.journal.begin(), ours.journal.begin() + static_cast<std::ptrdiff_t>(n),
                      bare.journal.begin());
    CHECK(differs.first - ours.journal.begin() == static_cast<std::ptrdiff_t>(n));
    auto const has = [&](auto what) {
      return std::any_of(ours.journal.begin(), ours.journal.end(), what);
    };
    CHECK(std::all_of(ours.journal.begin(), ours.journal.end(),
                      [](wire::Posted const& p) { return p.keys_fit; }));
    // All that can differ is among it: sizes, several parts, sends that are too long.
    CHECK(has([](wire::Posted const& p) {
      return p.kind == WorkRequest::Kind::write_with_immediate && (p.immediate & 0x80) == 0;
    }));
    CHECK((qps == 1 || has([](wire::Posted const& p) { return (p.immediate & 0x0f) != 0; })));
    CHECK(std::any_of(ours.sent.begin(), ours.sent.end(),
                      [](Result const& r) { return r.error == Errc::message_too_long; }));
  }
}

TEST_CASE("the two give the same results when send queues run full") {
  Arenas arenas;
  for (std::uint8_t qps = 1; qps <= 2; ++qps) {
    Planner planner{40u + qps, qps, 32};
    for (int batch = 0; batch < 8; ++batch) planner.add_batch(24, 4096);
    using Ours = codegen::Linked<codegen::NoFailover>;
    Outcome const ours = carry_out<Ours>(planner.plan(), arenas.source, arenas.target);
    Outcome const bare = carry_out<codegen::Bare>(planner.plan(), arenas.source, arenas.target);
    CAPTURE(qps);
    CHECK(ours.finished);
    CHECK(bare.finished);
    CHECK(same(ours.sent, bare.sent));
    CHECK(same(ours.received, bare.received));
    CHECK(ours.target == bare.target);
  }
}
