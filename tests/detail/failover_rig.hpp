// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Ends without data: all that Failover asks of its Io, done by the test. Time is a number.

#include <vccl/detail/failover.hpp>
#include <vccl/policies/bundle.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace vccl::test {

/// A path that answers what the test says.
struct FakePath {
  using ControlFrame = detail::ControlFrame;

  Errc error = Errc::ok, reset = Errc::ok, describes = Errc::ok, connects = Errc::ok;
  bool all_in = true;  ///< Drained as soon as it is asked.
  std::size_t lanes = 1;
  std::uint32_t speed = 100;
  int resets = 0;
  int forgets = 0;
  int polls = 0;
  std::vector<ControlFrame> said;             ///< Control records and probes that went out.
  std::vector<std::uint8_t> probes;           ///< Lanes of probes that are not answered.
  std::array<LaneAddress, max_lanes> peer{};  ///< What it was connected to.

  Errc fence(FenceStep s) noexcept {
    if (s == FenceStep::reset) ++resets;
    return s == FenceStep::error ? error : reset;
  }
  bool accounted_for() const noexcept { return all_in; }
  void forget() noexcept {
    ++forgets;
    probes.clear();
  }
  void end_life() noexcept {}
  std::size_t lane_count() const noexcept { return lanes; }
  std::size_t queue_count() const noexcept { return lanes; }
  Errc describe(std::uint16_t number, std::span<LaneAddress, max_lanes> out) noexcept {
    for (std::size_t l = 0; l < lanes; ++l) {
      out[l].speed_mbps = speed;
      out[l].qp_numbers[0] = number;
    }
    return describes;
  }
  Errc connect(std::span<LaneAddress const, max_lanes> theirs) noexcept {
    for (std::size_t l = 0; l < max_lanes; ++l) peer[l] = theirs[l];
    return connects;
  }
  std::size_t write_control_out(detail::ControlFrame const& f) noexcept {
    out_ = f;
    return 64;
  }
  Errc post_control(std::size_t lane, std::size_t, detail::Work w, bool) noexcept {
    if (w == detail::Work::probe) probes.push_back(static_cast<std::uint8_t>(lane));
    if (lane == 0) said.push_back(out_);
    return Errc::ok;
  }
  void send_control(detail::ControlFrame const& f) noexcept { said.push_back(f); }
  Errc flush() noexcept { return Errc::ok; }

 private:
  ControlFrame out_;
};

struct FakePaths {
  std::array<FakePath, 3> at;
  std::size_t count = 2;
  template <class F>
  void each(F&& f) {
    for (std::size_t q = 0; q < count; ++q) f(static_cast<PathId>(q), at[q]);
  }
  template <class F>
  auto with(PathId q, F&& f) {
    return f(at[q]);
  }
};

/// What an end was told to do.
struct Switched {
  PathId path = 0;
  Epoch epoch = 0;
  Step position = 0;
};
struct Finished {
  Cause cause = Cause::none;
  Step position = 0;
  bool final_position = false;
};

