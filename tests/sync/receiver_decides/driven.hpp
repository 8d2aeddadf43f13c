// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A machine of ReceiverDecides with what a test feeds it and what it asked for last.

#include <vccl/sync/receiver_decides.hpp>

#include <deque>

namespace vccl::test {

using sync::Action;
using sync::Arm;
using sync::Kind;
using sync::Message;
using sync::Start;
using sync::receiver_decides::Ending;
using sync::receiver_decides::Phase;
using Do = sync::Action::Kind;

/// A machine driven step by step. `out` holds what the last input led to.
template <class Machine>
struct Driven {
  using Mode = typename Machine::Mode;

  explicit Driven(Start const& s = {}) : machine{s} {}

  Machine machine;
  sync::Positions at{};
  sync::Actions out{};
  std::deque<Action> todo;  ///< All that was asked for and that a Pair has not done yet.

  auto& fault(PathId q, Cause why = Cause::retry_exceeded) { return fault(q, number(q), why); }
  auto& fault(PathId q, std::uint16_t n, Cause why) {
    return input([&] { machine.on_fault(q, n, why, out); });
  }
  auto& fatal(Cause why) {
    return input([&] { machine.on_fatal(why, out); });
  }
  auto& close() {
    return input([&] { machine.on_close(out); });
  }
  auto& fenced(PathId q, bool ok = true) {
    return input([&] { machine.on_fenced(q, number(q), ok, at, out); });
  }
  auto& fenced(PathId q, std::uint16_t n) {
    return input([&] { machine.on_fenced(q, n, true, at, out); });
  }
  auto& hear(Message const& m, PathId via = no_path) {
    return input([&] { machine.on_message(m, via, at, out); });
  }
  auto& prepared(PathId q, bool ok = true) {
    return input([&] { machine.on_prepared(q, number(q), ok, out); });
  }
  auto& connected(PathId q, bool ok = true) {
    return input([&] { machine.on_connected(q, number(q), ok, out); });
  }
  auto& probed(PathId q, bool ok = true) {
    return input([&] {
      if constexpr (requires { machine.on_probed(q, number(q), ok, at, out); }) {
        machine.on_probed(q, number(q), ok, at, out);
      } else {
        machine.on_probed(q, number(q), ok, out);
      }
    });
  }
  auto& drained() {
    return input([&] { machine.on_drained(out); });
  }
  auto& retry(PathId q) {
    return input([&] { machine.on_retry(q, out); });
  }
  auto& retry_timeout(PathId q) {
    return input([&] { machine.on_retry_timeout(q, out); });
  }
  auto& go_back_to(PathId q) {
    return input([&] { machine.on_return(q, out); });
  }
  auto& tick() {
    return input([&] { machine.on_tick(out); });
  }
  auto& outage() {
    return input([&] { machine.on_outage_deadline(out); });
  }
  auto& linger() {
    return input([&] { machine.on_linger_deadline(out); });
  }

  Message say() { return machine.snapshot(at); }
  Message say_answer() {
    Message m = say();
    m.asks = 0;
    return m;
  }
  /// A message goes out, whether it asks for one in return or not.
  bool spoke() const { return did(Do::send) != nullptr || did(Do::answer) != nullptr; }

  /// The action of that kind (on that path), or nullptr.
  Action const* did(Do kind, PathId q = no_path) const {
    for (Action const& a : out) {
      if (a.kind == kind && (q == no_path || a.path == q)) return &a;
    }
    return nullptr;
  }
  bool did_nothing() const { return out.count == 0; }

  auto const& common() const { return machine.common(); }
  std::uint16_t number(PathId q) const { return common().paths[q].number; }
  Phase phase(PathId q) const { return common().paths[q].phase; }
  Mode mode() const { return machine.mode(); }

 private:
  template <class F>
  Driven& input(F f) {
    out = {};
    f();
    todo.insert(todo.end(), out.begin(), out.end());
    return *this;
  }
};

using DrivenSender = Driven<sync::receiver_decides::Sender>;
using DrivenReceiver = Driven<sync::receiver_decides::Receiver>;

/// Two ends and a channel that loses nothing. `settle` lets both do all that they ask for, in the
/// order in which it was asked, and repeat, until nothing is left. `broken` paths cannot be armed.
struct Pair {
  explicit Pair(Start const& s = {}) : sender{s}, receiver{s} {}

  DrivenSender sender;
  DrivenReceiver receiver;
  std::uint8_t broken = 0;
  Action sender_finish{};
  Action receiver_finish{};
  int sender_switches = 0;
  int receiver_switches = 0;

  void settle() {
    for (int round = 0; round < 5; ++round) {
      while (!sender.todo.empty() || !receiver.todo.empty()) {
        carry_out(sender, receiver, sender_finish, sender_switches);
        carry_out(receiver, sender, receiver_finish, receiver_switches);
      }
      sender.tick();
      receiver.tick();
    }
  }
  void arm(PathId q) {
    receiver.retry(q);
    settle();
  }
  bool agree() const {
    return sender.common().epoch == receiver.common().epoch &&
           sender.common().path == receiver.common().path && sender.machine.may_post() &&
           receiver.machine.may_post() && !sender.machine.awaiting() &&
           !receiver.machine.awaiting();
  }
  bool over(Cause at_sender, Cause at_receiver) const {
    return sender.common().ending == Ending::over && receiver.common().ending == Ending::over &&
           sender_finish.cause == at_sender && receiver_finish.cause == at_receiver;
  }

 private:
  template <class Mine, class Peer>
  void carry_out(Mine& mine, Peer& peer, Action& finish, int& switches) {
    if (mine.todo.empty()) return;
    Action const a = mine.todo.front();
    mine.todo.pop_front();
    bool const works = a.path >= max_paths || (broken >> a.path & 1) == 0;
    switch (a.kind) {
      case Do::send:
        peer.hear(mine.say());
        break;
      case Do::answer:
        peer.hear(mine.say_answer());
        break;
      case Do::fence:
        mine.fenced(a.path);
        break;
      case Do::prepare:
        mine.prepared(a.path, works);
        break;
      case Do::connect:
        mine.connected(a.path, works);
        break;
      case Do::probe:
        if (works) peer.hear(mine.say(), a.path);
        mine.probed(a.path, works);
        break;
      case Do::drain:
        sender.drained();
        break;
      case Do::switch_to:
        ++switches;
        break;
      case Do::finish:
        finish = a;
        break;
      case Do::stop:
      case Do::armed:
        break;
    }
  }
};

}  // namespace vccl::test
