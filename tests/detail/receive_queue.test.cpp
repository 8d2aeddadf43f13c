// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/receive_queue.hpp>

#include <detail/scripted_lane.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

using namespace vccl;
using namespace vccl::detail;
using test::ScriptedHost;
using test::ScriptedLane;

namespace {
constexpr Tag a{1}, b{2};

struct Bench {
  ScriptedHost host;
  std::unique_ptr<PathBlock> block = std::make_unique<PathBlock>();
  std::unique_ptr<PathBlock> peer = std::make_unique<PathBlock>();
  Path<ScriptedLane> path;
  ReceiveQueue queue;
  Epoch epoch = 1;
  KeyTable keys{};

  explicit Bench(std::size_t lanes = 1, std::uint8_t qps = 1, Step first = 0,
                 std::uint16_t depth = 256)
      : queue{first} {
    std::vector<PortId> ports;
    for (std::size_t l = 0; l < lanes; ++l) ports.push_back(PortId{static_cast<std::uint16_t>(l)});
    LaneConfig config;
    config.qps = qps;
    config.send_depth = depth;
    path.open(host, ports, config, *block, true);
    path.set_remote(reinterpret_cast<std::uint64_t>(peer.get()), {500, 501, 502, 503});
    host.copies = true;  // CTS stand where the peer reads them.
    for (PathId p = 0; p < max_paths; ++p) {
      for (std::uint32_t l = 0; l < max_lanes; ++l)
        keys[p][l] = {.local = 10u * p + l + 1, .remote = 900 + 10u * p + l};
    }
  }

