// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// V4 and V5: from a state, with all messages under way lost and no further fault, do the ticks and
/// timers bring the connection to its goal?

#include <model/describe.hpp>
#include <model/fingerprints.hpp>
#include <model/key.hpp>
#include <model/world.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace vccl::model {

/// Follows the one course in which everything due happens, round by round: what is under way is
/// completed, then both ends repeat; when that changes nothing, the timers run out. Remembers the
/// rounds that led to the goal, so each is followed once.
class Progress {
 public:
  Progress(World const& world, Fingerprints& good)
      : world_{world}, c_{world.config()}, good_{good} {}

  /// nullptr, or what is not reached. `log`, if given, gets the events on the way.
  const char* check(State s, std::vector<std::string>* log = nullptr) {
    if (!promised(s)) return nullptr;
    log_ = log;
    s.to_receiver.clear();
    s.to_sender.clear();
    s.faults = s.repairs = s.ends = 0;
    wrong_ = nullptr;
    healed_ = false;
    path_.clear();
    for (int round = 0; round < most_rounds; ++round) {
      std::uint64_t const before = key(s);
      if (log == nullptr && good_.contains(before)) return remember();
      path_.push_back(before);
      finish_all(s);
      if (wrong_ != nullptr) return wrong_;
      if (reached(s)) return remember();
      std::uint64_t const still = key(s);
      tick(s);
      finish_all(s);
      if (wrong_ != nullptr) return wrong_;
      if (key(s) != still) continue;
      if (!timer(s))
        return over_at_one(s) ? "V5: an end is not over"
                              : "V4: nothing more happens, and it is not done";
    }
    return "V4: no end in sight";
  }

 private:
  using K = Event::Kind;
  static constexpr int most_rounds = 120;

  std::uint64_t key(State const& s) const { return Key{c_, s}.fingerprint(); }

  const char* remember() {
    for (std::uint64_t k : path_) good_.insert(k);
    return nullptr;
  }

  /// Messages that need a path get through while one works that both ends have armed.
  bool promised(State const& s) const {
    if (c_.out_of_band) return true;
    for (unsigned q = 0; q < c_.paths; ++q) {
      auto const& sp = s.sender.common().paths[q];
      auto const& rp = s.receiver.common().paths[q];
      if (sp.phase == Phase::up && rp.phase == Phase::up && sp.number == rp.number &&
          World::link_works(s, q))
        return true;
    }
    return false;
  }

  static bool ends(State const& s) {
    return s.sender.common().ending != Ending::no || s.receiver.common().ending != Ending::no;
  }
  static bool over_at_one(State const& s) {
    return s.sender.common().ending == Ending::over || s.receiver.common().ending == Ending::over;
  }

  bool reached(State const& s) const {
    if (ends(s))
      return s.sender.common().ending == Ending::over && s.receiver.common().ending == Ending::over;
    return s.done == c_.steps && s.received == c_.steps &&
           s.sender.common().epoch == s.receiver.common().epoch &&
           s.sender.mode() == Sender::Mode::running &&
           s.receiver.mode() == Receiver::Mode::running && !s.sender.awaiting() &&
           !s.receiver.awaiting();
  }

  void apply(State& s, Event const& e) {
    if (const char* w = world_.apply(s, e); w != nullptr && wrong_ == nullptr) wrong_ = w;
    if (log_ != nullptr) log_->push_back(line(words(e), s));
  }

  /// What is under way gets done: work asked for, the newest message each way, data on links that
  /// work.
  void finish_all(State& s) {
    for (int i = 0; i < 400; ++i) {
      if (wrong_ != nullptr) return;
      if (!finish_one(s)) return;
    }
    wrong_ = "V4: the ends talk without pause";
  }

  bool finish_one(State& s) {
    Events now;
    world_.events(s, now);
    for (Event const& e : now) {
      if (is_due(s, e)) {
        apply(s, e);
        return true;
      }
    }
    if (deliver(s, s.to_receiver, K::deliver_to_receiver, false)) return true;
    return deliver(s, s.to_sender, K::deliver_to_sender, true);
  }

