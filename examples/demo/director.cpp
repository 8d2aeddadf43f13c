// SPDX-License-Identifier: Apache-2.0
#include <demo/director.hpp>

#include <demo/programs.hpp>
#include <demo/progress.hpp>
#include <vccl/transport/soft/fabric.hpp>
#include <vccl/transport/soft/fault_format.hpp>

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace demo {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// The second Ctrl-C ends the program at once.
void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

class Director {
 public:
  Director(Options const& options, File const& file)
      : options_{options},
        plan_{file.size(), options.seconds},
        fabric_{{.hosts = 2,
                 .ports_per_host = 2,
                 .seed = options.seed,
                 .bytes_per_second = plan_.rate()}},
        progress_{options.quiet} {}

  Report run(File const& file, File const& output) {
    catch_interrupts();
    Programs programs = start_programs(options_.bundle, fabric_, board_, plan_, file, output);
    while (!(sender().status.ready && receiver().status.ready) && goes_on()) pause();
    begin();
    while (goes_on() && !(sender().steps == plan_.steps() && receiver().steps == plan_.steps())) {
      watch();
    }
    report_.seconds = seconds();
    if (goes_on()) {
      look();
      progress_.note(report_.seconds, "all bytes are there");
    }
    if (options_.bundle == Bundle::resilient) wait_for_failback();
    settle();
    report_.watched = seconds();
    board_.enter(Board::Phase::close);
    programs = {};  // joins both

    report_.file = options_.file;
    report_.bytes = plan_.bytes();
    report_.start = board_.start;
    report_.sides = {sender(), receiver()};
    report_.bandwidth = board_.bandwidth();
    report_.longest_gap = board_.longest_gap();
    report_.failure = board_.failure();
    return std::move(report_);
  }

 private:
  static constexpr double failback_limit = 10;  ///< Seconds after the copy.
  static constexpr double silence_limit = 45;   ///< Seconds: above the 30 s outage deadline.

  [[nodiscard]] Side sender() const { return board_.side(vccl::End::sender); }
  [[nodiscard]] Side receiver() const { return board_.side(vccl::End::receiver); }
  [[nodiscard]] double seconds() const {
    return static_cast<double>((fabric_.now() - board_.start).ns) / 1e9;
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds{5}); }

  [[nodiscard]] bool goes_on() {
    if (interrupted != 0 && !report_.interrupted) {
      report_.interrupted = true;
      board_.fail("interrupted");
    }
    return !board_.failed();
  }

  void begin() {
    if (!goes_on()) return;
    board_.start = fabric_.now();
    if (options_.faults) {
      fabric_.inject(*options_.faults);
      mark_script();
    }
    board_.enter(Board::Phase::copy);
  }

  /// Of a script only what comes at a known time can be marked.
  void mark_script() {
    for (vccl::soft::Fault f : vccl::soft::parse_faults(*options_.faults)) {
      if (f.after_step != 0 || f.after_packet != 0 || f.every != 1) continue;
      double const at = static_cast<double>(f.at.ns) / 1e9;
      bool const repair = f.action == vccl::soft::Action::link_up;
      f.at = {};
      report_.marks.push_back(
          {at, repair ? Mark::Kind::repair : Mark::Kind::harm, vccl::soft::format(f)});
      if (f.action == vccl::soft::Action::link_down && f.lasts.ns != 0) {
        report_.marks.push_back({at + static_cast<double>(f.lasts.ns) / 1e9, Mark::Kind::repair,
                                 "link " + vccl::soft::format(f.place) + " up"});
      }
    }
  }

  void mark(Mark::Kind kind, const char* what) {
    report_.marks.push_back({seconds(), kind, what});
    progress_.note(seconds(), what);
  }

  /// One look at the copy, and what is to be done to it now.
  void watch() {
    Side const r = look();
    if (!options_.faults) {
      double const part = static_cast<double>(r.steps) / static_cast<double>(plan_.steps());
      if (!pulled_ && part >= 0.3) {
        pulled_ = true;
        fabric_.link(0, 0).down();
        mark(Mark::Kind::harm, "cable pulled");
      } else if (pulled_ && !plugged_ && part >= 0.6) {
        plugged_ = true;
        fabric_.link(0, 0).up();
        mark(Mark::Kind::repair, "cable plugged in");
      }
    }
    if (r.steps != last_steps_) {
      last_steps_ = r.steps;
      last_step_at_ = seconds();
    } else if (seconds() - last_step_at_ > silence_limit) {
      board_.fail(fmt::format("no step in {} s", silence_limit));
    }
    pause();
  }

  /// Shows how it stands, and when the path in use has changed.
  Side look() {
    Side const r = receiver();
    unsigned const path = r.status.active_path;
    if (path != path_ && r.status.ready) {
      progress_.note(seconds(), path > path_
                                    ? fmt::format("now on the {}, because: {}", path_name(path),
                                                  vccl::text(r.status.path_causes[path_]))
                                    : fmt::format("back on the {}", path_name(path)));
      path_ = path;
    }
    progress_.update(seconds(), static_cast<double>(r.steps) / static_cast<double>(plan_.steps()),
                     r.bytes, path);
    return r;
  }

  void wait_for_failback() {
    if (!goes_on() || receiver().status.active_path == 0) return;
    progress_.note(seconds(), "waiting for the failback");
    double const limit = seconds() + failback_limit;
    while (goes_on() && seconds() < limit && receiver().status.active_path != 0) {
      look();
      pause();
    }
    look();
  }

  /// A switch reaches the two ends one after the other: lets the later one catch up.
  void settle() {
    double const limit = seconds() + 2;
    auto agreed = [this] {
      auto const s = sender().status, r = receiver().status;
      return s.active_path == r.active_path && s.counters.failovers == r.counters.failovers &&
             s.counters.failbacks == r.counters.failbacks;
    };
    while (goes_on() && seconds() < limit && !agreed()) pause();
  }

  Options const& options_;
  Plan plan_;
  vccl::soft::Fabric fabric_;
  Board board_;
  Progress progress_;
  Report report_;
  bool pulled_ = false;
  bool plugged_ = false;
  unsigned path_ = 0;
  std::uint64_t last_steps_ = 0;
  double last_step_at_ = 0;
};

}  // namespace

Report run_copy(Options const& options, File const& file, File const& output) {
  return Director{options, file}.run(file, output);
}

}  // namespace demo
