// SPDX-License-Identifier: Apache-2.0
#include <sim/run.hpp>

#include <support/world.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <fmt/format.h>
#include <sim/links/links.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace vccl::sim {

namespace {

using test::World;

/// The world that is simulated, for those who tell of it.
World* world = nullptr;
std::array<std::uint64_t, soft::actions> told_fired;

void tell(std::string_view line) {
  for (std::size_t a = 0; a < soft::actions; ++a) {
    std::uint64_t const n = world->fired(static_cast<soft::Action>(a));
    if (n == told_fired[a]) continue;
    watch.tell(fmt::format("{:12.6f} ms  {} {} struck: {} times by now",
                           static_cast<double>(world->now().ns) / 1e6, soft::action_words[a].verb,
                           soft::action_words[a].detail, n));
    told_fired[a] = n;
  }
  watch.tell(fmt::format("{:12.6f} ms  {:4} received  {}",
                         static_cast<double>(world->now().ns) / 1e6, world->received(), line));
}

template <std::size_t N>
std::string change(std::array<const char*, N> const& names, std::uint8_t from, std::uint8_t to) {
  return from == to ? std::string{names[from]} : fmt::format("{} -> {}", names[from], names[to]);
}

constexpr std::array sender_modes{"running", "suspended", "draining", "drained"};
constexpr std::array receiver_modes{"running", "deciding", "stranded", "draining"};
constexpr std::array endings{"no", "asked", "settled", "over"};
constexpr std::array phases{"up",      "fencing",    "down",   "preparing",
                            "offered", "connecting", "probing"};
constexpr std::array kinds{"state",   "suspect", "decide", "strand",  "drain",
                           "drained", "fatal",   "abort",  "closing", "closed"};

test::MakeEnds maker(Wire w) {
  switch (w) {
    case Wire::both:
      return links::both;
    case Wire::in_band:
      return links::in_band;
    case Wire::out_of_band:
      return links::out_of_band;
    case Wire::four_paths:
      return links::four_paths;
    case Wire::plain:
      break;
  }
  return test::links::plain;
}

/// Long enough for an outage deadline, its linger, and everything that waits before.
constexpr Duration limit = 60_s;

class Run {
 public:
  explicit Run(Plan const& p)
      : p_{p},
        w_{{.link = maker(p.wire),
            .fabric = p.fabric,
            .sender = p.sender,
            .receiver = p.receiver,
            .connect = false}} {
    world = &w_;
    told_fired = {};
    test::switches = p.switches;
    watch.first_sequence = p.first_sequence;
    w_.fabric().adaptive_routing(p.adaptive_routing);
  }

  std::string go() {
    try {
      if (set_up()) traffic();
    } catch (SetupError const& e) {
      bool const wanted = w_.fired(soft::Action::call_fails) != 0 ||
                          w_.fired(soft::Action::kill) != 0 ||
                          w_.fired(soft::Action::device_fatal) != 0;
      refused_ = true;
      if (!wanted) wrong("set-up failed: {}", e.what());
    }
    count();
    data();
    take_down();
    return problems_;
  }

 private:
  template <class... A>
  void wrong(fmt::format_string<A...> text, A&&... a) {
    problems_ += fmt::format(text, std::forward<A>(a)...) + "\n";
  }

  bool set_up() {
    if (p_.early) w_.inject(p_.script());
    w_.ends->accept();
    w_.ends->connect(p_.sender, w_.ends->handle());
    made_ = true;
    if (w_.settle(15_s)) return true;
    refused_ = true;
    if (!p_.early) wrong("the ends never became ready");
    for (End const end : {End::sender, End::receiver}) {
      ConnectionStatus const s = w_.ends->status(end);
      if (!s.ended && !s.ready && !dead(end))
        wrong("the {} waits for its set-up for ever", end == End::sender ? "sender" : "receiver");
    }
    return false;
  }

  void traffic() {
    w_.load(p_.load);
    if (!p_.early) w_.inject(p_.script());
    if (p_.finish_after < p_.load.steps.size()) {
      w_.until([&] { return w_.received() >= p_.finish_after || finished(); }, limit);
      finish();
    }
    w_.until([&] { return finished(); }, limit);
    // Without failover nobody asks on behalf of an end that only waits.
    if (p_.wire == Wire::plain) return;
    if (!finished(End::sender) && !deaf(End::sender)) wrong("the sender hangs");
    if (!finished(End::receiver) && !deaf(End::receiver))
      wrong("the receiver hangs after {} steps", w_.received());
    if (!finished_) judge();
    if (p_.must_return && problems_.empty() && !w_.sender().ended) come_back();
  }

