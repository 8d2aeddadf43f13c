// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What is under way on each path outside the data: its fence, its coming up, its probe.

#include <vccl/detail/path.hpp>

#include <array>
#include <cstdint>

namespace vccl::detail {

/// Steps of a job. A fence is error, drain, reset.
enum class Stage : std::uint8_t { none, error, drain, reset, prepare, connect, probe };

/// How a step of a job ended; none: it goes on.
struct JobEnd {
  Stage stage = Stage::none;
  bool ok = false;
};

/// One job per path; a new one replaces the one under way. Never blocks: each step asks the
/// transport again until it says something other than would_block, or a deadline passes.
class PathJobs {
 public:
  /// A port that is not usable for so long makes the attempt fail.
  static constexpr Duration prepare_limit{20'000'000};
  /// So is a peer whose address is not resolved for so long: time for a question on the network and
  /// its answer, when nobody has it in a cache any more.
  static constexpr Duration connect_limit{100'000'000};
  /// An unanswered probe is repeated after this: half of what a port may be down without being
  /// noticed. The NIC itself would send a lost one again only after its time-out of 268 ms; the
  /// next packet on the queue makes the peer ask for what it lacks.
  static constexpr Duration probe_repeat{25'000'000};
  /// A path that comes up must answer a probe within this.
  static constexpr Duration probe_limit{500'000'000};

  void start(PathId q, Stage s, std::uint16_t number, Time now) noexcept {
    Job& j = jobs_[q];
    j.stage = s;
    j.number = number;
    j.since = j.step_since = now;
    if (s == Stage::error) j.unanswered = j.unposted = 0;
    j.arms = false;
  }
  void stop(PathId q) noexcept {
    jobs_[q].stage = Stage::none;
    jobs_[q].unanswered = jobs_[q].unposted = 0;
  }

  /// Steps the job of path `q`.
  template <class P>
  JobEnd step(PathId q, P& path, Time now, Duration drain_deadline, Duration give_up) noexcept {
    Job& j = jobs_[q];
    switch (j.stage) {
      case Stage::none:
        return probe_ran_out(j, now);
      case Stage::error: {
        Errc const e = path.fence(FenceStep::error);
        if (e == Errc::would_block) return give_up_fence(j, path, now, give_up);
        j.stage = Stage::drain;  // Also when it failed: RESET alone makes a QP quiet as well.
        j.step_since = now;
        [[fallthrough]];
      }
      case Stage::drain:
        // Every completion that comes before RESET counts; what is missing after it is lost.
        if (!path.accounted_for() && now - j.step_since < drain_deadline) return {};
        j.stage = Stage::reset;
        [[fallthrough]];
      case Stage::reset: {
        Errc const e = path.fence(FenceStep::reset);
        if (e == Errc::would_block) return give_up_fence(j, path, now, give_up);
        if (e == Errc::ok) path.forget();
        path.end_life();
        return end(j, e == Errc::ok);
      }
      case Stage::prepare: {
        Errc const e = path.describe(j.number, j.mine);
        if (e == Errc::would_block && now - j.since < prepare_limit) return {};
        if (e == Errc::ok) j.speed = speed_of(j.mine, path.lane_count());
        return end(j, e == Errc::ok);
      }
      case Stage::connect: {
        Errc const e = j.theirs_number == j.number ? path.connect(j.theirs) : Errc::failed;
        if (e == Errc::would_block && now - j.since < connect_limit) return {};
        if (e == Errc::ok) {  // A path is as fast as its slower end.
          std::uint64_t const theirs = speed_of(j.theirs, path.lane_count());
          if (theirs < j.speed) j.speed = theirs;
        }
        return end(j, e == Errc::ok);
      }
      case Stage::probe:
        return end(j, true);
    }
    return {};
  }

  // ---- Probes: a full-MTU write of the control record on every queue

