// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/path_jobs.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::detail;
using namespace vccl::literals;

namespace {
/// A path that answers what the test says.
struct ScriptedPath {
  Errc error = Errc::ok, reset = Errc::ok, describes = Errc::ok, connects = Errc::ok;
  Errc posts = Errc::ok;
  bool all_in = true;
  int forgets = 0, ends = 0, posted = 0;
  std::size_t lanes = 1;

  Errc fence(FenceStep s) noexcept { return s == FenceStep::error ? error : reset; }
  bool accounted_for() const noexcept { return all_in; }
  void forget() noexcept { ++forgets; }
  void end_life() noexcept { ++ends; }
  std::size_t lane_count() const noexcept { return lanes; }
  std::size_t queue_count() const noexcept { return lanes; }
  Errc describe(std::uint16_t, std::span<LaneAddress, max_lanes> out) noexcept {
    for (std::size_t l = 0; l < lanes; ++l) out[l].speed_mbps = 100;
    return describes;
  }
  Errc connect(std::span<LaneAddress const, max_lanes>) noexcept { return connects; }
  std::size_t write_control_out(ControlFrame const&) noexcept { return 64; }
  Errc post_control(std::size_t, std::size_t bytes, Work w, bool) noexcept {
    CHECK(bytes == probe_bytes);
    CHECK(w == Work::probe);
    if (posts == Errc::ok) ++posted;
    return posts;
  }
  Errc flush() noexcept { return Errc::ok; }
};

struct Bench {
  PathJobs jobs;
  ScriptedPath path;
  JobEnd step(std::int64_t ms) { return jobs.step(0, path, Time{ms * 1'000'000}, 100_ms, 2_s); }
};
}  // namespace

TEST_CASE("a fence is error, drain, reset; it ends when all of it is done") {
  Bench b;
  b.path.all_in = false;
  b.jobs.start(0, Stage::error, 3, Time{0});
  CHECK(b.jobs.is_draining(0));
  CHECK(b.step(0).stage == Stage::none);
  b.path.all_in = true;
  JobEnd const e = b.step(1);
  CHECK(e.stage == Stage::reset);
  CHECK(e.ok);
  CHECK(b.path.forgets == 1);
  CHECK_FALSE(b.jobs.busy(0));
}

TEST_CASE("a drain that does not end is cut off at its deadline, not before") {
  Bench b;
  b.path.all_in = false;
  b.jobs.start(0, Stage::error, 3, Time{0});
  CHECK(b.step(0).stage == Stage::none);
  CHECK(b.step(99).stage == Stage::none);
  CHECK(b.step(100).stage == Stage::reset);
}

TEST_CASE("a slow fence is waited for; one that hangs or fails is no fence") {
  Bench slow;
  slow.path.reset = Errc::would_block;
  slow.jobs.start(0, Stage::error, 3, Time{0});
  CHECK(slow.step(500).stage == Stage::none);
  slow.path.reset = Errc::ok;
  CHECK(slow.step(600).ok);

  Bench hangs;
  hangs.path.reset = Errc::would_block;
  hangs.jobs.start(0, Stage::error, 3, Time{0});
  CHECK(hangs.step(1999).stage == Stage::none);
  JobEnd const h = hangs.step(2000);
  CHECK(h.stage == Stage::reset);
  CHECK_FALSE(h.ok);

  Bench fails;
  fails.path.reset = Errc::failed;
  fails.jobs.start(0, Stage::error, 3, Time{0});
  CHECK_FALSE(fails.step(0).ok);
}

TEST_CASE("with its fence the life of a path ends, whether the fence was had or not") {
  for (Errc const reset : {Errc::ok, Errc::failed, Errc::would_block}) {
    CAPTURE(reset);
    Bench b;
    b.path.reset = reset;
    b.jobs.start(0, Stage::error, 3, Time{0});
    b.step(1999);
    CHECK(b.path.ends == (reset == Errc::would_block ? 0 : 1));
    b.step(2000);
    CHECK(b.path.ends == 1);
    CHECK(b.path.forgets == (reset == Errc::ok ? 1 : 0));
  }
  Bench b;
  b.path.error = Errc::would_block;
  b.jobs.start(0, Stage::error, 3, Time{0});
  CHECK(b.step(2000).stage == Stage::error);
  CHECK(b.path.ends == 1);
}

TEST_CASE("going to RESET is enough when going to ERR failed") {
  Bench b;
  b.path.error = Errc::failed;
  b.jobs.start(0, Stage::error, 3, Time{0});
  CHECK(b.step(0).ok);
}

TEST_CASE("a port that is not usable makes the attempt fail after a while") {
  Bench b;
  b.path.describes = Errc::would_block;
  b.jobs.start(0, Stage::prepare, 4, Time{0});
  CHECK(b.step(0).stage == Stage::none);
  JobEnd const e = b.step(PathJobs::prepare_limit.ns / 1'000'000);
  CHECK(e.stage == Stage::prepare);
  CHECK_FALSE(e.ok);
}