  RecvOp op(std::uint64_t bytes, Tag tag = a, MemoryKind kind = MemoryKind::host) const {
    return {{0x100'0000, bytes, &keys, kind}, tag};
  }
  RecvOp device(std::uint64_t bytes, Tag tag = a) const {
    return op(bytes, tag, MemoryKind::device);
  }
  Request add(std::vector<RecvOp> const& ops) { return queue.add(ops); }
  /// Posts a step and announces it.
  Request announced(std::vector<RecvOp> const& ops) {
    Request const r = queue.add(ops);
    CHECK(queue.announce(path, epoch) == Errc::ok);
    return r;
  }
  Errc announce() { return queue.announce(path, epoch); }
  /// The CTS that the peer sees for a step; count 0: none.
  CtsElement cts(Step s, std::size_t r = 0) const {
    CtsElement e;
    bool const there = read_cts(peer->cts[s % window].elements[r], s, r, epoch, e);
    return there ? e : CtsElement{};
  }

  Errc notify(Step s, std::uint8_t part = 0, bool exact = true) {
    return notify_in(epoch, s, part, exact);
  }
  Errc notify_in(Epoch e, Step s, std::uint8_t part = 0, bool exact = true) {
    Errc const result = queue.on_notify(
        path, epoch,
        pack(Notify{static_cast<std::uint8_t>(e), static_cast<std::uint16_t>(s), part, exact}));
    return result;
  }
  Errc pump() { return queue.pump_flushes(path); }
  /// What the sender says of the sizes of a step.
  void sizes(Step s, std::vector<std::uint64_t> const& n, std::uint8_t parts = 1,
             std::uint8_t too_long = 0) {
    for (std::size_t i = 0; i < size_elements(n.size()); ++i) {
      SizeElement e;
      e.step = s;
      e.epoch = epoch;
      e.parts = parts;
      e.count = static_cast<std::uint8_t>(n.size());
      e.too_long = too_long;
      for (std::size_t k = 0; k < 5 && i * 5 + k < n.size(); ++k) e.sizes[k] = n[i * 5 + k];
      e.check = check_of(e);
      store_record(&block->sizes[s % window].elements[i], e);
    }
  }
  void flushed(std::size_t n) { queue.on_flushed(unpack_work(host.flush_reads.at(n).id).step); }
  bool done(Request r) { return queue.knows(r) && queue.is_done(r); }
  /// A result that is not there has error would_block.
  Result take(Request r) {
    if (!done(r)) return {.error = Errc::would_block};
    return queue.take(r);
  }
};
}  // namespace

// ---- Posting

TEST_CASE("a step has one to eight receives, with registered memory where there are bytes") {
  Bench at;
  CHECK(at.add({}).why == Errc::invalid_argument);
  CHECK(at.add(std::vector<RecvOp>(9, at.op(8))).why == Errc::invalid_argument);
  CHECK(at.add({at.op(8), {{0x1000, 8, nullptr, MemoryKind::host}, b}}).why ==
        Errc::invalid_argument);
  CHECK(at.queue.posted() == 0);
  CHECK(at.add(std::vector<RecvOp>(8, at.op(8))));
  CHECK(at.add({RecvOp{}}));  // No bytes.
  CHECK(at.queue.posted() == 2);
}

TEST_CASE("a window of steps may be posted; the next is taken when the oldest was reported") {
  Bench at;
  std::vector<Request> all;
  for (std::size_t i = 0; i < window; ++i) all.push_back(at.announced({at.op(8)}));
  for (Request r : all) CHECK(r);
  CHECK_FALSE(at.add({at.op(8)}));
  CHECK(at.add({at.op(8)}).why == Errc::would_block);
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.notify(1) == Errc::ok);
  CHECK_FALSE(at.add({at.op(8)}));  // Done, but not reported.
  CHECK(at.take(all[1]).done);
  CHECK_FALSE(at.add({at.op(8)}));  // Not the oldest.
  CHECK(at.take(all[0]).done);
  Request const again = at.add({at.op(8)});
  REQUIRE(again);
  CHECK(again.slot == all[0].slot);
  CHECK_FALSE(at.queue.knows(all[0]));
  CHECK(at.queue.knows(again));
  CHECK_FALSE(at.queue.knows(Request{9999, 1, Errc::ok}));
}

// ---- CTS

TEST_CASE("a CTS tells each receive of a step, where the peer reads it") {
  Bench at{2};
  at.path.set_id(1);
  Request const r = at.announced({at.op(100, a), at.op(200, b)});
  CHECK(r);
  REQUIRE(at.host.posts.size() == 1);
  CHECK(at.host.posts[0].wr.traffic == Traffic::cts);
  CHECK(at.host.posts[0].wr.length == 2 * sizeof(CtsElement));
  CtsElement const x = at.cts(0, 0), y = at.cts(0, 1);
  CHECK(x.count == 2);
  CHECK(x.address == 0x100'0000);
  CHECK(x.length == 100);
  CHECK(x.tag == a);
  CHECK(x.keys[0] == 910);
  CHECK(x.keys[1] == 911);
  CHECK(x.confirmed == 0);
  CHECK(x.needs_confirm == 0);
  CHECK(y.index == 1);
  CHECK(y.length == 200);
  CHECK(y.tag == b);
}

TEST_CASE("a CTS goes over the queue of its step, and into its place in the ring") {
  Bench at{2, 2, window + 3};
  CHECK(at.announced({at.op(8)}));
  REQUIRE(at.host.posts.size() == 1);
  CHECK(at.host.posts[0].lane == 1);
  CHECK(at.host.posts[0].wr.qp == 1);
  CHECK(at.host.posts[0].wr.remote == reinterpret_cast<std::uint64_t>(&at.peer->cts[3]));
  CHECK(at.cts(window + 3).count == 1);
}

TEST_CASE("a step with device memory in it needs a confirmation") {
  Bench at;
  CHECK(at.announced({at.op(8), at.device(8)}));
  CHECK(at.cts(0, 0).needs_confirm == 1);
  CHECK(at.cts(0, 1).needs_confirm == 1);
  CHECK(at.announced({at.device(0)}));  // Nothing to flush.
  CHECK(at.cts(1).needs_confirm == 0);
  CHECK(at.announced({at.op(8)}));
  CHECK(at.cts(2).needs_confirm == 0);
}

TEST_CASE("a CTS confirms what has been received by then") {
  Bench at;
  CHECK(at.announced({at.op(8)}));
  CHECK(at.announced({at.op(8)}));
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.announced({at.op(8)}));
  CHECK(at.cts(1).confirmed == 0);
  CHECK(at.cts(2).confirmed == 1);
}

TEST_CASE("a step is announced once, and steps that find no room later, in order") {
  Bench at{1, 1, 0, 40};
  for (int i = 0; i < 40; ++i) CHECK(at.add({at.op(8)}));
  CHECK(at.announce() == Errc::ok);
  CHECK(at.queue.announced() == 32);
  CHECK(at.queue.may_announce());
  for (std::size_t i = 0; i < 32; ++i) {
    if (at.host.posts[i].wr.signaled) complete(at.host, i);
  }
  at.path.poll([](Arrival const&) {});
  CHECK(at.announce() == Errc::ok);
  CHECK(at.queue.announced() == 40);
  CHECK_FALSE(at.queue.may_announce());
  CHECK(at.announce() == Errc::ok);
  REQUIRE(at.host.posts.size() == 40);
  for (Step s = 0; s < 40; ++s) CHECK(at.cts(s).count == 1);
}

TEST_CASE("a CTS that a lane does not take now is written later") {
  Bench at;
  at.host.posts_left = 0;
  CHECK(at.announced({at.op(8)}));
  CHECK(at.queue.announced() == 0);
  CHECK(at.cts(0).count == 0);
  at.host.posts_left = ScriptedHost::never;
  CHECK(at.announce() == Errc::ok);
  CHECK(at.cts(0).count == 1);
}

TEST_CASE("a CTS that a lane refuses for good is told") {
  Bench at;
  CHECK(at.add({at.op(8)}));
  at.host.posts_left = 0;
  at.host.refusal = Errc::path_down;
  CHECK(at.announce() == Errc::path_down);
  CHECK(at.queue.announced() == 0);
}

// ---- Notifies

TEST_CASE("a notify that says exact hands over what was posted") {
  Bench at;
  Request const r = at.announced({at.op(100, a), at.op(7, b)});
  CHECK(at.queue.waits());
  CHECK_FALSE(at.done(r));
  CHECK(at.notify(0) == Errc::ok);
  CHECK_FALSE(at.queue.waits());
  CHECK(at.queue.received() == 1);
  Result const got = at.take(r);
  CHECK(got.error == Errc::ok);
  CHECK(got.receives == 2);
  CHECK(got.sizes[0] == 100);
  CHECK(got.sizes[1] == 7);
}

TEST_CASE("a notify that does not say so hands over what the size record says") {
  Bench at;
  Request const r = at.announced({at.op(100, a), at.op(100, b)});
  at.sizes(0, {60, 0});
  CHECK(at.notify(0, 0, false) == Errc::ok);
  Result const got = at.take(r);
  CHECK(got.error == Errc::ok);
  CHECK(got.sizes[0] == 60);
  CHECK(got.sizes[1] == 0);
}

TEST_CASE("a size record of eight receives has two elements") {
  Bench at;
  Request const r = at.announced(std::vector<RecvOp>(8, at.op(100)));
  at.sizes(0, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(at.notify(0, 0, false) == Errc::ok);
  Result const got = at.take(r);
  for (std::size_t i = 0; i < 8; ++i) CHECK(got.sizes[i] == i + 1);
}

TEST_CASE("a step whose send was too long ends with that, and with the sizes that were sent") {
  Bench at;
  Request const r = at.announced({at.op(100, a), at.op(100, b)});
  at.sizes(0, {100, 500}, 1, 0b10);
  CHECK(at.notify(0, 0, false) == Errc::ok);
  Result const got = at.take(r);
  CHECK(got.error == Errc::message_too_long);
  CHECK(got.sizes[0] == 100);
  CHECK(got.sizes[1] == 500);
  Request const next = at.announced({at.op(100)});
  CHECK(at.notify(1) == Errc::ok);
  CHECK(at.take(next).error == Errc::ok);
}

TEST_CASE("a size record that is not whole, or of another step, epoch or count, is impossible") {
  for (int fault = 0; fault < 7; ++fault) {
    CAPTURE(fault);
    Bench at{2};
    CHECK(at.announced(std::vector<RecvOp>(6, at.op(100))));
    at.sizes(0, {1, 2, 3, 4, 5, 6});
    SizeElement e = load_record<SizeElement>(&at.block->sizes[0].elements[0]);
    std::size_t at_element = 0;
    switch (fault) {
      case 0:
        e.step = window;
        break;
      case 1:
        e.epoch = 0;
        break;
      case 2:
        e.count = 5;
        break;
      case 3:
        e.parts = 0;
        break;
      case 4:
        e.parts = 3;  // There are two queues.
        break;
      case 5:
        e.parts = 255;
        break;
      default:
        at_element = 1;
        e = {};
    }
    e.check = fault == 6 ? 0 : check_of(e);
    store_record(&at.block->sizes[0].elements[at_element], e);
    CHECK(at.notify(0, 0, false) == Errc::failed);
  }
}

TEST_CASE("the parts of a step may come in any order") {
  std::array<std::uint8_t, 4> order{0, 1, 2, 3};
  do {
    Bench at{2, 2};
    Request const r = at.announced({at.op(4 * min_part)});
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK_FALSE(at.done(r));
      CHECK(at.notify(0, order[i]) == Errc::ok);
    }
    CHECK(at.done(r));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("so may those of a step with a size record, which comes with the first part") {
  std::array<std::uint8_t, 3> order{0, 1, 2};
  do {
    Bench at{3};
    Request const r = at.announced({at.op(4 * min_part)});
    for (std::size_t i = 0; i < 3; ++i) {
      if (order[i] == 0) at.sizes(0, {3 * min_part}, 3);
      CHECK_FALSE(at.done(r));
      CHECK(at.notify(0, order[i], false) == Errc::ok);
    }
    CHECK(at.take(r).sizes[0] == 3 * min_part);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a notify that cannot be is told, and changes nothing") {
  Bench at{4};
  Request const r0 = at.announced({at.op(2 * min_part)});
  Request const r1 = at.announced({at.op(8)});
  CHECK(at.add({at.op(8)}));  // Posted, not announced.
  CHECK(at.notify(0, 1) == Errc::ok);
  SUBCASE("of the epoch before") { CHECK(at.notify_in(0, 0, 0) == Errc::failed); }
  SUBCASE("of the next epoch") { CHECK(at.notify_in(2, 0, 0) == Errc::failed); }
  SUBCASE("of an epoch 128 away") { CHECK(at.notify_in(129, 0, 0) == Errc::failed); }
  SUBCASE("twice the same part") { CHECK(at.notify(0, 1) == Errc::failed); }
  SUBCASE("of a step that is not announced") { CHECK(at.notify(2) == Errc::failed); }
  SUBCASE("of a step far ahead") { CHECK(at.notify(0x8000) == Errc::failed); }
  SUBCASE("of a step before the first") { CHECK(at.notify(~Step{0}) == Errc::failed); }
  SUBCASE("of a part beyond the queues") { CHECK(at.notify(0, 4) == Errc::failed); }
  CHECK(at.queue.received() == 0);
  CHECK(at.notify(0, 0) == Errc::ok);
  CHECK(at.notify(1) == Errc::ok);
  CHECK(at.take(r0).error == Errc::ok);
  CHECK(at.take(r1).error == Errc::ok);
}

TEST_CASE("a notify of a step that was received is told") {
  Bench at;
  CHECK(at.announced({at.op(8)}));
  CHECK(at.announced({at.op(8)}));
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.notify(0) == Errc::failed);
}

TEST_CASE("a notify of a step that arrived and is not in turn yet is told") {
  Bench at;
  CHECK(at.announced({at.op(8)}));
  CHECK(at.announced({at.op(8)}));
  CHECK(at.notify(1) == Errc::ok);
  CHECK(at.notify(1) == Errc::failed);
}

TEST_CASE("a part that its step does not have is told, whichever comes first") {
  Bench at{4};
  CHECK(at.announced({at.op(8)}));
  SUBCASE("exact") { CHECK(at.notify(0, 3) == Errc::failed); }
  SUBCASE("with a size record before") {
    CHECK(at.announced({at.op(4 * min_part)}));
    at.sizes(1, {2 * min_part}, 2);
    CHECK(at.notify(1, 0, false) == Errc::ok);
    CHECK(at.notify(1, 3, false) == Errc::failed);
  }
  SUBCASE("with a size record after") {
    CHECK(at.announced({at.op(4 * min_part)}));
    at.sizes(1, {2 * min_part}, 2);
    CHECK(at.notify(1, 3, false) == Errc::ok);
    CHECK(at.notify(1, 0, false) == Errc::failed);
  }
}

TEST_CASE("steps that arrive out of order are handed over in order") {
  Bench at{4};
  std::vector<Request> all;
  for (int i = 0; i < 4; ++i) all.push_back(at.announced({at.op(8)}));
  CHECK(at.notify(3) == Errc::ok);
  CHECK(at.notify(1) == Errc::ok);
  for (Request r : all) CHECK_FALSE(at.done(r));
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.queue.received() == 2);
  CHECK(at.done(all[1]));
  CHECK_FALSE(at.done(all[3]));
  CHECK(at.notify(2) == Errc::ok);
  CHECK(at.queue.received() == 4);
  for (Request r : all) CHECK(at.done(r));
}

// ---- Flushes

TEST_CASE("a step with device memory is handed over when it has been flushed") {
  Bench at;
  Request const r = at.announced({at.op(8, a), at.device(16, b)});
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.queue.may_announce());
  CHECK(at.pump() == Errc::ok);
  CHECK_FALSE(at.queue.may_announce());
  CHECK_FALSE(at.done(r));
  CHECK(at.queue.received() == 0);
  REQUIRE(at.host.flush_reads.size() == 1);  // Of the device's part only.
  CHECK(at.host.flush_reads[0].memory.length == 16);
  CHECK(at.host.flush_reads[0].keys.local == 1);
  at.flushed(0);
  CHECK(at.queue.received() == 1);
  CHECK(at.queue.flush_reads() == 1);
  CHECK(at.take(r).sizes[1] == 16);
}

TEST_CASE("a flush goes through every lane that carried data of the step, and no other") {
  Bench at{3, 1, 1};
  at.path.set_id(2);
  Request const r = at.announced({at.device(2 * min_part)});  // Parts on lanes 1 and 2.
  CHECK(at.notify(1, 0) == Errc::ok);
  CHECK(at.notify(1, 1) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.host.flush_reads.size() == 2);
  CHECK(at.host.flush_reads[0].lane == 1);
  CHECK(at.host.flush_reads[1].lane == 2);
  CHECK(at.host.flush_reads[0].keys.local == 22);
  CHECK(at.host.flush_reads[1].keys.local == 23);
  at.flushed(0);
  CHECK_FALSE(at.done(r));
  at.flushed(1);
  CHECK(at.done(r));
}

TEST_CASE("what nothing was written to is not flushed") {
  Bench at;
  Request const r = at.announced({at.device(100, a), at.device(0, b), at.device(100, a)});
  at.sizes(0, {0, 0, 50});
  CHECK(at.notify(0, 0, false) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.host.flush_reads.size() == 1);
  at.flushed(0);
  CHECK(at.take(r).sizes[2] == 50);
}

TEST_CASE("a step of device memory that got nothing is handed over without a flush") {
  Bench at;
  Request const r = at.announced({at.device(100)});
  at.sizes(0, {0});
  CHECK(at.notify(0, 0, false) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.host.flush_reads.empty());
  CHECK(at.done(r));
}

TEST_CASE("a receive whose send was too long is not flushed: it may have no memory at all") {
  Bench at;
  RecvOp const none{{0, 0, nullptr, MemoryKind::device}, b};
  Request const r = at.announced({at.device(100, a), none});
  at.sizes(0, {100, 8}, 1, 0b10);
  CHECK(at.notify(0, 0, false) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.host.flush_reads.size() == 1);
  at.flushed(0);
  CHECK(at.take(r).error == Errc::message_too_long);
}

TEST_CASE("flush reads that find no room go on where they stopped") {
  std::vector<RecvOp> ops;
  for (std::size_t left = 0; left <= 6; ++left) {
    CAPTURE(left);
    Bench at{2};
    ops.assign(3, at.device(min_part));
    Request const r = at.announced(ops);
    at.host.flush_reads_left = static_cast<int>(left);
    CHECK(at.notify(0, 0) == Errc::ok);
    CHECK(at.notify(0, 1) == Errc::ok);
    CHECK(at.pump() == Errc::ok);
    CHECK(at.host.flush_reads.size() == left);
    CHECK(at.queue.may_announce() == (left < 6));
    for (std::size_t i = 0; i < left; ++i) at.flushed(i);  // Some are back before the rest is out.
    CHECK(at.done(r) == (left == 6));
    at.host.flush_reads_left = ScriptedHost::never;
    CHECK(at.pump() == Errc::ok);
    REQUIRE(at.host.flush_reads.size() == 6);
    for (std::size_t i = left; i < 6; ++i) at.flushed(i);
    CHECK(at.done(r));
    CHECK_FALSE(at.queue.may_announce());
    CHECK(at.queue.flush_reads() == 6);
  }
}

TEST_CASE("several steps may be flushed at once, and are handed over in order") {
  Bench at;
  Request const r0 = at.announced({at.device(8)});
  Request const r1 = at.announced({at.device(8)});
  Request const r2 = at.announced({at.op(8)});
  for (Step s : {0u, 1u, 2u}) CHECK(at.notify(s) == Errc::ok);
  at.host.flush_reads_left = 1;
  CHECK(at.pump() == Errc::ok);
  at.host.flush_reads_left = ScriptedHost::never;
  CHECK(at.pump() == Errc::ok);
  REQUIRE(at.host.flush_reads.size() == 2);
  at.flushed(1);
  CHECK_FALSE(at.done(r1));
  at.flushed(0);
  CHECK(at.done(r0));
  CHECK(at.done(r1));
  CHECK(at.done(r2));
}

TEST_CASE("a flush that was done while another step waits for room still counts") {
  Bench at;
  Request const r0 = at.announced({at.device(8)});
  Request const r1 = at.announced({at.device(8)});
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.notify(1) == Errc::ok);  // Wants a flush read that is not out yet.
  at.flushed(0);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.done(r0));
  at.flushed(1);
  CHECK(at.done(r1));
}

