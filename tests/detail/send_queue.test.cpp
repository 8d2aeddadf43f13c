// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/send_queue.hpp>

#include <vccl/policies/release/ack_or_confirm.hpp>
#include <vccl/policies/release/on_ack.hpp>
#include <vccl/policies/release/on_confirm.hpp>

#include <detail/scripted_lane.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <tuple>
#include <vector>

using namespace vccl;
using namespace vccl::detail;
using test::Posted;
using test::ScriptedHost;
using test::ScriptedLane;

namespace {
constexpr Tag a{1}, b{2}, c{3};

/// What a receive of a step asks for.
struct Want {
  std::uint64_t length = 0;
  Tag tag = a;
};

/// What stays the same when a step is posted in one go or in several.
using Write = std::tuple<std::size_t, int, WorkRequest::Kind, std::uint64_t, std::uint64_t,
                         std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, int>;
Write write_of(Posted const& p) {
  return {p.lane,           static_cast<int>(p.wr.qp),
          p.wr.kind,        p.wr.local,
          p.wr.remote,      p.wr.length,
          p.wr.immediate,   p.wr.keys.local,
          p.wr.keys.remote, static_cast<int>(unpack_work(p.wr.id).work)};
}
bool notifies(Posted const& p) { return p.wr.kind == WorkRequest::Kind::write_with_immediate; }

/// A path with a block of its own.
struct Way {
  ScriptedHost& host;
  std::unique_ptr<PathBlock> block = std::make_unique<PathBlock>();
  std::unique_ptr<PathBlock> peer = std::make_unique<PathBlock>();
  Path<ScriptedLane> path;

  Way(ScriptedHost& h, std::size_t lanes, std::uint8_t qps, std::uint16_t depth) : host{h} {
    std::vector<PortId> ports;
    for (std::size_t l = 0; l < lanes; ++l) ports.push_back(PortId{static_cast<std::uint16_t>(l)});
    LaneConfig config;
    config.qps = qps;
    config.send_depth = depth;
    path.open(host, ports, config, *block, false);
    path.set_remote(reinterpret_cast<std::uint64_t>(peer.get()), {500, 501, 502, 503});
  }
};

template <class Release = release::OnAck>
struct Bench {
  static constexpr std::uint64_t source = 0x10'0000, target = 0x900'0000;

  ScriptedHost host;
  std::vector<std::unique_ptr<Way>> ways;
  SendQueue<Release> queue;
  PathId active = 0;
  Epoch epoch = 1;
  Step confirmed = 0;  ///< What CTS say.
  bool needs_confirm = false;
  KeyTable keys{};  ///< Local: of sends. Remote: of receives.

  explicit Bench(std::size_t lanes = 1, std::uint8_t qps = 1, Step first = 0,
                 std::uint16_t depth = 256)
      : queue{first} {
    ways.push_back(std::make_unique<Way>(host, lanes, qps, depth));
    for (PathId p = 0; p < max_paths; ++p) {
      for (std::uint32_t l = 0; l < max_lanes; ++l)
        keys[p][l] = {.local = 10u * p + l + 1, .remote = 900 + 10u * p + l};
    }
  }
  Way& way() { return *ways[active]; }

  Request send(std::uint64_t bytes, Tag tag = a) {
    return queue.requests().add({source, bytes, &keys, MemoryKind::host}, tag);
  }
  /// Where receive `r` of a step wants its bytes.
  static std::uint64_t place(Step s, std::size_t r = 0) {
    return target + (s % 1024 * max_receives + r) * 0x10'0000;
  }
  CtsElement element(Step s, std::vector<Want> const& wants, std::size_t r) const {
    return {.step = s,
            .address = place(s, r),
            .length = wants[r].length,
            .confirmed = confirmed,
            .keys = LaneKeys{keys[active]},
            .tag = wants[r].tag,
            .epoch = epoch,
            .count = static_cast<std::uint8_t>(wants.size()),
            .index = static_cast<std::uint8_t>(r),
            .needs_confirm = needs_confirm};
  }
  CtsElement& slot(Step s, std::size_t r = 0) { return way().block->cts[s % window].elements[r]; }
  void cts(Step s, std::vector<Want> const& wants) {
    for (std::size_t r = 0; r < wants.size(); ++r) write_cts(slot(s, r), element(s, wants, r));
  }
  Errc pump() { return queue.pump(way().path, epoch); }
  /// A send and its CTS, written.
  Request whole(Step s, std::uint64_t bytes = 100) {
    Request const r = send(bytes);
    cts(s, {{bytes}});
    CHECK(pump() == Errc::ok);
    return r;
  }

  std::vector<Posted> const& posts() const { return host.posts; }
  std::size_t written() const { return host.posts.size(); }
  void poll() {
    for (auto& w : ways) {
      w->path.poll([this](Arrival const& arrival) {
        if (arrival.id.work == Work::data) queue.on_acknowledged(arrival.id.step);
      });
    }
  }
  void ack(std::size_t n) {
    complete(host, n);
    poll();
  }
  /// Acknowledges all that was posted since the last time.
  void ack_all() {
    for (; acked_ < host.posts.size(); ++acked_) {
      if (host.posts[acked_].wr.signaled) complete(host, acked_);
      if (acked_ % 8 == 7) poll();
    }
    poll();
  }
  bool done(Request r) { return queue.requests().is_done(r); }
  /// A result that is not there has error would_block.
  Result take(Request r) {
    if (!done(r)) return {.error = Errc::would_block};
    return queue.requests().take(r);
  }

  /// Goes on with another path, in the next epoch.
  void change(Step position, std::size_t lanes = 1, std::uint8_t qps = 1) {
    ways.push_back(std::make_unique<Way>(host, lanes, qps, std::uint16_t{256}));
    ++active;
    way().path.set_id(active);
    ++epoch;
    acked_ = host.posts.size();  // What is under way on the old path is lost.
    queue.rewind(position, position);
  }

