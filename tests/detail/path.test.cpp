// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/path.hpp>

#include <detail/scripted_lane.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace vccl;
using namespace vccl::detail;
using test::ScriptedHost;
using test::ScriptedLane;

namespace {
constexpr std::uint16_t depth = 40;  // 32 for data, 8 in reserve.

/// A path over scripted lanes, and the block of a peer that writes may go to.
struct Bench {
  ScriptedHost host;
  std::unique_ptr<PathBlock> block = std::make_unique<PathBlock>();
  std::unique_ptr<PathBlock> peer = std::make_unique<PathBlock>();
  Path<ScriptedLane> path;
  std::vector<Arrival> arrivals;

  explicit Bench(std::size_t lanes = 1, std::uint8_t qps = 1, bool receives = false) {
    std::vector<PortId> ports;
    for (std::size_t l = 0; l < lanes; ++l) ports.push_back(PortId{static_cast<std::uint16_t>(l)});
    LaneConfig c;
    c.qps = qps;
    c.send_depth = depth;
    path.open(host, ports, c, *block, receives);
    path.set_remote(reinterpret_cast<std::uint64_t>(peer.get()), {500, 501, 502, 503});
  }
  Errc post(std::size_t i, bool signaled, Work work = Work::data, Step step = 0) {
    queue(i).data.signaled = signaled;
    return path.post(queue(i), queue(i).data, work, step);
  }
  Path<ScriptedLane>::Queue& queue(std::size_t i) { return path.queue_of(i); }
  bool has_room(std::size_t i, std::uint16_t n) { return path.has_room(queue(i), n); }
  void poll() {
    path.poll([this](Arrival const& a) { arrivals.push_back(a); });
  }
  WorkRequest const& last() const { return host.posts.back().wr; }
};
}  // namespace

TEST_CASE("a path opens a lane per port, as configured, and registers its block on each") {
  Bench b{2, 3};
  REQUIRE(b.host.lanes.size() == 2);
  CHECK(b.host.lanes[0]->config.port == PortId{0});
  CHECK(b.host.lanes[1]->config.port == PortId{1});
  CHECK(b.host.lanes[1]->config.qps == 3);
  CHECK(b.host.registered == 2);
  CHECK(b.path.lane_count() == 2);
  CHECK(b.path.queue_count() == 6);
  CHECK(b.path.port(1) == PortId{1});
  CHECK(b.path.block_keys(1).remote == 201);
}

TEST_CASE("when a lane cannot be opened nothing is left") {
  ScriptedHost host;
  host.bad_port = 1;
  auto block = std::make_unique<PathBlock>();
  {
    Path<ScriptedLane> path;
    std::array const ports{PortId{0}, PortId{1}};
    CHECK_THROWS_AS(path.open(host, ports, {}, *block, false), SetupError);
  }
  CHECK(host.registered == 0);
}

TEST_CASE("queues go round the lanes first, so that neighbouring steps take different ports") {
  Bench b{2, 2};
  std::vector<std::pair<std::size_t, int>> went;
  for (Step s = 0; s < 5; ++s) {
    auto& queue = b.path.queue_of(s);
    CHECK(b.path.post(queue, queue.data, Work::data, s) == Errc::ok);
    went.emplace_back(b.host.posts.back().lane, b.last().qp);
    CHECK(unpack_work(b.last().id).queue == s % b.path.queue_count());
  }
  using Pairs = std::vector<std::pair<std::size_t, int>>;
  CHECK(went == Pairs{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 0}});
}

TEST_CASE("the shortest lane says how long a message may be") {
  Bench b{2};
  b.host.lanes[1]->longest = 4096;
  CHECK(b.path.max_message() == 4096);
}

TEST_CASE("a send queue has room up to its depth less the reserve") {
  Bench b;
  for (int i = 0; i < depth - 8; ++i) {
    CHECK(b.has_room(0, 1));
    CHECK(b.post(0, false) == Errc::ok);
  }
  CHECK(b.has_room(0, 0));
  CHECK_FALSE(b.has_room(0, 1));
  SUBCASE("asking for several needs room for all of them") { CHECK_FALSE(b.has_room(0, 2)); }
  SUBCASE("a probe still goes out") {
    CHECK(b.path.post_control(0, probe_bytes, Work::probe, true) == Errc::ok);
  }
}