  [[nodiscard]] bool finished() { return finished(End::sender) && finished(End::receiver); }
  [[nodiscard]] bool finished(End end) { return dead(end) || w_.finished(end); }
  /// The host of that end was killed: nobody waits there any more.
  [[nodiscard]] bool dead(End end) {
    return w_.fired(soft::Action::kill) != 0 &&
           p_.script().find(end == End::sender ? "kill host0" : "kill host1") != std::string::npos;
  }

  /// That end waits for ever, as its probes are answered and no word can reach it.
  [[nodiscard]] bool deaf(End end) {
    std::string const script = p_.script();
    auto const never = [&](std::string_view what) {
      return script.find(what) != std::string::npos;
    };
    ConnectionStatus const peer = w_.ends->status(end == End::sender ? End::receiver : End::sender);
    // The peer's NIC answers for it, because it could not be made quiet, and posts nothing.
    if (p_.wire == Wire::in_band && peer.ended && peer.buffers_unsafe)
      return never("call flush 1..") || never("call post_send 1..");
    // Nobody can tell what its NIC has lost.
    return p_.wire == Wire::out_of_band && end == End::receiver && finished(End::sender) &&
           !peer.ended && loses_on_ack() && never("drop oob any\n");
  }

  void judge() {
    ConnectionStatus const s = w_.sender();
    ConnectionStatus const r = w_.receiver();
    bool const ended = s.ended || r.ended;
    if (p_.promise == Promise::lethal || (p_.early && p_.wire == Wire::plain)) {
      if (ended) judge_end(s, r);
      return;
    }
    if (behind()) return;
    if (ended) {
      wrong("it ended, sender: {}, receiver: {}", text(s.cause), text(r.cause));
      return;
    }
    if (p_.promise == Promise::calm) {
      if (s.counters.path_faults + r.counters.path_faults != 0) wrong("a path was left");
      if (s.counters.resent_steps != 0) wrong("steps were sent again");
    }
  }

  /// Both ends have ended by an error, or will.
  void judge_end(ConnectionStatus s, ConnectionStatus r) {
    bool const killed = w_.fired(soft::Action::kill) != 0;
    if (!killed && told() &&
        !w_.until([&] { return w_.sender().ended && w_.receiver().ended; }, limit))
      wrong("one end has ended, the other has not");
    s = w_.sender();
    r = w_.receiver();
    bool const heard =
        !killed &&
        (p_.wire == Wire::both || p_.wire == Wire::four_paths || p_.wire == Wire::out_of_band) &&
        p_.script().find("oob") == std::string::npos &&
        p_.script().find(" any any") == std::string::npos;
    if (heard && s.cause != r.cause && !(closed(s.cause) && closed(r.cause)))
      wrong("the causes differ, sender: {}, receiver: {}", text(s.cause), text(r.cause));
    if (s.ended && s.cause == Cause::none) wrong("the sender ended without a cause");
    if (r.ended && r.cause == Cause::none) wrong("the receiver ended without a cause");
  }
  static bool closed(Cause c) { return c == Cause::closed || c == Cause::peer_closed; }

  /// Everything has healed: back on the primary, and data travels on it.
  void come_back() {
    // Nobody notices a silent fault before there is traffic.
    test::Load busy = test::Load::uniform(200, 1000);  // So that the return meets data under way.
    busy.pause = 2_ms;
    coming_back_ = true;
    if (p_.slow_backup) w_.inject("every 5 delay data host0 by 4ms");
    for (Time const end = w_.now() + limit; w_.now() < end;) {
      w_.load(busy);
      if (!w_.run(limit)) return;
      std::uint64_t const before = primary_bytes();
      w_.load(test::Load::uniform(10, 1000));
      if (!w_.run(limit)) return;
      if (behind()) return;
      if (w_.sender().ended) return wrong("it ended later: {}", text(w_.sender().cause));
      bool const home = w_.sender().active_path == 0 && w_.receiver().active_path == 0;
      if (home && primary_bytes() - before >= 10 * 1000) return;
    }
    wrong("it does not return to the primary, it is on {}", w_.sender().active_path);
  }
  std::uint64_t primary_bytes() {
    std::uint64_t n = 0;
    for (std::size_t l = 0; l < p_.sender.primary.count; ++l) n += w_.data_bytes(0, l);
    return n;
  }