 private:
  std::size_t acked_ = 0;
};

/// The bytes of receive r that posts wrote: every one once.
template <class B>
void check_covers(B& at, Step s, std::size_t r, std::uint64_t bytes) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> pieces;
  for (Posted const& p : at.posts()) {
    if (p.wr.remote < at.place(s, r) || p.wr.remote >= at.place(s, r) + bytes) continue;
    if (p.wr.length == 0) continue;
    CHECK(p.wr.remote - at.place(s, r) == p.wr.local - at.source);
    pieces.emplace(p.wr.remote - at.place(s, r), p.wr.length);
  }
  std::uint64_t next = 0;
  for (auto const& [from, length] : pieces) {
    CHECK(from == next);
    next = from + length;
  }
  CHECK(next == bytes);
}
}  // namespace

// ---- Sends meet receives

TEST_CASE("a send that has its CTS is one write that notifies") {
  Bench<> at;
  Request const r = at.send(100);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 1);
  WorkRequest const& w = at.posts()[0].wr;
  CHECK(w.kind == WorkRequest::Kind::write_with_immediate);
  CHECK(w.traffic == Traffic::data);
  CHECK(w.signaled);
  CHECK(w.local == at.source);
  CHECK(w.remote == at.place(0));
  CHECK(w.length == 100);
  CHECK(w.keys.local == 1);
  CHECK(w.keys.remote == 900);
  Notify const n = unpack(w.immediate);
  CHECK(n.epoch == 1);
  CHECK(n.step == 0);
  CHECK(n.part == 0);
  CHECK(n.exact);
  CHECK_FALSE(at.done(r));
  at.ack(0);
  Result const got = at.take(r);
  CHECK(got.error == Errc::ok);
  CHECK(got.delivered == Delivered::yes);
  CHECK(got.sizes[0] == 100);
}

TEST_CASE("a send waits for a CTS, and a CTS for a send") {
  Bench<> at;
  SUBCASE("the send is first") {
    at.send(8);
    CHECK(at.queue.may_pump());
    CHECK(at.pump() == Errc::ok);
    CHECK(at.written() == 0);
    CHECK(at.queue.waits());
    at.cts(0, {{8}});
  }
  SUBCASE("the CTS is first") {
    at.cts(0, {{8}});
    CHECK_FALSE(at.queue.may_pump());
    CHECK(at.pump() == Errc::ok);
    CHECK(at.written() == 0);
    CHECK_FALSE(at.queue.waits());
    at.send(8);
  }
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 1);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 1);
}

TEST_CASE("sends are taken by tag, whatever order they were posted in") {
  Bench<> at;
  Request const sb = at.send(20, b);
  Request const sc = at.send(30, c);
  Request const sa = at.send(10, a);
  at.cts(0, {{10, a}});
  at.cts(1, {{30, c}});
  at.cts(2, {{20, b}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 3);
  CHECK(at.posts()[0].wr.length == 10);
  CHECK(at.posts()[1].wr.length == 30);
  CHECK(at.posts()[2].wr.length == 20);
  at.ack(0);
  CHECK(at.done(sa));
  CHECK_FALSE(at.done(sc));
  at.ack(1);
  CHECK(at.done(sc));
  CHECK_FALSE(at.done(sb));
}

TEST_CASE("sends of one tag are taken in the order in which they were posted") {
  Bench<> at;
  for (std::uint64_t n : {1u, 2u, 3u}) at.send(n);
  for (Step s : {0u, 1u, 2u}) at.cts(s, {{s + 1}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(at.posts()[i].wr.length == i + 1);
}

TEST_CASE("a step goes out when all of its receives have a send") {
  Bench<> at;
  at.cts(0, {{10, a}, {20, b}, {30, c}});
  at.send(20, b);
  CHECK(at.pump() == Errc::ok);
  at.send(30, c);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  CHECK(at.queue.waits());  // For its user; but the peer may be gone, and then it is to end.
  CHECK(at.queue.at_step_boundary());
  at.send(10, a);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 3);
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK(at.posts()[r].wr.remote == at.place(0, r));
    CHECK(at.posts()[r].wr.length == 10 * (r + 1));
    CHECK(notifies(at.posts()[r]) == (r == 2));
  }
}

TEST_CASE("two receives of one tag in a step take two sends in order") {
  Bench<> at;
  at.cts(0, {{50, a}, {50, a}});
  Request const first = at.send(50, a);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  at.send(49, a);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 3);  // A size record before them.
  CHECK(at.posts()[1].wr.length == 50);
  CHECK(at.posts()[2].wr.length == 49);
  CHECK_FALSE(at.done(first));
}

TEST_CASE("a step does not overtake one that still waits for a send") {
  Bench<> at;
  at.cts(0, {{8, a}});
  at.cts(1, {{8, b}});
  at.send(8, b);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  at.send(8, a);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 2);
  CHECK(at.posts()[0].wr.remote == at.place(0));
}

// ---- What is no CTS

TEST_CASE("a CTS that is not whole, or not of this step and epoch, is not looked at") {
  Bench<> at;
  at.send(8);
  std::vector<Want> const wants{{8}};
  at.cts(0, wants);
  CtsElement bad = at.element(0, wants, 0);
  SUBCASE("half old") { at.slot(0).address ^= 1; }
  SUBCASE("without its checksum") { at.slot(0).check ^= 1; }
  SUBCASE("of the epoch before") {
    bad.epoch = 0;
    write_cts(at.slot(0), bad);
  }
  SUBCASE("of the next epoch") {
    bad.epoch = 2;
    write_cts(at.slot(0), bad);
  }
  SUBCASE("of the step a window later") {
    bad.step = window;
    write_cts(at.slot(0), bad);
  }
  SUBCASE("of another receive") {
    bad.index = 1;
    write_cts(at.slot(0), bad);
  }
  SUBCASE("of no receive") {
    bad.count = 0;
    write_cts(at.slot(0), bad);
  }
  SUBCASE("of more receives than there can be") {
    bad.count = max_receives + 1;
    write_cts(at.slot(0), bad);
  }
  SUBCASE("of nothing: the ring is empty") { at.slot(0) = {}; }
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  at.cts(0, wants);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 1);
}