  /// Its time runs from here, also where a queue has no room for it: a queue that nothing leaves is
  /// what a probe is to find. What is not ok or would_block was refused for good.
  template <class P>
  Errc post_probe(PathId q, P& path, ControlFrame const& f, Time now, bool arms) noexcept {
    Job& j = jobs_[q];
    path.write_control_out(f);
    j.unanswered = j.unposted = static_cast<std::uint16_t>((1u << path.queue_count()) - 1);
    j.arms = arms;
    j.probe_since = j.probe_posted = now;
    ++probes_;
    return post_rest(j, path);
  }
  /// Posts what found no room yet, and in time what has no answer yet once more. Returns as
  /// post_probe() does.
  template <class P>
  Errc repeat_probe(PathId q, P& path, Time now) noexcept {
    Job& j = jobs_[q];
    if (j.unanswered == 0) return Errc::ok;
    if (now - j.probe_posted >= probe_repeat) {
      j.probe_posted = now;
      j.unposted = j.unanswered;
    }
    return j.unposted == 0 ? Errc::ok : post_rest(j, path);
  }
  /// The probe of a queue came through. True when all have.
  bool probe_done(PathId q, std::uint8_t queue) noexcept {
    Job& j = jobs_[q];
    if (j.unanswered == 0) return false;
    j.unanswered = static_cast<std::uint16_t>(j.unanswered & ~(1u << queue));
    return j.unanswered == 0;
  }
  /// True once when the probe that ended was the one that arms the path.
  bool take_arm_probe(PathId q) noexcept {
    bool const a = jobs_[q].arms;
    jobs_[q].arms = false;
    return a;
  }
  /// Something else came through meanwhile: the answer may take its time from now.
  void progress(PathId q, Time now) noexcept {
    if (!jobs_[q].arms) jobs_[q].probe_since = now;
  }
  [[nodiscard]] Duration probing_for(PathId q, Time now) const noexcept {
    Job const& j = jobs_[q];
    if (j.unanswered == 0 || j.arms) return {};
    Duration const d = now - j.probe_since;
    return d.ns > 0 ? d : Duration{1};
  }

  // ---- Addresses

  void set_remote(PathId q, std::uint16_t number, ControlFrame const& f) noexcept {
    Job& j = jobs_[q];
    if (j.theirs_known && newer(j.theirs_number, number)) return;
    j.theirs_known = true;
    j.theirs_number = number;
    j.theirs = f.addresses;
  }
  void put_local(PathId q, ControlFrame& f) const noexcept {
    f.lanes = max_lanes;
    f.addresses = jobs_[q].mine;
  }
  void set_speed(PathId q, std::uint64_t mbps) noexcept { jobs_[q].speed = mbps; }
  [[nodiscard]] std::uint64_t speed(PathId q) const noexcept { return jobs_[q].speed; }

  [[nodiscard]] std::uint16_t number(PathId q) const noexcept { return jobs_[q].number; }
  [[nodiscard]] bool busy(PathId q) const noexcept { return jobs_[q].stage != Stage::none; }
  [[nodiscard]] bool is_draining(PathId q) const noexcept {
    return jobs_[q].stage >= Stage::error && jobs_[q].stage <= Stage::reset;
  }
  [[nodiscard]] bool any() const noexcept {
    for (Job const& j : jobs_) {
      if (j.stage != Stage::none || j.arms) return true;
    }
    return false;
  }
  [[nodiscard]] bool any_fence() const noexcept {
    for (PathId q = 0; q < max_paths; ++q) {
      if (is_draining(q)) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t probes() const noexcept { return probes_; }

 private:
  struct Job {
    Stage stage = Stage::none;
    bool arms = false;  ///< The probe under way arms the path.
    bool theirs_known = false;
    std::uint16_t unanswered = 0;  ///< Bit per queue whose probe is not answered.
    std::uint16_t unposted = 0;    ///< Bit per queue that had no room for its probe.
    std::uint16_t number = 0;
    std::uint16_t theirs_number = 0;
    std::uint64_t speed = 0;
    Time since, step_since, probe_since, probe_posted;
    std::array<LaneAddress, max_lanes> mine{}, theirs{};
  };

  template <class P>
  static Errc post_rest(Job& j, P& path) noexcept {
    for (std::size_t i = 0; i < path.queue_count(); ++i) {
      if ((j.unposted >> i & 1) == 0) continue;
      Errc const e = path.post_control(i, probe_bytes, Work::probe, true);
      if (e == Errc::would_block) continue;
      if (e != Errc::ok) return e;
      j.unposted = static_cast<std::uint16_t>(j.unposted & ~(1u << i));
    }
    return path.flush();
  }

  /// Megabits per second of all lanes.
  static std::uint64_t speed_of(std::array<LaneAddress, max_lanes> const& lanes,
                                std::size_t count) noexcept {
    std::uint64_t speed = 0;
    for (std::size_t l = 0; l < count; ++l) speed += lanes[l].speed_mbps;
    return speed;
  }
  /// A fence that cannot be had ends the account of its path as well: its position is final.
  template <class P>
  static JobEnd give_up_fence(Job& j, P& path, Time now, Duration give_up) noexcept {
    if (now - j.since < give_up) return {};
    path.end_life();
    return end(j, false);
  }
  static JobEnd end(Job& j, bool ok) noexcept {
    JobEnd const e{j.stage, ok};
    j.stage = Stage::none;
    return e;
  }
  /// An arming probe without an answer ends the attempt.
  static JobEnd probe_ran_out(Job& j, Time now) noexcept {
    if (!j.arms || now - j.probe_since < probe_limit) return {};
    j.arms = false;
    j.unanswered = j.unposted = 0;
    return {Stage::probe, false};
  }

  std::array<Job, max_paths> jobs_{};
  std::uint64_t probes_ = 0;
};

}  // namespace vccl::detail