TEST_CASE("each queue has room of its own") {
  Bench b{2, 2};
  for (int i = 0; i < depth - 8; ++i) CHECK(b.post(3, true) == Errc::ok);
  CHECK_FALSE(b.has_room(3, 1));
  for (std::size_t q : {0u, 1u, 2u}) CHECK(b.has_room(q, depth - 8));
}

TEST_CASE("a completion retires all that was posted on its queue before") {
  Bench b;
  for (int i = 0; i < depth - 8; ++i) CHECK(b.post(0, i == 9) == Errc::ok);
  complete(b.host, 9);
  b.poll();
  CHECK(b.has_room(0, 10));
  CHECK_FALSE(b.has_room(0, 11));
}

TEST_CASE("a poll takes a batch of every lane, and leaves the rest for the next") {
  Bench b{2};
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(b.post(0, true) == Errc::ok);
    complete(b.host, i);
  }
  CHECK(b.post(1, true) == Errc::ok);
  complete(b.host, 20);
  b.poll();
  CHECK(b.arrivals.size() == 17);
  CHECK(b.arrivals.back().id.queue == 1);
  b.poll();
  CHECK(b.arrivals.size() == 21);
  b.poll();
  CHECK(b.arrivals.size() == 21);
}

TEST_CASE("a failed completion retires as well") {
  Bench b;
  for (int i = 0; i < depth - 8; ++i) CHECK(b.post(0, false) == Errc::ok);
  complete(b.host, 4, Status::flushed);
  b.poll();
  REQUIRE(b.arrivals.size() == 1);
  CHECK(b.arrivals[0].status == Status::flushed);
  CHECK(b.has_room(0, 5));
  CHECK_FALSE(b.has_room(0, 6));
}

TEST_CASE("the account goes on over the end of the 16-bit sequence") {
  Bench b;
  for (int round = 0; round < 70'000 / 20; ++round) {
    for (int i = 0; i < 20; ++i) REQUIRE(b.post(0, i == 19) == Errc::ok);
    complete(b.host, b.host.posts.size() - 1);
    b.poll();
    REQUIRE(b.has_room(0, depth - 8));
    REQUIRE(b.path.accounted_for());
    b.host.posts.clear();
  }
  CHECK(b.arrivals.size() == 3500);
}

TEST_CASE("what a lane refuses takes no room and leaves no gap") {
  Bench b;
  CHECK(b.post(0, true) == Errc::ok);
  b.host.posts_left = 0;
  CHECK(b.post(0, true) == Errc::would_block);
  b.host.refusal = Errc::path_down;
  CHECK(b.post(0, true) == Errc::path_down);
  b.host.posts_left = 1;
  CHECK(b.post(0, true) == Errc::ok);
  CHECK(unpack_work(b.host.posts[1].wr.id).sequence ==
        unpack_work(b.host.posts[0].wr.id).sequence + 1);
}