/// One end. Everything that the driver asks is a member to set, all that it tells one to look at.
template <End end, class Policies = Resilient, class Sync = vccl::sync::ReceiverDecides<>>
struct FakeEnd {
  detail::Failover<Sync, Policies, end, FakeEnd> driver;
  FakePaths fake_paths;
  Time time{1'000'000'000};
  vccl::sync::Positions at;
  bool waiting = false;
  bool owing = false;
  std::uint64_t outstanding = 0;
  std::uint64_t life = 0;
  std::array<bool, 3> usable{true, true, true};  ///< Ports, when a completion failed.
  std::array<PortWatch, 3> ports{};
  std::array<bool, 3> present{true, true, true};

  std::vector<Event> events;
  std::vector<Switched> switches;
  std::vector<Finished> finishes;
  std::vector<Step> confirmations;
  std::vector<detail::ControlFrame> piped;  ///< Sent out of band.
  int ticks = 0;

  explicit FakeEnd(std::uint8_t up = 0b11, std::uint8_t paths = 2) {
    fake_paths.count = paths;
    driver.start(*this, {.session = 5, .epoch = 1, .paths = paths, .up = up, .number = 1});
  }

  // ---- What the driver asks
  Time now() const noexcept { return time; }
  std::uint32_t random32() const noexcept { return 0x8000'0000; }  // No jitter.
  FakePaths& paths() noexcept { return fake_paths; }
  bool has_path(PathId q) const noexcept { return present[q]; }
  bool port_usable(PathId q) const noexcept { return usable[q]; }
  PortWatch watch(PathId q) const noexcept { return ports[q]; }
  vccl::sync::Positions positions() const noexcept { return at; }
  std::uint64_t progress_mark() const noexcept { return at.done; }
  std::uint64_t signs_of_life() const noexcept { return life + at.done; }
  bool waits() const noexcept { return waiting; }
  bool owes() const noexcept { return owing; }
  std::uint64_t outstanding_bytes() const noexcept { return outstanding; }
  void poll_path(PathId q) noexcept { ++fake_paths.at[q].polls; }
  void on_tick() noexcept { ++ticks; }
  void record(Event::Kind kind, PathId path, Cause cause) noexcept {
    events.push_back({.kind = kind, .end = end, .path = path, .cause = cause, .at = time});
  }
  void on_switch(PathId q, Epoch e, Step position) noexcept {
    switches.push_back({q, e, position});
  }
  void on_finish(Cause why, Step position, bool final_position) noexcept {
    finishes.push_back({why, position, final_position});
  }
  void on_confirmed(Step position) noexcept { confirmations.push_back(position); }
  void send_out_of_band(detail::ControlFrame const& f) noexcept { piped.push_back(f); }

  // ---- What the test does
  FakePath& path(PathId q) { return fake_paths.at[q]; }
  void serve() { driver.service(*this, time); }
  /// Lets time pass in steps of a millisecond, served at each.
  void pass(std::int64_t ms) {
    for (; ms > 0; --ms) {
      time = time + Duration{1'000'000};
      serve();
    }
  }
  void fail(PathId q, Status s = Status::retry_exceeded) { driver.on_error(*this, q, s); }
  /// Answers the probes of a path.
  void answer(PathId q) {
    std::vector<std::uint8_t> const lanes = fake_paths.at[q].probes;
    fake_paths.at[q].probes.clear();
    for (std::uint8_t l : lanes) driver.on_probe_done(*this, q, l);
  }
  ConnectionStatus status() const {
    ConnectionStatus s;
    driver.fill(s);
    return s;
  }
  bool lost(PathId q) { return driver.machine().common().is_lost(q); }
  std::size_t count(Event::Kind k) const {
    std::size_t n = 0;
    for (Event const& e : events) n += e.kind == k ? 1u : 0u;
    return n;
  }
};

/// Both ends, with what they say carried over while the way is open.
template <class SenderPolicies = Resilient, class ReceiverPolicies = SenderPolicies>
struct Pair {
  FakeEnd<End::sender, SenderPolicies> sender;
  FakeEnd<End::receiver, ReceiverPolicies> receiver;
  std::array<bool, 3> open{true, true, true};  ///< Paths, both ways.
  bool pipe = true;
  bool drains = true;  ///< The sender has nothing outstanding when it is asked.

  explicit Pair(std::uint8_t up = 0b11, std::uint8_t paths = 2)
      : sender{up, paths}, receiver{up, paths} {}

  void pass(std::int64_t ms) {
    for (; ms > 0; --ms) {
      sender.time = receiver.time = sender.time + Duration{1'000'000};
      carry(sender, receiver);
      carry(receiver, sender);
      if (drains && sender.driver.drain_asked()) sender.driver.on_drained(sender);
      sender.serve();
      receiver.serve();
    }
  }
  /// Both ends have failed on it, and it is dead.
  void kill(PathId q) {
    open[q] = false;
    sender.fail(q);
    receiver.fail(q);
  }

 private:
  template <class From, class To>
  void carry(From& from, To& to) {
    for (PathId q = 0; q < from.fake_paths.count; ++q) {
      std::vector<detail::ControlFrame> said;
      said.swap(from.path(q).said);
      if (!open[q]) continue;
      for (auto const& f : said) to.driver.on_message(to, f, q);
      from.answer(q);
    }
    std::vector<detail::ControlFrame> piped;
    piped.swap(from.piped);
    if (!pipe) return;
    for (auto const& f : piped) to.driver.on_message(to, f, no_path);
  }
};

}  // namespace vccl::test