TEST_CASE("a step waits until the CTS of its last receive is whole") {
  Bench<> at;
  at.send(8, a);
  at.send(8, b);
  std::vector<Want> const wants{{8, a}, {8, b}};
  at.cts(0, wants);
  at.slot(0, 1).length ^= 1;
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  at.cts(0, wants);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 2);
}

// ---- How a step is written

TEST_CASE("steps take the queues in turn") {
  Bench<> at{2, 2};
  for (Step s = 0; s < 5; ++s) at.whole(s);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(at.posts()[i].lane == i % 2);
    CHECK(at.posts()[i].wr.qp == i / 2 % 2);
    CHECK(at.posts()[i].wr.keys.local == i % 2 + 1);
    CHECK(at.posts()[i].wr.keys.remote == 900 + i % 2);
  }
}

TEST_CASE("a long step goes in parts over the queues, and each notifies") {
  for (std::uint64_t bytes : {2 * min_part, 4 * min_part, 4 * min_part + 1, 16 * min_part - 1}) {
    CAPTURE(bytes);
    Bench<> at{2, 2};
    Request const r = at.whole(0, bytes);
    std::size_t const parts = parts_of(bytes, 4);
    REQUIRE(at.written() == parts);
    for (std::size_t k = 0; k < parts; ++k) {
      Notify const n = unpack(at.posts()[k].wr.immediate);
      CHECK(notifies(at.posts()[k]));
      CHECK(n.part == k);
      CHECK(n.exact);
      CHECK(at.posts()[k].lane == k % 2);
      CHECK(at.posts()[k].wr.qp == k / 2);
      CHECK((at.posts()[k].wr.remote - at.place(0)) % 128 == 0);
    }
    check_covers(at, 0, 0, bytes);
    for (std::size_t k = parts; k-- > 1;) at.ack(k);
    CHECK_FALSE(at.done(r));
    at.ack(0);
    CHECK(at.done(r));
  }
}

TEST_CASE("the first part of a step goes where its number says") {
  Bench<> at{4, 1, 3};
  at.whole(3, 4 * min_part);
  REQUIRE(at.written() == 4);
  CHECK(at.posts()[0].lane == 3);
  CHECK(at.posts()[1].lane == 0);
}

TEST_CASE("each part carries its share of every receive") {
  Bench<> at{2};
  std::uint64_t const x = 3 * min_part + 5, y = min_part + 77;
  at.cts(0, {{x, a}, {y, b}, {100, c}});
  at.send(x, a);
  at.send(y, b);
  at.send(100, c);
  CHECK(at.pump() == Errc::ok);
  check_covers(at, 0, 0, x);
  check_covers(at, 0, 1, y);
  check_covers(at, 0, 2, 100);
  std::vector<std::uint8_t> parts;
  for (Posted const& p : at.posts()) {
    if (notifies(p)) parts.push_back(unpack(p.wr.immediate).part);
  }
  CHECK(parts == std::vector<std::uint8_t>{0, 1});
  CHECK(notifies(at.posts().back()));
  CHECK(at.posts().back().wr.remote > at.place(0, 1));  // The small one was in the first part.
  CHECK(at.posts().back().wr.remote < at.place(0, 2));
}

TEST_CASE("what is longer than a message goes in several writes, the last of which notifies") {
  Bench<> at;
  at.queue.set_max_message(1000);
  Request const r = at.whole(0, 2500);
  REQUIRE(at.written() == 3);
  check_covers(at, 0, 0, 2500);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(at.posts()[i].wr.length <= 1000);
    CHECK(notifies(at.posts()[i]) == (i == 2));
  }
  at.ack(2);
  CHECK(at.done(r));
}

TEST_CASE("a send as long as a message is one write") {
  Bench<> at;
  at.queue.set_max_message(1000);
  at.whole(0, 1000);
  CHECK(at.written() == 1);
  at.whole(1, 2000);
  CHECK(at.written() == 3);
}

TEST_CASE("an empty send notifies, and needs no registered memory") {
  Bench<> at;
  at.cts(0, {{0}});
  Request const r = at.queue.requests().add({}, a);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 1);
  CHECK(notifies(at.posts()[0]));
  CHECK(at.posts()[0].wr.length == 0);
  CHECK(at.posts()[0].wr.keys.local == 0);
  at.ack(0);
  CHECK(at.take(r).error == Errc::ok);
}

TEST_CASE("a step of nothing but empty sends is one notify") {
  Bench<> at{4};
  at.cts(0, {{0, a}, {0, b}});
  at.send(0, a);
  at.send(0, b);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 1);
  CHECK(unpack(at.posts()[0].wr.immediate).exact);
}

TEST_CASE("the last receive that has bytes notifies") {
  Bench<> at;
  at.cts(0, {{0, a}, {40, b}, {0, c}});
  at.send(0, a);
  at.send(40, b);
  at.send(0, c);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 1);
  CHECK(at.posts()[0].wr.remote == at.place(0, 1));
  CHECK(notifies(at.posts()[0]));
}

// ---- Sizes

