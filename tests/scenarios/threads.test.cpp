// SPDX-License-Identifier: Apache-2.0
// Real time and several threads: posting through queues while paths come and go; ends from outside.
#include <support/soak.hpp>
#include <support/world.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace vccl::test {

namespace {

/// A message on its way through an end's queue.
struct Job {
  Memory memory;
  Tag tag{};
  std::atomic<bool>* done = nullptr;
  Request request;
};

/// What posting threads hand to the owner of an end: an end belongs to one thread.
class EndOwner {
 public:
  EndOwner(World& w, End end) : world_{w}, end_{end} {}

  void post(Job const& job) {
    std::scoped_lock const lock{mutex_};
    jobs_.push_back(job);
  }
  /// The owner's life.
  void run(std::atomic<bool> const& over) {
    while (!over.load() || !under_way_.empty()) {
      take();
      for (std::size_t i = 0; i < under_way_.size();) {
        Result const r = world_.ends->test(end_, under_way_[i].request);
        if (!r.done) {
          ++i;
          continue;
        }
        if (r.error != Errc::ok || r.sizes[0] != under_way_[i].memory.length) ++wrong_;
        under_way_[i].done->store(true, std::memory_order_release);
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      std::this_thread::yield();
    }
  }
  [[nodiscard]] std::size_t wrong() const { return wrong_; }

 private:
  void take() {
    std::scoped_lock const lock{mutex_};
    while (!jobs_.empty()) {
      Job& job = jobs_.front();
      if (end_ == End::sender) {
        job.request = world_.ends->isend(job.memory, job.tag);
      } else {
        RecvOp const op{job.memory, job.tag};
        job.request = world_.ends->irecv({&op, 1});
      }
      if (!job.request && job.request.why == Errc::would_block) return;
      if (job.request) {
        under_way_.push_back(job);
      } else {
        ++wrong_;
        job.done->store(true, std::memory_order_release);
      }
      jobs_.pop_front();
    }
  }

  World& world_;
  End end_;
  std::mutex mutex_;
  std::deque<Job> jobs_;
  std::vector<Job> under_way_;
  std::size_t wrong_ = 0;
};

/// Sends messages of its own tag, eight at a time, and looks at what has come.
class Poster {
 public:
  static constexpr std::size_t slots = 8;
  static constexpr std::size_t words = 400;

  Poster(World& w, EndOwner& sender, EndOwner& receiver, std::uint32_t number)
      : sender_{sender}, receiver_{receiver}, number_{number}, random_{number + 1} {
    for (Slot& s : slots_) {
      s.source.resize(words);
      s.target.resize(words);
      s.from = w.ends->register_memory(End::sender, s.source.data(), words * 8, MemoryKind::host);
      s.into = w.ends->register_memory(End::receiver, s.target.data(), words * 8, MemoryKind::host);
    }
  }
  void run(std::atomic<bool> const& over) {
    for (std::size_t n = 0; !over.load(); ++n) {
      Slot& s = slots_[n % slots];
      if (n >= slots) await(s);
      std::uint64_t const length = random_.below(words) * 8;
      s.first = (std::uint64_t{number_} << 48) + n * words;
      s.length = length;
      for (std::size_t i = 0; i < words; ++i) {
        s.source[i] = s.first + i;
        s.target[i] = ~std::uint64_t{0};
      }
      s.sent.store(false);
      s.received.store(false);
      s.from.length = s.into.length = length;
      receiver_.post({s.into, Tag{number_}, &s.received, {}});
      sender_.post({s.from, Tag{number_}, &s.sent, {}});
      ++posted_;
    }
    for (Slot& s : slots_) {
      if (s.length != nothing) await(s);
    }
  }
  [[nodiscard]] std::size_t posted() const { return posted_; }
  [[nodiscard]] std::size_t wrong() const { return wrong_; }

 private:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  struct Slot {
    std::vector<std::uint64_t> source, target;
    Memory from, into;
    std::uint64_t first = 0, length = nothing;
    std::atomic<bool> sent{false}, received{false};
  };

  void await(Slot& s) {
    while (!s.sent.load(std::memory_order_acquire) || !s.received.load(std::memory_order_acquire))
      std::this_thread::yield();
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t const expected = i < s.length / 8 ? s.first + i : ~std::uint64_t{0};
      if (s.target[i] != expected) ++wrong_;
    }
  }

  EndOwner& sender_;
  EndOwner& receiver_;
  std::uint32_t number_;
  soft::Random random_;
  std::array<Slot, slots> slots_;
  std::size_t posted_ = 0;
  std::size_t wrong_ = 0;
};

}  // namespace