  void finish() {
    finished_ = true;
    switch (p_.finish) {
      case Finish::close_sender:
        return w_.ends->close(End::sender);
      case Finish::close_receiver:
        return w_.ends->close(End::receiver);
      case Finish::close_both:
        w_.ends->close(End::sender);
        return w_.ends->close(End::receiver);
      case Finish::abort_sender:
        return w_.ends->abort(End::sender);
      case Finish::abort_receiver:
        return w_.ends->abort(End::receiver);
      case Finish::destroy_sender:
      case Finish::destroy_receiver:
        return;  // With take_down(): nothing may be polled after it.
    }
  }

  /// What the world says of the bytes. A receiver whose NIC has lost completions may lack what the
  /// sender has completed; then both ends have said so.
  void data() {
    std::string const found = w_.problems();
    bool const excused = behind();
    for (std::size_t at = 0, end = 0; at < found.size(); at = end + 1) {
      end = found.find('\n', at);
      std::string const line = found.substr(at, end - at);
      if (!excused || !line.ends_with(": was sent and is not received") || !on_ack(line))
        problems_ += line + "\n";
    }
  }
  /// The step is released on acknowledgement: there is nothing to flush. What is sent while the
  /// connection comes back is in host memory.
  bool on_ack(std::size_t n) const {
    if (p_.load.kind == MemoryKind::host || p_.wire == Wire::plain) return true;
    if (n >= p_.load.steps.size()) return coming_back_;
    for (test::Piece const& piece : p_.load.steps[n]) {
      if (piece.receive != 0) return false;
    }
    return true;
  }
  bool on_ack(std::string const& line) const {  // "step 12: ..."
    return on_ack(std::stoul(line.substr(5)));
  }
  bool behind() {
    if (!made_) return false;
    // Without failover nobody tells the sender that the receiver ended before it took all in.
    if (p_.wire == Wire::plain) return p_.may_be_behind || w_.receiver().ended;
    if (!loses_on_ack()) return false;
    bool const ended = w_.sender().ended || w_.receiver().ended;
    return w_.sender().cause == Cause::position_behind || (p_.promise == Promise::lethal && ended);
  }

  /// The receiver's NIC may lose completions of steps that the sender has released on their
  /// acknowledgement.
  bool loses_on_ack() const {
    if (!p_.may_be_behind) return false;
    if (p_.switches.release != test::Switches::Release::ack_or_confirm) return false;
    bool any = coming_back_;
    for (std::size_t n = 0; n < p_.load.steps.size(); ++n) any = any || on_ack(n);
    return any;
  }

  void count() {
    Coverage& c = *watch.coverage;
    ++c.seeds;
    for (std::size_t a = 0; a < soft::actions; ++a)
      c.fired[a] += w_.fired(static_cast<soft::Action>(a));
    if (refused_ || !made_) {
      ++c.refused;
      return;
    }
    ConnectionStatus const s = w_.sender();
    ConnectionStatus const r = w_.receiver();
    c.failovers += s.counters.failovers;
    c.failbacks += s.counters.failbacks;
    c.rearms += s.counters.rearms;
    c.resent_steps += s.counters.resent_steps;
    c.flush_reads += r.counters.flush_reads;
    if (!s.ended && !r.ended)
      ++c.completed;
    else if (finished_ && closed(s.cause) && closed(r.cause))
      ++c.closed;
    else
      ++c.aborted;
  }

  void take_down() {
    if (made_) {
      bool const destroyed =
          p_.finish == Finish::destroy_sender || p_.finish == Finish::destroy_receiver;
      if (!finished_) finish();
      if (!destroyed) {
        // Who cannot be told that the peer has ended, and does not wait for anything, ends by
        // itself.
        await_closed(4_s);
        if (!told() || w_.fired(soft::Action::kill) != 0) {
          w_.ends->close(End::sender);
          w_.ends->close(End::receiver);
          await_closed(4_s);
        }
        if (!w_.ends->closed(End::sender)) wrong("the sender does not close");
        if (!w_.ends->closed(End::receiver)) wrong("the receiver does not close");
      }
    }
    w_.ends->destroy(p_.finish == Finish::destroy_sender ? End::sender : End::receiver);
    w_.ends->destroy(p_.finish == Finish::destroy_sender ? End::receiver : End::sender);
    w_.ends->release_memory();
    w_.ends->stop_listening();
    if (w_.queue_pairs() != 0) wrong("{} QPs are left", w_.queue_pairs());
    if (w_.registrations() != 0) wrong("{} registrations are left", w_.registrations());
  }

  /// An end can tell the other that it has ended, though it has left every path.
  [[nodiscard]] bool told() const {
    return (p_.wire == Wire::both || p_.wire == Wire::four_paths || p_.wire == Wire::out_of_band) &&
           p_.script().find("drop oob any\n") == std::string::npos && words_lost() < 16;
  }