TEST_CASE("an arrival tells what was posted: the work, the step's low 32 bits, the queue") {
  Bench b{2};
  CHECK(b.post(1, true, Work::data, 0x1234'5678'9abc'def0) == Errc::ok);
  CHECK(b.post(0, true, Work::cts, 7) == Errc::ok);
  complete(b.host, 0);
  complete(b.host, 1);
  b.poll();
  REQUIRE(b.arrivals.size() == 2);
  CHECK(b.arrivals[0].id.work == Work::cts);  // Lanes are polled in order.
  CHECK(b.arrivals[0].id.step == 7);
  CHECK(b.arrivals[1].id.work == Work::data);
  CHECK(b.arrivals[1].id.step == 0x9abc'def0);
  CHECK(b.arrivals[1].id.queue == 1);
  CHECK(b.path.completions() == 2);
}

TEST_CASE("all is accounted for when what is signaled has completed") {
  Bench b;
  CHECK(b.path.accounted_for());
  CHECK(b.post(0, false) == Errc::ok);
  CHECK(b.path.accounted_for());  // Unsignaled records are nobody's loss.
  CHECK(b.post(0, true) == Errc::ok);
  CHECK_FALSE(b.path.accounted_for());
  CHECK(b.post(0, false) == Errc::ok);
  complete(b.host, 1);
  b.poll();
  CHECK(b.path.accounted_for());
  CHECK_FALSE(b.has_room(0, depth - 8));  // One is still in the queue.
}

TEST_CASE("a flushed unsignaled request before a signaled one does not hide it") {
  Bench b;
  CHECK(b.post(0, false) == Errc::ok);
  CHECK(b.post(0, true) == Errc::ok);
  CHECK(b.post(0, false) == Errc::ok);
  complete(b.host, 0, Status::flushed);
  b.poll();
  CHECK_FALSE(b.path.accounted_for());
  complete(b.host, 1, Status::flushed);
  complete(b.host, 2, Status::flushed);
  b.poll();
  CHECK(b.path.accounted_for());
}

TEST_CASE("a queue that only carries unsignaled records signs one every so often") {
  Bench b;
  int signaled = 0;
  for (int i = 0; i < 320; ++i) {
    bool const sign = b.path.sign_now(b.queue(0));
    CHECK(b.post(0, sign) == Errc::ok);
    if (!sign) continue;
    ++signaled;
    complete(b.host, b.host.posts.size() - 1);
    b.poll();
    CHECK(b.has_room(0, depth - 8));
  }
  CHECK(signaled >= 10);
  CHECK(signaled <= 40);
}

TEST_CASE("a queue that is half full signs at once") {
  Bench b;
  for (int i = 0; i < depth / 2 + 1; ++i) CHECK(b.post(0, false) == Errc::ok);
  CHECK(b.path.sign_now(b.queue(0)));
}

TEST_CASE("only the lanes that something was posted on are rung, once") {
  Bench b{3};
  CHECK(b.path.flush() == Errc::ok);
  CHECK(b.post(0, true) == Errc::ok);
  CHECK(b.post(2, true) == Errc::ok);
  CHECK(b.post(2, true) == Errc::ok);
  CHECK(b.path.flush() == Errc::ok);
  CHECK(b.path.flush() == Errc::ok);
  CHECK(b.host.lanes[0]->rings == 1);
  CHECK(b.host.lanes[1]->rings == 0);
  CHECK(b.host.lanes[2]->rings == 1);
}

TEST_CASE("a doorbell that fails is told, and the other lanes are rung all the same") {
  Bench b{3};
  for (std::size_t q = 0; q < 3; ++q) CHECK(b.post(q, true) == Errc::ok);
  b.host.lanes[0]->ringing = Errc::path_down;
  CHECK(b.path.flush() == Errc::path_down);
  CHECK(b.host.lanes[2]->rings == 1);
}

// ---- Records

TEST_CASE("a record's place at the peer follows from its place here") {
  Bench b;
  CHECK(b.path.mirror(b.block.get()) == reinterpret_cast<std::uint64_t>(b.peer.get()));
  CHECK(b.path.mirror(&b.block->sizes[5]) == reinterpret_cast<std::uint64_t>(&b.peer->sizes[5]));
  CHECK(b.path.mirror(&b.block->cts[window - 1].elements[7]) ==
        reinterpret_cast<std::uint64_t>(&b.peer->cts[window - 1].elements[7]));
}

TEST_CASE("a record is written to its place at the peer, with the lane's keys") {
  Bench b{2};
  CHECK(b.path.post_record(b.queue(1), &b.block->cts[3], 128, Work::cts, 3, false) == Errc::ok);
  WorkRequest const& w = b.last();
  CHECK(w.kind == WorkRequest::Kind::write);
  CHECK(w.local == reinterpret_cast<std::uint64_t>(&b.block->cts[3]));
  CHECK(w.remote == reinterpret_cast<std::uint64_t>(&b.peer->cts[3]));
  CHECK(w.length == 128);
  CHECK(w.keys.local == 101);
  CHECK(w.keys.remote == 501);
  CHECK_FALSE(w.signaled);
}

TEST_CASE("a record is inlined when it fits") {
  Bench b;
  CHECK(b.path.post_record(b.queue(0), &b.block->cts[0], 128, Work::cts, 0, false) == Errc::ok);
  CHECK(b.last().inlined);
  CHECK(b.path.post_record(b.queue(0), &b.block->cts[0], 192, Work::cts, 0, false) == Errc::ok);
  CHECK_FALSE(b.last().inlined);
}

TEST_CASE("the traffic of a record is told apart") {
  Bench b;
  auto const traffic = [&](Work work) {
    CHECK(b.path.post_record(b.queue(0), &b.block->cts[0], 64, work, 0, false) == Errc::ok);
    return b.last().traffic;
  };
  CHECK(traffic(Work::cts) == Traffic::cts);
  CHECK(traffic(Work::chunk) == Traffic::data);  // Sizes go with the data that they belong to.
  CHECK(traffic(Work::control) == Traffic::control);
  CHECK(traffic(Work::probe) == Traffic::control);
}

TEST_CASE("a control frame is read whole where the peer looks for it") {
  Bench b;
  b.host.copies = true;
  ControlFrame f;
  f.message.sequence = 9;
  f.message.position = 77;
  f.lanes = 2;
  f.addresses[1].qp_numbers[0] = 5;
  b.path.send_control(f);
  CHECK(b.host.lanes[0]->rings == 1);
  ControlFrame got;
  REQUIRE(read_control(*reinterpret_cast<ControlRecord*>(b.peer->control_in.data()), got));
  CHECK(got.message == f.message);
  CHECK(got.addresses[1] == f.addresses[1]);
}

TEST_CASE("a probe goes out on the lane that it is for") {
  Bench b{2, 2};
  CHECK(b.path.post_control(1, probe_bytes, Work::probe, true) == Errc::ok);
  CHECK(b.host.posts.back().lane == 1);
  CHECK(b.last().length == probe_bytes);
  CHECK(b.last().signaled);
}

TEST_CASE("a control frame that finds no room is dropped") {
  Bench b;
  b.host.posts_left = 0;
  b.path.send_control({});
  CHECK(b.host.posts.empty());
  CHECK(b.path.accounted_for());
}

TEST_CASE("a flush read goes through its lane, and comes back with its step") {
  Bench b{2};
  KeyTable keys{};
  Memory const m{4096, 8, &keys, MemoryKind::device};
  CHECK(b.path.post_flush_read(1, m, {7, 8}, 0x1'0000'0005) == Errc::ok);
  REQUIRE(b.host.flush_reads.size() == 1);
  CHECK(b.host.flush_reads[0].lane == 1);
  CHECK(b.host.flush_reads[0].memory.address == 4096);
  CHECK(b.host.flush_reads[0].keys.remote == 8);
  b.host.lanes[1]->finished.push_back({.id = b.host.flush_reads[0].id});
  b.poll();
  REQUIRE(b.arrivals.size() == 1);
  CHECK(b.arrivals[0].id.work == Work::flush);
  CHECK(b.arrivals[0].id.step == 5);
}

TEST_CASE("a flush read retires nothing of the send queue") {
  Bench b;
  CHECK(b.post(0, true) == Errc::ok);
  CHECK(b.path.post_flush_read(0, {}, {}, 1) == Errc::ok);
  b.host.lanes[0]->finished.push_back({.id = b.host.flush_reads[0].id});
  b.poll();
  CHECK_FALSE(b.path.accounted_for());
}

// ---- Receives

TEST_CASE("every queue gets a window of receives, and only where notifies arrive") {
  Bench sender;
  CHECK(sender.path.fill_receives() == Errc::ok);
  CHECK(sender.host.lanes[0]->receives[0].empty());

  Bench b{2, 2, true};
  CHECK(b.path.fill_receives() == Errc::ok);
  CHECK(b.path.fill_receives() == Errc::ok);  // Full: nothing is added.
  for (ScriptedLane* l : b.host.lanes) {
    for (std::size_t qp = 0; qp < 2; ++qp) CHECK(l->receives[qp].size() == window);
  }
  CHECK_FALSE(b.path.accounted_for());
}

TEST_CASE("a receive that a notify took is made good, and the notify is told") {
  Bench b{1, 2, true};
  CHECK(b.path.fill_receives() == Errc::ok);
  b.host.lanes[0]->notify(1, 0xabcd'ef01);
  b.poll();
  CHECK(b.host.lanes[0]->receives[1].size() == window);
  REQUIRE(b.arrivals.size() == 1);
  CHECK(b.arrivals[0].id.work == Work::receive);
  CHECK(b.arrivals[0].id.queue == 1);
  CHECK(b.arrivals[0].immediate == 0xabcd'ef01);
}

TEST_CASE("a receive that was flushed is not posted again") {
  Bench b{1, 1, true};
  CHECK(b.path.fill_receives() == Errc::ok);
  b.host.lanes[0]->notify(0, 0, Status::flushed);
  b.poll();
  CHECK(b.host.lanes[0]->receives[0].size() == window - 1);
}

TEST_CASE("receives that could not be posted are made good with the next one that arrives") {
  Bench b{1, 1, true};
  CHECK(b.path.fill_receives() == Errc::ok);
  b.host.receives_left = 0;
  for (int i = 0; i < 3; ++i) b.host.lanes[0]->notify(0, 0);
  b.poll();
  CHECK(b.host.lanes[0]->receives[0].size() == window - 3);
  b.host.receives_left = ScriptedHost::never;
  b.host.lanes[0]->notify(0, 0);
  b.poll();
  CHECK(b.host.lanes[0]->receives[0].size() == window);
}

TEST_CASE("receives are accounted for when each has come back") {
  Bench b{1, 1, true};
  CHECK(b.path.fill_receives() == Errc::ok);
  for (std::size_t i = 0; i < window; ++i) {
    CHECK_FALSE(b.path.accounted_for());
    b.host.lanes[0]->notify(0, 0, Status::flushed);
    b.poll();
  }
  CHECK(b.path.accounted_for());
}

// ---- Coming up and going down

TEST_CASE("describing tells every lane's address and fills the receives") {
  Bench b{2, 1, true};
  std::array<LaneAddress, max_lanes> out{};
  CHECK(b.path.describe(3, out) == Errc::ok);
  CHECK(out[0].qp_numbers[0] == 1000);
  CHECK(out[1].qp_numbers[0] == 1001);
  CHECK(b.host.lanes[1]->receives[0].size() == window);
}

TEST_CASE("describing says would_block until every lane is ready, and what failed after that") {
  Bench b{2};
  std::array<LaneAddress, max_lanes> out{};
  b.host.lanes[1]->describes = Errc::would_block;
  CHECK(b.path.describe(3, out) == Errc::would_block);
  b.host.lanes[1]->describes = Errc::failed;
  CHECK(b.path.describe(3, out) == Errc::failed);
}

TEST_CASE("a path whose receives cannot be posted is not described") {
  Bench b{1, 1, true};
  std::array<LaneAddress, max_lanes> out{};
  b.host.receives_left = 10;
  CHECK(b.path.describe(3, out) == Errc::would_block);
  b.host.receives_left = ScriptedHost::never;
  b.host.lanes[0]->receives[0].clear();  // describe() makes the QPs new.
  CHECK(b.path.describe(3, out) == Errc::ok);
  CHECK(b.host.lanes[0]->receives[0].size() == window);
}

TEST_CASE("what an earlier life of the path left behind counts as stale, and for nothing else") {
  Bench b{1, 1, true};
  std::array<LaneAddress, max_lanes> out{};
  CHECK(b.path.describe(1, out) == Errc::ok);
  CHECK(b.post(0, true) == Errc::ok);
  b.host.lanes[0]->notify(0, 5);
  complete(b.host, 0);
  CHECK(b.path.describe(2, out) == Errc::ok);
  b.poll();
  CHECK(b.arrivals.empty());
  CHECK(b.path.stale() == 2);
  CHECK(b.path.completions() == 0);
  CHECK(b.has_room(0, depth - 8));
  CHECK(b.post(0, true) == Errc::ok);
  complete(b.host, 1);
  b.poll();
  CHECK(b.arrivals.size() == 1);
}

TEST_CASE("what comes between the end of a life and the next is stale") {
  Bench b{1, 1, true};
  std::array<LaneAddress, max_lanes> out{};
  CHECK(b.path.describe(1, out) == Errc::ok);
  CHECK(b.post(0, true) == Errc::ok);
  b.host.lanes[0]->notify(0, 5);
  complete(b.host, 0);
  b.path.end_life();
  CHECK(b.post(0, true) == Errc::ok);  // The news that it could not be fenced.
  complete(b.host, 1);
  b.poll();
  CHECK(b.arrivals.empty());
  CHECK(b.path.stale() == 3);
  CHECK(b.path.describe(2, out) == Errc::ok);
  CHECK(b.post(0, true) == Errc::ok);
  complete(b.host, 2);
  b.poll();
  CHECK(b.arrivals.size() == 1);
}

TEST_CASE("a new life writes its records where the old one did") {
  Bench b{2};
  std::array<LaneAddress, max_lanes> out{};
  CHECK(b.path.describe(2, out) == Errc::ok);
  CHECK(b.path.post_record(b.queue(1), &b.block->cts[3], 64, Work::cts, 3, false) == Errc::ok);
  CHECK(b.last().remote == reinterpret_cast<std::uint64_t>(&b.peer->cts[3]));
  CHECK(b.last().keys.remote == 501);
}

TEST_CASE("a path that lives once keeps the account of its send queue, and refills") {
  ScriptedHost host;
  auto block = std::make_unique<PathBlock>();
  Path<ScriptedLane, Life::one> path;
  std::array const port{PortId{0}};
  LaneConfig c;
  c.send_depth = depth;
  path.open(host, port, c, *block, true);
  std::array<LaneAddress, max_lanes> out{};
  CHECK(path.describe(1, out) == Errc::ok);
  auto& queue = path.queue_of(0);
  for (int i = 0; i < depth - 8; ++i) {
    CHECK(path.post(queue, queue.data, Work::data, 0) == Errc::ok);
  }
  CHECK_FALSE(path.has_room(queue, 1));
  complete(host, 6);
  host.lanes[0]->notify(0, 5);
  int arrivals = 0;
  path.poll([&](Arrival const&) { ++arrivals; });
  CHECK(arrivals == 2);
  CHECK(path.has_room(queue, 7));
  CHECK_FALSE(path.has_room(queue, 8));
  CHECK(host.lanes[0]->receives[0].size() == window);
}

TEST_CASE("lives are told apart over the end of the 9-bit generation") {
  Bench b;
  std::array<LaneAddress, max_lanes> out{};
  CHECK(b.path.describe(generation_mask, out) == Errc::ok);
  CHECK(b.post(0, true) == Errc::ok);
  CHECK(b.path.describe(generation_mask + 1, out) == Errc::ok);
  complete(b.host, 0);
  b.poll();
  CHECK(b.path.stale() == 1);
  CHECK(b.post(0, true) == Errc::ok);
  complete(b.host, 1);
  b.poll();
  CHECK(b.arrivals.size() == 1);
}

TEST_CASE("connecting gives every lane its peer, and stops at one that fails") {
  Bench b{2};
  std::array<LaneAddress, max_lanes> theirs{};
  theirs[0].qp_numbers[0] = 70;
  theirs[1].qp_numbers[0] = 71;
  CHECK(b.path.connect(theirs) == Errc::ok);
  CHECK(b.host.lanes[0]->connected_to == 70);
  CHECK(b.host.lanes[1]->connected_to == 71);
  b.host.lanes[1]->connects = Errc::failed;
  CHECK(b.path.connect(theirs) == Errc::failed);
}

TEST_CASE("a fence step is done when every lane has it, and failed when one cannot have it") {
  Bench b{3};
  CHECK(b.path.fence(FenceStep::error) == Errc::ok);
  b.host.lanes[1]->error = Errc::would_block;
  CHECK(b.path.fence(FenceStep::error) == Errc::would_block);
  CHECK(b.path.fence(FenceStep::reset) == Errc::ok);
  b.host.lanes[0]->error = Errc::failed;
  CHECK(b.path.fence(FenceStep::error) == Errc::failed);
  b.host.lanes[0]->error = Errc::ok;
  b.host.lanes[2]->error = Errc::path_down;
  CHECK(b.path.fence(FenceStep::error) == Errc::failed);
}

TEST_CASE("after RESET what has not come back is lost, and the queues are empty") {
  Bench b{1, 1, true};
  CHECK(b.path.fill_receives() == Errc::ok);
  for (int i = 0; i < depth - 8; ++i) CHECK(b.post(0, true) == Errc::ok);
  b.path.forget();
  CHECK(b.path.accounted_for());
  CHECK(b.has_room(0, depth - 8));
  CHECK(b.path.flush() == Errc::ok);
  CHECK(b.host.lanes[0]->rings == 0);  // Nor is anything left to ring for.
}