  /// Delivers the newest; all are gone then.
  bool deliver(State& s, Channel& c, K kind, bool at_sender) {
    if (c.count == 0) return false;
    Note const n = c.notes[c.count - 1u];
    c.clear();
    if (!world_.can_hear(s, n, at_sender, true)) return true;
    c.say(n, 1);
    State with = s;
    (at_sender ? with.to_sender : with.to_receiver) = c;
    c.clear();
    apply(with, {kind, 0, 0});
    // What was delivered is consumed; what was said meanwhile in that direction cannot be.
    Channel& left = at_sender ? with.to_sender : with.to_receiver;
    left.clear();
    s = with;
    return true;
  }

  bool is_due(State const& s, Event const& e) const {
    bool const works = World::link_works(s, e.path);
    switch (e.kind) {
      case K::sender_fenced:
      case K::receiver_fenced:
      case K::sender_prepared:
      case K::receiver_prepared:
      case K::sender_prepare_fails:
      case K::receiver_prepare_fails:
      case K::sender_probe_fails:
      case K::receiver_probe_fails:
      case K::poll_receiver:
      case K::flush:
      case K::drained:
        return true;
      case K::probe_reaches_sender:
      case K::receiver_probed:
      case K::sender_probed:
      case K::grant_lands:
      case K::post:
      case K::execute:
      case K::acknowledge:
        return works;
      case K::confirm:
        return World::link_works(s, s.receiver.common().path);
      default:
        return false;
    }
  }

  void tick(State& s) {
    if (s.sender.awaiting()) apply(s, {K::sender_tick, 0, 0});
    if (s.receiver.awaiting()) apply(s, {K::receiver_tick, 0, 0});
  }

  /// Nothing moves: the next deadline passes.
  bool timer(State& s) {
    auto const& sc = s.sender.common();
    auto const& rc = s.receiver.common();
    PathId const q = rc.path;
    if (ends(s)) {
      // The other end's queue pairs are gone: a probe finds out, then the outage deadline passes.
      if (sc.ending != Ending::no && rc.ending == Ending::no) {
        if (s.receiver.has_usable_path()) return detect(s, K::receiver_detects, q);
        s.ends = 1;
        apply(s, {K::receiver_outage, 0, 0});
        s.ends = 0;
        return true;
      }
      if (rc.ending != Ending::no && sc.ending == Ending::no) {
        if (s.sender.has_usable_path()) return detect(s, K::sender_detects, sc.path);
        s.ends = 1;
        apply(s, {K::sender_outage, 0, 0});
        s.ends = 0;
        return true;
      }
      // One has lingered out and the other is left alone with its question.
      if (s.lingered != 0 && sc.ending != Ending::over) return linger(s, K::sender_lingers);
      if (s.lingered != 0 && rc.ending != Ending::over) return linger(s, K::receiver_lingers);
      return false;
    }
    if (s.receiver.arming() != no_path) {
      apply(s, {K::retry_timeout, s.receiver.arming(), 0});
      return true;
    }
    // Whoever waits, probes: the sender with data outstanding, else the receiver with CTS out.
    if (!World::link_works(s, q) && rc.is_up(q)) {
      bool const both = sc.path == q && sc.is_up(q) && sc.epoch == rc.epoch;
      bool const sender_waits = both && s.acked < s.sent;
      return detect(s, sender_waits ? K::sender_detects : K::receiver_detects, q);
    }
    if (!World::link_works(s, sc.path) && sc.is_up(sc.path) && s.sender.has_usable_path()) {
      return detect(s, K::sender_detects, sc.path);
    }
    if (s.receiver.has_usable_path()) return false;
    for (unsigned p = 0; p < c_.paths; ++p) {
      if (!World::link_works(s, p) || rc.paths[p].phase != Phase::down) continue;
      s.repairs = 1;
      apply(s, {K::retry, static_cast<std::uint8_t>(p), 0});
      s.repairs = 0;
      return true;
    }
    if (healed_) return false;
    healed_ = true;  // A path heals.
    apply(s, {K::link_up, 0, 0});
    return true;
  }
  bool detect(State& s, K kind, PathId q) {
    s.faults = 1;
    apply(s, {kind, q, 0});
    s.faults = 0;
    s.excused = 100;
    return true;
  }
  bool linger(State& s, K kind) {
    apply(s, {kind, 0, 0});
    return true;
  }

  World const& world_;
  Config const& c_;
  Fingerprints& good_;
  std::vector<std::uint64_t> path_;
  std::vector<std::string>* log_ = nullptr;
  const char* wrong_ = nullptr;
  bool healed_ = false;
};

}  // namespace vccl::model