TEST_CASE("a shorter send tells its size before the notify, on the same queue") {
  Bench<> at{2, 2, 3};
  at.host.copies = false;
  at.send(60);
  at.cts(3, {{100}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 2);
  Posted const& sizes = at.posts()[0];
  CHECK_FALSE(notifies(sizes));
  CHECK(sizes.wr.length == sizeof(SizeElement));
  CHECK(sizes.wr.local == reinterpret_cast<std::uint64_t>(&at.way().block->sizes[3]));
  CHECK(sizes.wr.remote == reinterpret_cast<std::uint64_t>(&at.way().peer->sizes[3]));
  CHECK(sizes.lane == at.posts()[1].lane);
  CHECK(sizes.wr.qp == at.posts()[1].wr.qp);
  CHECK_FALSE(unpack(at.posts()[1].wr.immediate).exact);
  CHECK(at.posts()[1].wr.length == 60);
  auto const e = load_record<SizeElement>(&at.way().block->sizes[3].elements[0]);
  CHECK(e.check == check_of(e));
  CHECK(e.step == 3);
  CHECK(e.epoch == 1);
  CHECK(e.parts == 1);
  CHECK(e.count == 1);
  CHECK(e.sizes[0] == 60);
  CHECK(e.too_long == 0);
}

TEST_CASE("the sizes of more than five receives take two elements") {
  Bench<> at;
  std::vector<Want> wants(7, Want{100, a});
  for (std::uint64_t r = 0; r < 7; ++r) at.send(r + 1);
  at.cts(0, wants);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.posts()[0].wr.length == 2 * sizeof(SizeElement));
  auto const one = load_record<SizeElement>(&at.way().block->sizes[0].elements[0]);
  auto const two = load_record<SizeElement>(&at.way().block->sizes[0].elements[1]);
  CHECK(one.check == check_of(one));
  CHECK(two.check == check_of(two));
  CHECK(one.sizes[4] == 5);
  CHECK(two.sizes[1] == 7);
  CHECK(two.count == 7);
}

TEST_CASE("the sizes of a step in parts go once, before the first") {
  Bench<> at{3};
  at.send(4 * min_part);
  at.cts(0, {{5 * min_part}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 4);
  CHECK_FALSE(notifies(at.posts()[0]));
  CHECK(at.posts()[0].lane == at.posts()[1].lane);
  CHECK(load_record<SizeElement>(&at.way().block->sizes[0].elements[0]).parts == 3);
  for (std::size_t k = 0; k < 3; ++k) CHECK_FALSE(unpack(at.posts()[k + 1].wr.immediate).exact);
}

TEST_CASE("of a send that is longer than its receive nothing is written, and it says so") {
  Bench<> at;
  Request const r = at.send(101);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 2);
  CHECK(notifies(at.posts()[1]));
  CHECK(at.posts()[1].wr.length == 0);
  auto const e = load_record<SizeElement>(&at.way().block->sizes[0].elements[0]);
  CHECK(e.too_long == 1);
  CHECK(e.sizes[0] == 101);
  CHECK_FALSE(at.done(r));
  at.ack(1);
  Result const got = at.take(r);
  CHECK(got.error == Errc::message_too_long);
  CHECK(got.delivered == Delivered::no);
  CHECK(at.queue.done() == 1);
}

TEST_CASE("the other sends of its step are delivered") {
  Bench<> at;
  at.cts(0, {{100, a}, {100, b}, {100, c}});
  Request const ra = at.send(100, a);
  Request const rb = at.send(500, b);
  Request const rc = at.send(7, c);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 3);  // Sizes, a, c.
  CHECK(at.posts()[1].wr.remote == at.place(0, 0));
  CHECK(at.posts()[2].wr.remote == at.place(0, 2));
  CHECK(load_record<SizeElement>(&at.way().block->sizes[0].elements[0]).too_long == 0b010);
  at.ack(2);
  CHECK(at.take(ra).error == Errc::ok);
  CHECK(at.take(rb).error == Errc::message_too_long);
  CHECK(at.take(rc).delivered == Delivered::yes);
}

TEST_CASE("a slot of the ring forgets that an earlier step was too long") {
  Bench<> at;
  at.send(101);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  at.ack_all();
  for (Step s = 1; s <= window; ++s) {
    Request const r = at.whole(s);
    at.ack_all();
    CHECK(at.take(r).error == Errc::ok);
  }
}

// ---- Room