TEST_CASE("a step whose flush is done does not wait for another's room") {
  Bench at;
  Request const first = at.announced({at.device(8)});
  Request const second = at.announced({at.device(8)});
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.notify(1) == Errc::ok);
  at.host.flush_reads_left = 1;
  at.host.refusal = Errc::would_block;
  CHECK(at.pump() == Errc::ok);
  at.flushed(0);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.done(first));
  CHECK(!at.done(second));
}

TEST_CASE("a flush read that is refused for good is told") {
  Bench at;
  CHECK(at.announced({at.device(8)}));
  CHECK(at.notify(0) == Errc::ok);
  at.host.flush_reads_left = 0;
  at.host.refusal = Errc::path_down;
  CHECK(at.pump() == Errc::path_down);
  CHECK(at.queue.received() == 0);
}

TEST_CASE("a flush of a step that is not being flushed says nothing") {
  Bench at;
  Request const r = at.announced({at.op(8)});
  at.queue.on_flushed(0);
  at.queue.on_flushed(5);
  CHECK_FALSE(at.done(r));
  CHECK(at.queue.flush_reads() == 0);
}

// ---- Confirmation

TEST_CASE("a confirmation is due, once, when flushed steps were received after the last CTS") {
  Bench at{1, 1, 1000};
  CHECK_FALSE(at.queue.confirm_due(false));
  CHECK_FALSE(at.queue.confirm_due(true));
  CHECK(at.announced({at.device(8)}));
  CHECK_FALSE(at.queue.confirm_due(false));
  CHECK(at.notify(1000) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  CHECK_FALSE(at.queue.confirm_due(false));
  at.flushed(0);
  SUBCASE("no CTS carried it") {
    CHECK(at.queue.confirm_due(false));
    CHECK_FALSE(at.queue.confirm_due(false));
  }
  SUBCASE("a CTS carried it") {
    CHECK(at.announced({at.op(8)}));
    CHECK_FALSE(at.queue.confirm_due(false));
  }
}

TEST_CASE("of steps that needed no flush one is due only to a sender that waits for all") {
  Bench at{1, 1, 1000};
  CHECK(at.announced({at.op(8)}));
  CHECK(at.announced({at.op(8)}));
  CHECK(at.notify(1000) == Errc::ok);
  CHECK_FALSE(at.queue.confirm_due(false));
  CHECK(at.notify(1001) == Errc::ok);
  CHECK(at.queue.confirm_due(true));
  CHECK_FALSE(at.queue.confirm_due(true));
}

// ---- Rewind

TEST_CASE("after a rewind what was not received is announced and received again") {
  Bench at{2};
  std::vector<Request> all;
  for (int i = 0; i < 4; ++i) all.push_back(at.announced({at.op(2 * min_part)}));
  for (std::uint8_t part = 0; part < 2; ++part) CHECK(at.notify(0, part) == Errc::ok);
  CHECK(at.notify(1, 0) == Errc::ok);  // Half of it.
  for (std::uint8_t part = 0; part < 2; ++part)
    CHECK(at.notify(2, part) == Errc::ok);  // Not in turn.
  at.queue.rewind();
  CHECK(at.queue.received() == 1);
  CHECK(at.queue.announced() == 1);
  CHECK(at.queue.may_announce());
  at.path.set_id(1);
  at.epoch = 2;
  CHECK(at.announce() == Errc::ok);
  CHECK(at.cts(0).count == 0);
  for (Step s = 1; s < 4; ++s) {
    CHECK(at.cts(s).count == 1);
    CHECK(at.cts(s).keys[0] == 910);
    CHECK(at.cts(s).confirmed == 1);
  }
  CHECK(at.notify_in(1, 1, 1) == Errc::failed);  // Late, of the old epoch.
  for (Step s = 1; s < 4; ++s) {
    CHECK_FALSE(at.done(all[s]));
    for (std::uint8_t part = 0; part < 2; ++part) CHECK(at.notify(s, part) == Errc::ok);
    CHECK(at.done(all[s]));
  }
}

TEST_CASE("a notify between a rewind and the new CTS is impossible") {
  Bench at;
  CHECK(at.announced({at.op(8)}));
  at.queue.rewind();
  at.epoch = 2;
  CHECK(at.notify(0) == Errc::failed);
}

TEST_CASE("a rewind in the middle of flushing starts the step over") {
  Bench at;
  Request const r = at.announced({at.device(8), at.device(8)});
  at.host.flush_reads_left = 1;
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  at.queue.rewind();
  at.host.flush_reads_left = ScriptedHost::never;
  CHECK(at.pump() == Errc::ok);
  CHECK(at.host.flush_reads.size() == 1);  // Nothing to flush any more.
  at.flushed(0);
  CHECK_FALSE(at.done(r));
  at.epoch = 2;
  CHECK(at.announce() == Errc::ok);
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  CHECK(at.host.flush_reads.size() == 3);
  at.flushed(1);
  CHECK_FALSE(at.done(r));
  at.flushed(2);
  CHECK(at.done(r));
}

TEST_CASE("a step that was short the first time may be exact the second, and the other way round") {
  Bench at;
  Request const r0 = at.announced({at.op(100)});
  Request const r1 = at.announced({at.op(100)});
  at.sizes(1, {5}, 1, 1);
  CHECK(at.notify(1, 0, false) == Errc::ok);
  at.queue.rewind();
  at.epoch = 2;
  CHECK(at.announce() == Errc::ok);
  at.sizes(0, {7});
  CHECK(at.notify(0, 0, false) == Errc::ok);
  CHECK(at.notify(1) == Errc::ok);
  CHECK(at.take(r0).sizes[0] == 7);
  Result const got = at.take(r1);
  CHECK(got.error == Errc::ok);
  CHECK(got.sizes[0] == 100);
}

TEST_CASE("steps that were posted and not announced stay so over a rewind") {
  Bench at;
  Request const r = at.add({at.op(8)});
  at.queue.rewind();
  CHECK(at.announce() == Errc::ok);
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.done(r));
}