TEST_CASE("a peer whose address is not resolved makes the attempt fail after a longer while") {
  Bench b;
  b.path.connects = Errc::would_block;
  b.jobs.set_remote(0, 5, ControlFrame{});
  b.jobs.start(0, Stage::connect, 5, Time{0});
  CHECK(b.step(PathJobs::prepare_limit.ns / 1'000'000).stage == Stage::none);
  JobEnd const e = b.step(PathJobs::connect_limit.ns / 1'000'000);
  CHECK(e.stage == Stage::connect);
  CHECK_FALSE(e.ok);
}

TEST_CASE("connecting uses only the address that was offered under the same number") {
  Bench b;
  ControlFrame f;
  b.jobs.set_remote(0, 4, f);
  b.jobs.start(0, Stage::connect, 5, Time{0});
  CHECK_FALSE(b.step(0).ok);
  b.jobs.set_remote(0, 5, f);
  b.jobs.start(0, Stage::connect, 5, Time{0});
  CHECK(b.step(0).ok);
  b.jobs.set_remote(0, 4, f);  // A late answer of an earlier attempt.
  b.jobs.start(0, Stage::connect, 5, Time{0});
  CHECK(b.step(0).ok);
}

TEST_CASE("a fence takes the place of whatever was under way") {
  Bench b;
  b.path.describes = Errc::would_block;
  b.jobs.start(0, Stage::prepare, 4, Time{0});
  CHECK(b.step(0).stage == Stage::none);
  b.jobs.start(0, Stage::error, 4, Time{0});
  CHECK(b.step(1).stage == Stage::reset);
  CHECK(b.step(2).stage == Stage::none);
}

TEST_CASE("a probe is answered when every queue's is") {
  Bench b;
  b.path.lanes = 2;
  static_cast<void>(b.jobs.post_probe(0, b.path, ControlFrame{}, Time{0}, false));
  CHECK(b.path.posted == 2);
  CHECK(b.jobs.probing_for(0, Time{7}) == Duration{7});
  CHECK_FALSE(b.jobs.probe_done(0, 1));
  CHECK(b.jobs.probe_done(0, 0));
  CHECK(b.jobs.probing_for(0, Time{9}) == Duration{0});
  CHECK_FALSE(b.jobs.take_arm_probe(0));
}

TEST_CASE("a probe that is not answered is repeated on its queues, every 25 ms") {
  Bench b;
  b.path.lanes = 3;
  CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 1_s) == Errc::ok);
  CHECK(b.path.posted == 0);  // There is none.
  CHECK(b.jobs.post_probe(0, b.path, ControlFrame{}, Time{}, false) == Errc::ok);
  CHECK_FALSE(b.jobs.probe_done(0, 1));
  CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 24_ms) == Errc::ok);
  CHECK(b.path.posted == 3);
  CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 25_ms) == Errc::ok);
  CHECK(b.path.posted == 5);
  CHECK(b.jobs.probing_for(0, Time{} + 50_ms) == 50_ms);  // It has not been answered by that.
  CHECK_FALSE(b.jobs.probe_done(0, 0));
  CHECK(b.jobs.probe_done(0, 2));
  CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 1_s) == Errc::ok);
  CHECK(b.path.posted == 5);
}

TEST_CASE("a probe that no queue takes is posted when one does, and its time runs meanwhile") {
  for (Errc const refusal : {Errc::would_block, Errc::path_down}) {
    Bench b;
    b.path.posts = refusal;
    static_cast<void>(b.jobs.post_probe(0, b.path, ControlFrame{}, Time{0}, false));
    CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 10_ms) ==
          (refusal == Errc::would_block ? Errc::ok : refusal));
    CHECK(b.path.posted == 0);
    CHECK(b.jobs.probing_for(0, Time{} + 10_ms) == 10_ms);
    b.path.posts = Errc::ok;
    CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 20_ms) == Errc::ok);
    CHECK(b.jobs.repeat_probe(0, b.path, Time{} + 21_ms) == Errc::ok);
    CHECK(b.path.posted == 1);
    CHECK(b.jobs.probe_done(0, 0));
    CHECK(b.jobs.probing_for(0, Time{70'000'000}) == Duration{});
  }
}

TEST_CASE("an arming probe without an answer ends the attempt after its limit") {
  Bench b;
  static_cast<void>(b.jobs.post_probe(0, b.path, ControlFrame{}, Time{0}, true));
  CHECK(b.step(PathJobs::probe_limit.ns / 1'000'000 - 1).stage == Stage::none);
  JobEnd const e = b.step(PathJobs::probe_limit.ns / 1'000'000);
  CHECK(e.stage == Stage::probe);
  CHECK_FALSE(e.ok);
  CHECK(b.step(9999).stage == Stage::none);
}

TEST_CASE("what comes through meanwhile gives a probe more time") {
  Bench b;
  static_cast<void>(b.jobs.post_probe(0, b.path, ControlFrame{}, Time{0}, false));
  b.jobs.progress(0, Time{50});
  CHECK(b.jobs.probing_for(0, Time{60}) == Duration{10});
}