TEST_CASE("E7: four threads post through queues while a fifth pulls and plugs cables by chance") {
  auto const span = std::chrono::seconds{soak_count(3, 600)};
  World w{{.link = links::hasty, .virtual_time = false}};
  REQUIRE(w.settle());
  EndOwner sender{w, End::sender};
  EndOwner receiver{w, End::receiver};
  std::deque<Poster> posters;
  for (std::uint32_t n = 0; n < 4; ++n) posters.emplace_back(w, sender, receiver, n);

  std::atomic<bool> stop{false};  // The posting threads, and the one of the faults.
  std::atomic<bool> over{false};  // The owners.
  std::vector<std::thread> posting;
  for (Poster& p : posters) posting.emplace_back([&] { p.run(stop); });
  std::thread owner_s{[&] { sender.run(over); }};
  std::thread owner_r{[&] { receiver.run(over); }};
  std::thread faults{[&] {
    soft::Random random{7};
    while (!stop.load()) {
      std::string const port =
          "host" + std::to_string(random.below(2)) + ".port" + (random.below(4) == 0 ? "1" : "0");
      w.inject("link " + port + " down for " + std::to_string(10 + random.below(30)) + "ms");
      std::this_thread::sleep_for(std::chrono::milliseconds{20 + random.below(150)});
    }
  }};
  std::this_thread::sleep_for(span);
  stop = true;
  faults.join();
  for (std::thread& t : posting) t.join();
  over = true;
  owner_s.join();
  owner_r.join();

  std::size_t posted = 0;
  for (Poster const& p : posters) {
    posted += p.posted();
    CHECK(p.posted() > 100);
    CHECK(p.wrong() == 0);
  }
  CHECK(sender.wrong() == 0);
  CHECK(receiver.wrong() == 0);
  CHECK(w.fired(soft::Action::link_down) >= 5);
  CHECK(w.posts_not_rts() == 0);
  for (ConnectionStatus const& s : {w.sender(), w.receiver()}) {
    CHECK(s.counters.failovers >= 3);
    CHECK(s.counters.failbacks >= 3);
    CHECK(s.counters.steps == posted);
    CHECK(!s.ended);
  }
}

namespace {

enum class State { connecting, active, failing_over, probing, failing_back, peer_dead };

bool has_event(World& w, Event::Kind kind) {
  for (Event const& e : w.ends->events(End::receiver)) {
    if (e.kind == kind) return true;
  }
  return false;
}

/// Brings a connection into a state, in which it stays for a while. False when a busy machine has
/// missed the moment.
bool bring(World& w, State state, End end) {
  if (state == State::connecting) {
    w.inject("hold oob any for 10s");
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    CHECK(!w.settle(20_ms));
    CHECK(w.fired(soft::Action::hold) > 0);
    return true;
  }
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  Load load = Load::uniform(100'000, 500);
  load.pause = 200_us;
  w.load(load);
  REQUIRE(w.run_until(20, 5_s));
  auto const wait = [&](Duration d) { w.until([] { return false; }, d); };
  switch (state) {
    case State::failing_over:
      w.inject("fence any takes 400ms\nlink host0.port0 down");
      REQUIRE(w.until([&] { return has_event(w, Event::Kind::path_lost); }));
      CHECK(w.sender().active_path == 0);
      return true;
    case State::probing:
    case State::failing_back:
      w.inject("link host0.port0 down for 100ms");
      REQUIRE(w.until([&] { return w.sender().active_path == 1; }));
      if (state == State::probing) w.inject("link host0.port0 latency 100ms");
      REQUIRE(w.until([&] { return w.receiver().counters.arm_attempts >= 1; }));
      if (state == State::probing) {
        wait(30_ms);
        return true;
      }
      REQUIRE(w.until([&] { return has_event(w, Event::Kind::rearmed); }));
      // Good for a second; then the drain begins, and what is on the wire takes its time.
      w.inject("at 900ms link host0.port1 latency 150ms");
      wait(1050_ms);
      return w.receiver().counters.failbacks == 0;
    case State::peer_dead:
      w.inject(end == End::sender ? "kill host1" : "kill host0");
      CHECK(w.fired(soft::Action::kill) == 1);
      wait(20_ms);
      return true;
    default:
      return true;
  }
}

void end_from_outside(State state, End end, bool abort) {
  CAPTURE(static_cast<int>(state));
  CAPTURE(static_cast<int>(end));
  CAPTURE(abort);
  std::optional<World> world;
  bool there = false;
  for (int tries = 0; tries < 5 && !there; ++tries) {
    world.emplace(Start{.virtual_time = false, .connect = false});
    there = bring(*world, state, end);
  }
  REQUIRE(there);
  World& w = *world;
  std::atomic<bool> returned{false};
  Duration took{};
  std::thread other{[&] {
    Time const begin = w.now();
    if (abort) {
      w.ends->abort(end);
    } else {
      w.ends->close(end);
    }
    took = w.now() - begin;
    returned = true;
  }};
  CHECK(w.until([&] { return returned.load(); }, 4_s));
  other.join();
  CHECK(took < 2_s);
  CHECK(w.ends->closed(end));
  w.stop_posting();
  CHECK(w.problems() == "");
}

}  // namespace

TEST_CASE("O3: close and abort from another thread return within two seconds in every state") {
  bool abort = false;
  for (int s = 0; s <= static_cast<int>(State::peer_dead); ++s) {
    for (End const end : {End::sender, End::receiver}) {
      end_from_outside(static_cast<State>(s), end, abort);
      if (soak_count(0, 1) == 1) end_from_outside(static_cast<State>(s), end, !abort);
      if (end == End::sender) abort = !abort;
    }
  }
}

}  // namespace vccl::test