// ---- Finish

TEST_CASE("at the end what was received stays so, and the rest has the error and no size") {
  Bench at;
  Request const r0 = at.announced({at.op(8)});
  Request const r1 = at.announced({at.op(8)});
  Request const r2 = at.announced({at.op(8)});
  Request const r3 = at.add({at.op(8)});
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.notify(2) == Errc::ok);  // Not in turn: not received.
  at.queue.finish(Errc::peer_closed);
  Result const first = at.take(r0);
  CHECK(first.error == Errc::ok);
  CHECK(first.sizes[0] == 8);
  for (Request r : {r1, r2, r3}) {
    Result const got = at.take(r);
    CHECK(got.error == Errc::peer_closed);
    CHECK(got.receives == 1);
    CHECK(got.sizes[0] == 0);
  }
  CHECK_FALSE(at.queue.may_announce());
  CHECK(at.announce() == Errc::ok);
  CHECK(at.host.posts.size() == 3);
}

TEST_CASE("a flush that is done after the end changes nothing") {
  Bench at;
  Request const r = at.announced({at.device(8)});
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.pump() == Errc::ok);
  at.queue.finish(Errc::aborted);
  at.flushed(0);
  CHECK(at.take(r).error == Errc::aborted);
  CHECK(at.queue.received() == 0);
}