  /// How many words the faults may take from the pipe. An end says its last ones about 20 times, in
  /// growing intervals, and then has lingered long enough.
  [[nodiscard]] std::size_t words_lost() const {
    std::size_t all = 0;
    std::string const script = p_.script();
    for (std::size_t at = 0; (at = script.find("drop oob host", at)) != std::string::npos; ++at) {
      std::string const line = script.substr(at, script.find('\n', at) - at);
      std::size_t const count = line.find("count ");
      all += count == std::string::npos ? 14 : std::stoul(line.substr(count + 6));  // For 400 ms.
    }
    return all;
  }

  void await_closed(Duration most) {
    Time const end = w_.now() + most;
    while (w_.now() < end && !(w_.ends->closed(End::sender) && w_.ends->closed(End::receiver)))
      w_.pass(end);
  }

  Plan const& p_;
  World w_;
  std::string problems_;
  bool made_ = false, refused_ = false, finished_ = false;
  bool coming_back_ = false;  ///< The load is over, and more is sent until it has returned.
};

}  // namespace

void note(End end, std::string_view input, Summary const& before, Summary const& after) {
  auto const e = static_cast<std::size_t>(end);
  Coverage& c = *watch.coverage;
  if (before.mode != after.mode)
    ++(end == End::sender ? c.sender : c.receiver)[before.mode][after.mode];
  if (before.ending != after.ending) ++c.ending[e][before.ending][after.ending];
  for (std::size_t q = 0; q < before.paths; ++q) {
    if (before.phase[q] != after.phase[q]) ++c.phase[e][before.phase[q]][after.phase[q]];
  }
  if (watch.tell == nullptr) return;
  std::string line = fmt::format(
      "{} {}: {}", end == End::sender ? "sender  " : "receiver", input,
      change(end == End::sender ? sender_modes : receiver_modes, before.mode, after.mode));
  if (before.ending != after.ending || after.ending != 0)
    line += fmt::format(", end {}", change(endings, before.ending, after.ending));
  if (before.epoch != after.epoch || before.path != after.path)
    line += fmt::format(", epoch {} on path {}", after.epoch, after.path);
  for (std::size_t q = 0; q < before.paths; ++q) {
    if (before.phase[q] != after.phase[q])
      line += fmt::format(", path {} {}", q, change(phases, before.phase[q], after.phase[q]));
  }
  tell(line);
}

void tell_message(End end, sync::Message const& m, PathId via) {
  tell(
      fmt::format("{} hears over {}: {} #{} epoch {} path {} position {} tail {} up {:b} down {:b} "
                  "numbers {},{}{}{}{}",
                  end == End::sender ? "sender  " : "receiver",
                  via == no_path ? "the pipe" : fmt::format("path {}", via),
                  kinds[static_cast<std::size_t>(m.kind)], m.sequence, m.epoch, m.path, m.position,
                  m.tail, m.up, m.down, m.numbers[0], m.numbers[1],
                  m.arm == sync::Arm::none ? "" : fmt::format(" arms path {}", m.arm_path),
                  m.quiet != 0 ? " quiet" : "", m.asks != 0 ? " asks" : ""));
}

std::string run(Plan const& p) { return Run{p}.go(); }

Cut shrink(std::uint64_t seed, Mutant mutant) {
  Coverage ignored;
  Coverage* const counts = std::exchange(watch.coverage, &ignored);
  Cut best;
  auto const fails = [&](Cut const& c) { return !run(make_plan(seed, mutant, c)).empty(); };
  auto const try_it = [&](Cut c) {
    if (!fails(c)) return false;
    best = std::move(c);
    return true;
  };
  std::size_t const faults = make_plan(seed, mutant, {}).faults.size();
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = 0; i < faults; ++i) {
      if (std::find(best.without.begin(), best.without.end(), i) != best.without.end()) continue;
      Cut c = best;
      c.without.push_back(i);
      smaller = try_it(c) || smaller;
    }
    std::size_t const steps = make_plan(seed, mutant, best).load.steps.size();
    for (std::size_t const fewer : {steps / 2, steps - 1}) {
      Cut c = best;
      c.steps = fewer;
      if (fewer != 0 && fewer < steps && try_it(c)) {
        smaller = true;
        break;
      }
    }
    Cut c = best;
    c.simple = true;
    if (!best.simple) smaller = try_it(c) || smaller;
  }
  watch.coverage = counts;
  return best;
}

}  // namespace vccl::sim
