// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Breadth first through all states of a configuration, so that a counterexample is a shortest one.

#include <model/data.hpp>
#include <model/describe.hpp>
#include <model/enabled.hpp>
#include <model/fingerprints.hpp>
#include <model/invariants.hpp>
#include <model/key.hpp>
#include <model/progress.hpp>
#include <model/steps.hpp>
#include <model/world.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vccl::model {

struct Outcome {
  std::size_t states = 0;
  unsigned levels = 0;
  bool closed = false;  ///< Nothing new was left to look at.
  const char* violated = nullptr;
  std::vector<std::string> trace;
  double seconds = 0;
};

class Explorer {
 public:
  explicit Explorer(Config const& c, unsigned threads = 2)
      : config_{c}, world_{config_}, threads_{threads} {}

  Outcome run(std::size_t most_states = SIZE_MAX) {
    auto const begin = std::chrono::steady_clock::now();
    Outcome out;
    State const first = world_.start();
    std::uint64_t const root = fingerprint(first);
    seen_.insert(root);
    Level level(1);
    level[0].push_back(first);
    while (size(level) > 0 && found_ == nullptr && seen_.size() < most_states &&
           (config_.depth == 0 || out.levels < config_.depth)) {
      seen_.reserve(size(level) * 3 + (1u << 18));
      good_.reserve(size(level) * 2 + (1u << 18));
      level = expand(level);
      ++out.levels;
      if (std::getenv("MODEL_VERBOSE") != nullptr) {
        std::fprintf(
            stderr, "level %u: %zu new, %zu in all, %zu good, %.1f s\n", out.levels, size(level),
            seen_.size(), good_.size(),
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      }
    }
    out.states = seen_.size();
    out.closed = size(level) == 0 && found_ == nullptr;
    out.violated = found_;
    if (found_ != nullptr) out.trace = trace(first, root);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return out;
  }

 private:
  std::uint64_t fingerprint(State const& s) const { return Key{config_, s}.fingerprint(); }

  /// The states of a level, as each thread found them.
  using Level = std::vector<std::deque<State>>;
  static std::size_t size(Level const& l) {
    std::size_t n = 0;
    for (auto const& part : l) n += part.size();
    return n;
  }

  Level expand(Level& level) {
    Level found(threads_);
    std::mutex mutex;
    // Each thread takes the next few states, which are gone when they have been looked at.
    auto const take = [&](std::vector<State>& few) {
      std::lock_guard const lock{mutex};
      few.clear();
      for (auto& part : level) {
        while (!part.empty() && few.size() < 256) {
          few.push_back(part.front());
          part.pop_front();
        }
      }
      return !few.empty();
    };
    auto const work = [&](unsigned me) {
      World const world{config_};
      Progress progress{world, good_};
      std::vector<State> few;
      while (take(few)) {
        for (State const& s : few) visit(s, world, progress, found[me]);
      }
    };
    std::vector<std::thread> helpers;
    for (unsigned t = 1; t < threads_; ++t) helpers.emplace_back(work, t);
    work(0);
    for (std::thread& t : helpers) t.join();
    return found;
  }

  struct Next {
    State state;
    std::uint64_t fingerprint;
  };

  void visit(State const& s, World const& world, Progress& progress, std::deque<State>& out) {
    std::uint64_t const here = fingerprint(s);
    if (const char* w = progress.check(s); w != nullptr) return found(w, here, {}, true);
    Events events;
    world.events(s, events);
    next_.clear();
    for (Event const& e : events) {
      State& n = next_.emplace_back(Next{s, 0}).state;
      const char* w = world.apply(n, e);
      if (w != nullptr) return found(w, here, e, false);
      seen_.prefetch(next_.back().fingerprint = fingerprint(n));
    }
    for (Next const& n : next_) {
      if (seen_.insert(n.fingerprint, here)) out.push_back(n.state);
    }
  }

  void found(const char* what, std::uint64_t at, Event last, bool no_progress) {
    std::lock_guard const lock{mutex_};
    if (found_ != nullptr) return;
    found_ = what;
    found_at_ = at;
    found_by_ = last;
    found_no_progress_ = no_progress;
  }

  /// Follows the fingerprints back to the start, then plays the events that lead along them.
  std::vector<std::string> trace(State s, std::uint64_t root) {
    std::vector<std::uint64_t> way;
    for (std::uint64_t f = found_at_; f != root; f = seen_.from(f)) way.push_back(f);
    std::vector<std::string> lines;
    for (std::size_t i = way.size(); i-- > 0;) {
      Events events;
      world_.events(s, events);
      for (Event const& e : events) {
        State n = s;
        if (world_.apply(n, e) != nullptr || fingerprint(n) != way[i]) continue;
        s = n;
        lines.push_back(line(words(e), s));
        break;
      }
    }
    if (!found_no_progress_) {
      world_.apply(s, found_by_);
      lines.push_back(line(words(found_by_), s));
    } else {
      lines.push_back("From here, with all messages under way lost:");
      Progress progress{world_, good_};
      std::vector<std::string> log;
      progress.check(s, &log);
      for (std::size_t i = 0; i < log.size() && i < 40; ++i) lines.push_back("  " + log[i]);
    }
    return lines;
  }

  static inline thread_local std::vector<Next> next_;  ///< What follows a state; kept for its room.

  Config config_;
  World world_;
  unsigned threads_;
  Fingerprints seen_{Fingerprints::Links::yes};
  Fingerprints good_{Fingerprints::Links::no};
  std::mutex mutex_;
  const char* found_ = nullptr;
  std::uint64_t found_at_ = 0;
  Event found_by_{};
  bool found_no_progress_ = false;
};

}  // namespace vccl::model