namespace {
/// Steps of every shape, over two queues: one write; sizes; several receives; parts; chunks; empty.
void load(Bench<>& at) {
  at.queue.set_max_message(20'000);
  at.send(100);
  at.cts(0, {{100}});
  at.send(50);
  at.cts(1, {{100}});
  at.send(10, a);
  at.send(20, b);
  at.send(30, c);
  at.cts(2, {{10, a}, {20, b}, {30, c}});
  at.send(3 * min_part);
  at.cts(3, {{3 * min_part}});
  at.send(2 * min_part, a);
  at.send(70'000, b);
  at.cts(4, {{2 * min_part, a}, {80'000, b}});
  at.send(0);
  at.cts(5, {{0}});
  at.send(90);
  at.cts(6, {{80}});
}
std::vector<Write> writes_of(std::vector<Posted> const& posts) {
  std::vector<Write> all;
  for (Posted const& p : posts) {
    Write w = write_of(p);
    if (unpack_work(p.wr.id).work == Work::chunk && p.wr.length % 64 == 0 && p.wr.length <= 128 &&
        p.wr.remote < Bench<>::target) {
      std::get<3>(w) = std::get<4>(w) = 0;  // A size record: each bench has blocks of its own.
    }
    all.push_back(w);
  }
  return all;
}
std::vector<Write> reference() {
  Bench<> at{2};
  load(at);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.queue.next() == 7);
  return writes_of(at.posts());
}
/// Size records stand at heap addresses; everything else must be the same.
void check_same(std::vector<Write> x, std::vector<Write> y) {
  auto const blind = [](std::vector<Write>& all) {
    for (Write& w : all) {
      bool const data = std::get<3>(w) >= Bench<>::source && std::get<3>(w) < Bench<>::target;
      if (!data && std::get<5>(w) != 0) std::get<3>(w) = std::get<4>(w) = 0;
    }
  };
  blind(x);
  blind(y);
  CHECK(x == y);
}
}  // namespace

TEST_CASE("wherever a lane says would_block, posting goes on there, and nothing is posted twice") {
  std::vector<Write> const all = reference();
  REQUIRE(all.size() > 15);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    CAPTURE(cut);
    Bench<> at{2};
    load(at);
    at.host.posts_left = static_cast<int>(cut);
    CHECK(at.pump() == Errc::ok);
    CHECK(at.written() == cut);
    CHECK(at.pump() == Errc::ok);
    CHECK(at.written() == cut);
    at.host.posts_left = ScriptedHost::never;
    CHECK(at.pump() == Errc::ok);
    check_same(writes_of(at.posts()), all);
    at.ack_all();
    CHECK(at.queue.all_released());
  }
}

TEST_CASE("a lane that takes one request at a time gets the same requests") {
  Bench<> at{2};
  load(at);
  for (int i = 0; i < 200; ++i) {
    at.host.posts_left = 1;
    CHECK(at.pump() == Errc::ok);
    at.ack_all();  // Also while a step is half posted.
  }
  check_same(writes_of(at.posts()), reference());
  CHECK(at.queue.all_released());
}

TEST_CASE("a queue without room is waited for, wherever that is") {
  std::vector<Write> const all = reference();
  for (std::uint16_t room = 0; room <= 24; ++room) {
    CAPTURE(room);
    Bench<> at{2, 1, 0, 32};
    load(at);
    std::size_t filler = 0;  // Leaves `room` on both queues.
    for (std::size_t q = 0; q < 2; ++q) {
      for (std::uint16_t i = room; i < 24; ++i, ++filler) {
        auto& queue = at.way().path.queue_of(q);
        CHECK(at.way().path.post(queue, queue.record, Work::cts, 0) == Errc::ok);
      }
    }
    for (int i = 0; i < 50; ++i) {
      CHECK(at.pump() == Errc::ok);
      for (std::size_t q = 0; q < 2; ++q)
        CHECK(at.way().path.has_room(at.way().path.queue_of(q), 0));
      at.ack_all();
    }
    std::vector<Posted> mine(at.posts().begin() + static_cast<std::ptrdiff_t>(filler),
                             at.posts().end());
    check_same(writes_of(mine), all);
    CHECK(at.queue.all_released());
  }
}

TEST_CASE("the reserve is not for data") {
  Bench<> at{1, 1, 0, 40};
  for (Step s = 0; s < 60; ++s) {
    at.send(8);
    at.cts(s, {{8}});
  }
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() <= 32);
  CHECK(at.written() >= 31);
}

TEST_CASE("a lane that refuses for good is told") {
  Bench<> at;
  at.send(8);
  at.cts(0, {{8}});
  at.host.posts_left = 0;
  at.host.refusal = Errc::path_down;
  CHECK(at.pump() == Errc::path_down);
  CHECK(at.queue.next() == 0);
}

TEST_CASE("a step of which something was posted is no place to stop at") {
  Bench<> at;
  at.send(8, a);
  at.send(8, b);
  at.cts(0, {{8, a}, {8, b}});
  at.host.posts_left = 1;
  CHECK(at.pump() == Errc::ok);
  CHECK_FALSE(at.queue.at_step_boundary());
  CHECK_FALSE(at.queue.all_released());
  CHECK(at.queue.on_wire());
  at.host.posts_left = 1;
  CHECK(at.pump() == Errc::ok);
  CHECK(at.queue.at_step_boundary());
  CHECK_FALSE(at.queue.all_released());
  at.ack(1);
  CHECK(at.queue.all_released());
  CHECK_FALSE(at.queue.on_wire());
}

// ---- Release

TEST_CASE("acknowledgements may come in any order, sends complete in theirs") {
  Bench<> at{4};
  std::vector<Request> all;
  for (Step s = 0; s < 4; ++s) all.push_back(at.whole(s));
  auto const done = [&] {
    std::size_t n = 0;
    while (n < 4 && at.done(all[n])) ++n;
    return n;
  };
  at.ack(2);
  at.ack(1);
  CHECK(done() == 0);
  CHECK(at.queue.done() == 0);
  at.ack(0);
  CHECK(done() == 3);
  CHECK(at.queue.done() == 3);
  at.ack(3);
  CHECK(done() == 4);
}

TEST_CASE("an acknowledgement of a step that is not under way says nothing") {
  Bench<> at{1, 1, 100};
  Request const r = at.whole(100);
  at.queue.on_acknowledged(99);
  at.queue.on_acknowledged(100 + window);
  CHECK_FALSE(at.done(r));
  at.ack(0);
  CHECK(at.done(r));
}

TEST_CASE("bytes on the wire are those that are written and not released") {
  Bench<> at;
  CHECK(at.queue.bytes_on_wire() == 0);
  at.whole(0, 100);
  at.whole(1, 30);
  CHECK(at.queue.bytes_on_wire() == 130);
  at.ack(0);
  CHECK(at.queue.bytes_on_wire() == 30);
  at.ack(1);
  CHECK(at.queue.bytes_on_wire() == 0);
}

TEST_CASE("OnAck: the acknowledgement is enough, whatever the CTS says") {
  Bench<release::OnAck> at;
  at.needs_confirm = true;
  Request const r = at.whole(0);
  at.queue.on_confirmed(1);
  CHECK_FALSE(at.done(r));
  at.ack(0);
  CHECK(at.done(r));
}

TEST_CASE("OnConfirm: acknowledged and confirmed, in either order") {
  Bench<release::OnConfirm> at;
  Request const r0 = at.whole(0);
  Request const r1 = at.whole(1);
  SUBCASE("confirmed last") {
    at.ack(0);
    at.ack(1);
    CHECK_FALSE(at.done(r0));
    at.queue.on_confirmed(1);
  }
  SUBCASE("acknowledged last") {
    at.queue.on_confirmed(1);
    CHECK_FALSE(at.done(r0));
    at.ack(0);
    at.ack(1);
  }
  CHECK(at.done(r0));
  CHECK_FALSE(at.done(r1));
  at.queue.on_confirmed(0);  // Old news.
  at.queue.on_confirmed(2);
  CHECK(at.done(r1));
}

TEST_CASE("OnConfirm: a CTS confirms what was received before it") {
  Bench<release::OnConfirm> at;
  Request const r0 = at.whole(0);
  at.ack(0);
  at.confirmed = 1;
  at.send(8);
  at.cts(1, {{8}});
  CHECK(at.pump() == Errc::ok);
  CHECK(at.done(r0));
}

TEST_CASE("AckOrConfirm: as the CTS of each step says") {
  Bench<release::AckOrConfirm> at;
  Request const r0 = at.whole(0);
  at.needs_confirm = true;
  Request const r1 = at.whole(1);
  at.ack(0);
  at.ack(1);
  CHECK(at.done(r0));
  CHECK_FALSE(at.done(r1));
  at.queue.on_confirmed(2);
  CHECK(at.done(r1));
}

TEST_CASE("a window of steps may be unreleased; the next waits, though it has its CTS") {
  Bench<> at;
  std::vector<Request> all;
  for (Step s = 0; s < window; ++s) all.push_back(at.whole(s, s + 1));
  CHECK(at.written() == window);
  // The receiver has step 0 and announces the next, before its acknowledgement is seen here.
  Request const last = at.whole(window, 5000);
  CHECK(at.written() == window);
  at.ack(0);
  CHECK(at.done(all[0]));
  CHECK(at.take(all[0]).sizes[0] == 1);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == window + 1);
  CHECK(at.posts().back().wr.length == 5000);
  at.ack(window);
  CHECK_FALSE(at.done(last));
  for (std::size_t i = 1; i < window; ++i) at.ack(i);
  for (std::size_t i = 1; i < window; ++i) CHECK(at.take(all[i]).sizes[0] == i + 1);
  CHECK(at.take(last).sizes[0] == 5000);
}

TEST_CASE("OnConfirm: the CTS that finds the window full still confirms") {
  Bench<release::OnConfirm> at;
  std::vector<Request> all;
  for (Step s = 0; s < window; ++s) all.push_back(at.whole(s));
  at.ack_all();
  at.confirmed = 3;
  at.whole(window);
  CHECK(at.done(all[2]));
  CHECK_FALSE(at.done(all[3]));
  CHECK(at.written() == window + 1);
}

TEST_CASE("an acknowledgement that comes twice does not keep a step from its confirmation") {
  Bench<release::OnConfirm> at;
  Request const r0 = at.whole(0);
  at.ack(0);
  at.ack(0);
  CHECK_FALSE(at.done(r0));
  CHECK(at.queue.waits_for_confirmation());
  at.queue.on_confirmed(1);
  CHECK(at.done(r0));
  at.ack(0);
  CHECK(at.queue.done() == 1);
}

TEST_CASE("what is acknowledged and not confirmed waits for confirmation") {
  Bench<release::AckOrConfirm> at;
  at.whole(0);
  at.needs_confirm = true;
  Request const r1 = at.whole(1);
  CHECK_FALSE(at.queue.waits_for_confirmation());
  at.ack(0);
  CHECK_FALSE(at.queue.waits_for_confirmation());
  at.ack(1);
  CHECK(at.queue.waits_for_confirmation());
  SUBCASE("a CTS that no send is queued for confirms all the same") {
    at.confirmed = 1;
    at.cts(2, {{8}});
    at.confirmed = 2;
    at.cts(3, {{8}});
    at.queue.look_for_confirmation(at.way().path, at.epoch);
  }
  SUBCASE("a message does") { at.queue.on_confirmed(2); }
  CHECK(at.done(r1));
  CHECK_FALSE(at.queue.waits_for_confirmation());
}

TEST_CASE("only CTS of this epoch confirm") {
  Bench<release::OnConfirm> at;
  Request const r = at.whole(0);
  at.ack(0);
  at.confirmed = 1;
  at.cts(1, {{8}});
  at.queue.look_for_confirmation(at.way().path, at.epoch + 1);
  CHECK_FALSE(at.done(r));
  at.queue.look_for_confirmation(at.way().path, at.epoch);
  CHECK(at.done(r));
}

// ---- Rewind

TEST_CASE("a rewind completes what the receiver has and sends the rest again, at every position") {
  for (Step position = 0; position <= 6; ++position) {
    for (Step acked = 0; acked <= position; ++acked) {
      CAPTURE(position);
      CAPTURE(acked);
      Bench<> at;
      std::vector<Request> all;
      for (Step s = 0; s < 6; ++s) all.push_back(at.whole(s, 10 + s));
      for (std::size_t i = 0; i < acked; ++i) at.ack(i);
      at.change(position);
      CHECK(at.queue.done() == position);
      CHECK(at.queue.next() == position);
      for (std::size_t i = 0; i < 6; ++i) CHECK(at.done(all[i]) == (i < position));
      CHECK(at.pump() == Errc::ok);
      CHECK(at.written() == 6);  // The new path has no CTS yet.
      std::uint64_t bytes = 0;
      for (Step s = position; s < 6; ++s) {
        at.cts(s, {{10 + s}});
        bytes += 10 + s;
      }
      CHECK(at.queue.may_pump() == (position < 6));
      CHECK(at.pump() == Errc::ok);
      REQUIRE(at.written() == 12 - position);
      CHECK(at.queue.resent_steps() == 6 - position);
      CHECK(at.queue.resent_bytes() == bytes);
      for (std::size_t i = 6; i < at.written(); ++i) {
        WorkRequest const& w = at.posts()[i].wr;
        Notify const n = unpack(w.immediate);
        CHECK(n.epoch == 2);
        CHECK(n.step == i - 6 + position);
        CHECK(w.length == 10u + n.step);
        CHECK(w.keys.local == 11);
        CHECK(w.keys.remote == 910);
      }
      CHECK(at.queue.waits() == (position < 6));
      at.ack_all();
      CHECK(at.queue.all_released());
      for (std::size_t i = 0; i < 6; ++i) CHECK(at.take(all[i]).delivered == Delivered::yes);
      at.whole(6);
      CHECK(at.queue.resent_steps() == 6 - position);  // New ones are not resent.
    }
  }
}

TEST_CASE("a rewind that resumes at what this end has completed believes nothing of the receiver") {
  Bench<> at;
  for (Step s = 0; s < 4; ++s) at.whole(s);
  at.ack(0);
  at.queue.rewind(3, 1);
  CHECK(at.queue.done() == 1);
  CHECK(at.queue.next() == 1);
}

TEST_CASE("what was acknowledged before a rewind must be acknowledged again") {
  Bench<> at{2};
  Request const r = at.whole(0, 2 * min_part);
  at.ack(0);
  at.change(0, 2);
  at.cts(0, {{2 * min_part}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 4);
  at.ack(2);
  CHECK_FALSE(at.done(r));
  at.ack(3);
  CHECK(at.done(r));
}

TEST_CASE("a step is split anew over the queues of another path") {
  Bench<> at{4};
  Request const r = at.whole(0, 4 * min_part);
  CHECK(at.written() == 4);
  at.change(0, 1);
  at.cts(0, {{4 * min_part}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 5);
  CHECK(at.posts()[4].wr.length == 4 * min_part);
  at.ack(4);
  CHECK(at.done(r));
}

TEST_CASE("a CTS of the old epoch on the path that is returned to is not followed") {
  Bench<> at;
  at.send(8);
  at.cts(0, {{8}});
  at.epoch = 3;
  at.queue.rewind(0, 0);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  at.cts(0, {{8}});
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 1);
}

TEST_CASE("a CTS that was read before a rewind is not used after it") {
  Bench<> at;
  at.cts(0, {{8, a}, {8, b}});
  at.send(8, a);
  CHECK(at.pump() == Errc::ok);  // Read; waits for b.
  at.change(0);
  at.send(8, b);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 0);
  at.cts(0, {{8, a}, {8, b}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 2);
  CHECK(at.posts()[0].wr.keys.remote == 910);
}

TEST_CASE("a half posted step is posted whole after a rewind, wherever it stopped") {
  std::size_t const whole = [] {
    Bench<> at{2};
    at.queue.set_max_message(20'000);
    at.send(2 * min_part, a);
    at.send(70'000, b);
    at.cts(0, {{2 * min_part, a}, {80'000, b}});
    CHECK(at.pump() == Errc::ok);
    return at.written();
  }();
  for (std::size_t cut = 0; cut < whole; ++cut) {
    CAPTURE(cut);
    Bench<> at{2};
    at.queue.set_max_message(20'000);
    Request const ra = at.send(2 * min_part, a);
    Request const rb = at.send(70'000, b);
    at.cts(0, {{2 * min_part, a}, {80'000, b}});
    at.host.posts_left = static_cast<int>(cut);
    CHECK(at.pump() == Errc::ok);
    at.ack_all();
    at.change(0, 2);
    CHECK(at.queue.at_step_boundary());
    at.host.posts_left = ScriptedHost::never;
    at.host.posts.clear();
    at.cts(0, {{2 * min_part, a}, {80'000, b}});
    CHECK(at.pump() == Errc::ok);
    CHECK(at.written() == whole);
    check_covers(at, 0, 0, 2 * min_part);
    check_covers(at, 0, 1, 70'000);
    CHECK_FALSE(at.done(ra));
    for (std::size_t i = 0; i < whole; ++i) {
      if (at.posts()[i].wr.signaled) at.ack(i);
    }
    CHECK(at.take(ra).error == Errc::ok);
    CHECK(at.take(rb).error == Errc::ok);
  }
}

TEST_CASE("the sends of a group that is not complete stay with it over a rewind") {
  Bench<> at;
  at.whole(0);
  at.cts(1, {{10, a}, {20, b}});
  at.send(20, b);
  CHECK(at.pump() == Errc::ok);
  at.change(0);
  at.send(99, b);  // Meets a later step.
  at.cts(0, {{100}});
  at.cts(1, {{10, a}, {20, b}});
  CHECK(at.pump() == Errc::ok);
  CHECK(at.written() == 2);
  at.send(10, a);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 4);
  CHECK(at.posts()[2].wr.length == 10);
  CHECK(at.posts()[3].wr.length == 20);
}

TEST_CASE("a send that was too long stays so when its step is sent again") {
  Bench<> at;
  Request const r = at.send(101);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  at.change(0);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.written() == 4);
  CHECK(at.posts()[3].wr.length == 0);
  auto const e = load_record<SizeElement>(&at.way().block->sizes[0].elements[0]);
  CHECK(e.epoch == 2);
  CHECK(e.too_long == 1);
  at.ack(3);
  CHECK(at.take(r).error == Errc::message_too_long);
}

TEST_CASE("a receiver that has a step of which a send was too long has not that send") {
  Bench<> at;
  Request const r = at.send(101);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  at.change(1);
  Result const got = at.take(r);
  CHECK(got.error == Errc::message_too_long);
  CHECK(got.delivered == Delivered::no);
}

TEST_CASE("what is sent for the third time counts twice") {
  Bench<> at;
  at.whole(0, 10);
  at.whole(1, 20);
  at.change(0);
  at.cts(0, {{10}});
  CHECK(at.pump() == Errc::ok);
  CHECK(at.queue.resent_steps() == 1);
  at.change(0);
  at.cts(0, {{10}});
  at.cts(1, {{20}});
  CHECK(at.pump() == Errc::ok);
  CHECK(at.queue.resent_steps() == 3);
  CHECK(at.queue.resent_bytes() == 40);
}

// ---- Finish

TEST_CASE("the end tells of each send whether the receiver has it") {
  for (bool final_position : {true, false}) {
    for (Step position = 1; position <= 4; ++position) {
      CAPTURE(final_position);
      CAPTURE(position);
      Bench<> at;
      std::vector<Request> sent;
      for (Step s = 0; s < 4; ++s) sent.push_back(at.whole(s));
      at.ack(0);
      at.cts(4, {{8, a}, {8, b}});
      Request const in_group = at.send(8, b);
      CHECK(at.pump() == Errc::ok);
      Request const queued = at.send(8, c);
      at.queue.finish(Errc::aborted, position, final_position);
      for (std::size_t i = 0; i < 4; ++i) {
        Result const got = at.take(sent[i]);
        bool const has = i < position;
        CHECK(got.error == (has ? Errc::ok : Errc::aborted));
        CHECK(got.delivered == (has              ? Delivered::yes
                                : final_position ? Delivered::no
                                                 : Delivered::unknown));
      }
      for (Request r : {in_group, queued}) {
        Result const got = at.take(r);
        CHECK(got.error == Errc::aborted);
        CHECK(got.delivered == Delivered::no);
      }
      CHECK_FALSE(at.queue.waits());
      CHECK_FALSE(at.queue.on_wire());
      CHECK_FALSE(at.queue.may_pump());
    }
  }
}

TEST_CASE("what was sent on the old path and not again is not known, unless the word is final") {
  for (bool final_position : {true, false}) {
    CAPTURE(final_position);
    Bench<> at;
    std::vector<Request> sent;
    for (Step s = 0; s < 3; ++s) sent.push_back(at.whole(s));
    at.change(0);
    at.cts(0, {{100}});
    CHECK(at.pump() == Errc::ok);
    at.queue.finish(Errc::aborted, 1, final_position);
    CHECK(at.take(sent[0]).delivered == Delivered::yes);
    for (std::size_t i : {1u, 2u})
      CHECK(at.take(sent[i]).delivered == (final_position ? Delivered::no : Delivered::unknown));
  }
}

TEST_CASE("a half posted step has not been delivered, for it was not notified") {
  Bench<> at;
  Request const ra = at.send(8, a);
  Request const rb = at.send(8, b);
  at.cts(0, {{8, a}, {8, b}});
  at.host.posts_left = 1;
  CHECK(at.pump() == Errc::ok);
  at.queue.finish(Errc::aborted, 0, false);
  CHECK(at.take(ra).delivered == Delivered::no);
  CHECK(at.take(rb).delivered == Delivered::no);
  CHECK_FALSE(at.queue.waits());
  CHECK_FALSE(at.queue.on_wire());
  CHECK(at.queue.at_step_boundary());
}

TEST_CASE("a send that was too long is told so also when its step completes at the end") {
  Bench<> at;
  Request const r = at.send(101);
  at.cts(0, {{100}});
  CHECK(at.pump() == Errc::ok);
  SUBCASE("the receiver has the step") {
    at.queue.finish(Errc::closed, 1, true);
    CHECK(at.take(r).error == Errc::message_too_long);
  }
  SUBCASE("the receiver has not") {
    at.queue.finish(Errc::closed, 0, true);
    CHECK(at.take(r).error == Errc::closed);
  }
}

TEST_CASE("a position that nothing was sent up to tells nothing") {
  for (Step first : {Step{1000}, ~Step{0} - 2}) {
    Bench<> at{1, 1, first};
    Request const r = at.whole(first);
    at.queue.finish(Errc::aborted, 0, false);
    CHECK(at.take(r).delivered == Delivered::unknown);
  }
}

TEST_CASE("an acknowledgement after the end changes nothing") {
  Bench<> at;
  Request const r = at.whole(0);
  at.queue.finish(Errc::aborted, 0, true);
  at.ack(0);
  CHECK(at.take(r).error == Errc::aborted);
}

// ---- Numbers that wrap

TEST_CASE_TEMPLATE("steps go on over the wraps of 16, 32 and 64 bits", Release, release::OnAck,
                   release::OnConfirm) {
  for (Step wrap : {Step{1} << 16, Step{1} << 32, Step{0}}) {
    CAPTURE(wrap);
    Step const first = wrap - 5;
    Bench<Release> at{1, 1, first};
    at.confirmed = first;
    for (Step n = 0; n < 200; ++n) {
      Step const s = first + n;
      Request const r = at.whole(s, n % 7);
      REQUIRE(at.written() == n + 1);
      CHECK(unpack(at.posts()[n].wr.immediate).step == static_cast<std::uint16_t>(s));
      CHECK_FALSE(at.done(r));
      at.ack(n);
      if (!Release::on_acknowledgement(false)) {
        CHECK_FALSE(at.done(r));
        at.queue.on_confirmed(s + 1);
      }
      CHECK(at.take(r).error == Errc::ok);
      CHECK(at.queue.done() == s + 1);
    }
  }
}

TEST_CASE("a rewind and the end work across the wraps as well") {
  for (Step wrap : {Step{1} << 16, Step{1} << 32, Step{0}}) {
    for (Step position = 0; position <= 6; ++position) {
      CAPTURE(wrap);
      CAPTURE(position);
      Step const first = wrap - 3;
      Bench<> at{1, 1, first};
      std::vector<Request> all;
      for (Step s = 0; s < 6; ++s) all.push_back(at.whole(first + s));
      SUBCASE("rewind") {
        at.change(first + position);
        CHECK(at.queue.done() == first + position);
        for (Step s = position; s < 6; ++s) at.cts(first + s, {{100}});
        CHECK(at.queue.bytes_on_wire() == 0);
        CHECK(at.pump() == Errc::ok);
        CHECK(at.queue.resent_steps() == 6 - position);
        CHECK(at.queue.bytes_on_wire() == 100 * (6 - position));
        at.ack_all();
        CHECK(at.queue.all_released());
      }
      SUBCASE("end") {
        at.queue.finish(Errc::aborted, first + position, true);
        for (std::size_t i = 0; i < 6; ++i)
          CHECK(at.take(all[i]).error == (i < position ? Errc::ok : Errc::aborted));
        CHECK_FALSE(at.queue.waits());
      }
    }
  }
}