TEST_CASE("a notify that comes after the end is of no step, and revives none") {
  Bench at;
  Request const r0 = at.announced({at.op(8)});
  Request const r1 = at.announced({at.op(8)});
  at.queue.finish(Errc::aborted);
  CHECK(at.notify(1) == Errc::failed);
  CHECK(at.done(r1));
  CHECK(at.notify(0) == Errc::failed);
  CHECK(at.queue.received() == 0);
  CHECK_FALSE(at.queue.waits());
  CHECK(at.take(r0).error == Errc::aborted);
  CHECK(at.take(r1).error == Errc::aborted);
}

// ---- Numbers that wrap

TEST_CASE("steps go on over the wraps of 16, 32 and 64 bits, also through flushes and rewinds") {
  for (Step wrap : {Step{1} << 16, Step{1} << 32, Step{0}}) {
    CAPTURE(wrap);
    Step const first = wrap - 5;
    Bench at{2, 1, first};
    for (Step n = 0; n < 150; n += 3) {
      Step const s = first + n;
      Request const r0 = at.announced({at.op(8)});
      Request const r1 = at.announced({at.device(8)});
      Request const r2 = at.announced({at.op(8)});
      CHECK(at.cts(s + 2).count == 1);
      CHECK(at.notify(s + 2) == Errc::ok);
      CHECK(at.notify(s) == Errc::ok);
      if (n % 2 == 0) {
        at.queue.rewind();
        ++at.epoch;
        CHECK(at.announce() == Errc::ok);
        CHECK(at.notify(s + 2) == Errc::ok);
      }
      CHECK(at.notify(s + 1) == Errc::ok);
      CHECK(at.pump() == Errc::ok);
      CHECK_FALSE(at.done(r1));
      at.flushed(at.host.flush_reads.size() - 1);
      CHECK(at.queue.received() == s + 3);
      CHECK(at.queue.confirm_due(false));
      CHECK(at.notify(s + 2) == Errc::failed);
      for (Request r : {r0, r1, r2}) CHECK(at.take(r).error == Errc::ok);
    }
  }
}

TEST_CASE("the end counts over the wrap as well") {
  Bench at{1, 1, ~Step{0} - 1};
  std::vector<Request> all;
  for (int i = 0; i < 4; ++i) all.push_back(at.announced({at.op(8)}));
  CHECK(at.notify(~Step{0} - 1) == Errc::ok);
  at.queue.finish(Errc::aborted);
  CHECK(at.take(all[0]).error == Errc::ok);
  for (std::size_t i = 1; i < 4; ++i) CHECK(at.take(all[i]).error == Errc::aborted);
}

TEST_CASE("the eighth bits of the epoch wrap") {
  Bench at;
  at.epoch = 256;
  Request const r = at.announced({at.op(8)});
  CHECK(at.notify_in(255, 0) == Errc::failed);
  CHECK(at.notify(0) == Errc::ok);
  CHECK(at.done(r));
}
