// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The rules of the model: what can happen in a state, what it leads to, and what must never be.

#include <cstdint>
#include <string>

#include <model/event.hpp>
#include <model/state.hpp>

namespace vccl::model {

/// Both drivers and what is between them. A driver does what Connection's does: it posts for CTS of
/// its epoch, counts completions of its epoch in order, and gives the machine positions.
class World {
 public:
  explicit World(Config const& c) : c_{c} {}

  /// Both ends connected, nothing posted.
  [[nodiscard]] State start() const {
    State s{c_};
    grant(s);
    tidy(s);
    return s;
  }

  /// All that can happen in `s`.
  void events(State const& s, Events& out) const;

  /// Lets `e` happen. Gives what is violated by it, or nullptr.
  const char* apply(State& s, Event const& e) const {
    wrong_ = nullptr;
    step(s, e);
    if (wrong_ == nullptr) check(s);
    tidy(s);
    return wrong_;
  }

  /// Sets what cannot make a difference any more to one value.
  void tidy(State& s) const;

  [[nodiscard]] Config const& config() const { return c_; }

  // What the drivers tell their machines.
  static sync::Positions at_sender(State const& s) { return {s.done, s.sent}; }
  sync::Positions at_receiver(State const& s) const { return {s.received, granted(s)}; }
  [[nodiscard]] std::uint8_t granted(State const& s) const {
    unsigned const end = s.received + unsigned{c_.window};
    return static_cast<std::uint8_t>(end < c_.steps ? end : c_.steps);
  }

  // The queue pairs of a path that belong to a flow: can they still carry it?
  static bool sender_live(State const& s, unsigned q, std::uint16_t number) {
    auto const& p = s.sender.common().paths[q];
    return p.number == number && (p.phase == Phase::up || p.phase == Phase::probing || p.phase == Phase::fencing);
  }
  static bool receiver_live(State const& s, unsigned q, std::uint16_t number) {
    auto const& p = s.receiver.common().paths[q];
    return p.number == number && s.connected[q] == number &&
           (p.phase == Phase::up || p.phase == Phase::probing || p.phase == Phase::fencing);
  }
  static bool link_works(State const& s, unsigned q) { return (s.links_down >> q & 1) == 0; }

  /// Without an out-of-band channel a message needs a path that its sender had up.
  [[nodiscard]] bool can_hear(State const& s, Note const& n, bool at_sender, bool link_must_work) const {
    if (c_.out_of_band) return true;
    for (unsigned q = 0; q < c_.paths; ++q) {
      if ((n.up >> q & 1) == 0 || (link_must_work && !link_works(s, q))) continue;
      if (at_sender ? sender_live(s, q, n.numbers[q]) : receiver_live(s, q, n.numbers[q])) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool is(Mutant m) const { return c_.mutant == m; }

  void events_of_paths(State const& s, Events& out, unsigned q) const;
  void events_of_data(State const& s, Events& out) const;
  void events_of_the_end(State const& s, Events& out) const;

  void step(State& s, Event const& e) const;
  void check(State const& s) const;
  void violated(const char* what) const {
    if (wrong_ == nullptr) wrong_ = what;
  }

  // Inputs of the machines.
  void hear_sender(State& s, Note n) const;
  void hear_receiver(State& s, Note n, PathId via, bool fresh) const;
  void sender_fenced(State& s, unsigned q, bool ok) const;
  void receiver_fenced(State& s, unsigned q, bool ok) const;
  template <class F>
  void sender_input(State& s, F f) const {
    sync::Actions out;
    f(s.sender, out);
    carry_out_sender(s, out);
  }
  template <class F>
  void receiver_input(State& s, F f) const {
    sync::Actions out;
    f(s.receiver, out);
    carry_out_receiver(s, out);
  }
  void carry_out_sender(State& s, sync::Actions const& out) const;
  void carry_out_receiver(State& s, sync::Actions const& out) const;
  Note note_of_sender(State const& s) const;
  Note note_of_receiver(State const& s) const;
  static bool said_last(Channel const& c, Note n) {
    if (c.count == 0) return false;
    n.asks = c.notes[c.count - 1u].asks;
    return n.asks != 0 && n == c.notes[c.count - 1u];
  }
  void say_sender(State& s, bool asks) const;
  void say_receiver(State& s, bool asks) const;

  // The data path.
  [[nodiscard]] bool can_post(State const& s) const;
  void post(State& s) const;
  void execute(State& s, unsigned q) const;
  void write(State const& s, unsigned step) const {
    if (step < s.received) violated("V2: an old packet changes a buffer that was handed to the consumer");
  }
  void poll_receiver(State& s, unsigned q) const;
  void count_received(State& s, bool flush_one) const;
  void count_done(State& s) const;
  void grant(State& s) const;
  void leave_strays(State& s, unsigned q) const;
  [[nodiscard]] bool needs_flush(unsigned step) const { return (c_.flushed >> step & 1) != 0; }
  /// The part of a position that a confirmation is needed for.
  [[nodiscard]] std::uint8_t confirmable(unsigned position) const {
    while (position > 0 && !needs_flush(position - 1)) --position;
    return static_cast<std::uint8_t>(position);
  }

  Config const& c_;
  mutable const char* wrong_ = nullptr;
};

inline Note note_of(Message const& m) {
  Note n;
  n.epoch = static_cast<Small>(m.epoch);
  n.drain = static_cast<Small>(m.drain);
  for (unsigned q = 0; q < static_cast<unsigned>(most_paths); ++q) n.numbers[q] = static_cast<Small>(m.numbers[q]);
  n.position = static_cast<std::uint8_t>(m.position);
  n.tail = static_cast<std::uint8_t>(m.tail);
  n.kind = m.kind;
  n.cause = m.cause;
  n.path = m.path;
  n.up = m.up;
  n.down = m.down;
  n.arm_path = m.arm_path;
  n.arm = m.arm;
  n.asks = m.asks;
  n.quiet = m.quiet;
  return n;
}

inline Message message_of(Note const& n, std::uint32_t sequence) {
  Message m;
  m.session = 1;
  m.sequence = sequence;
  m.epoch = n.epoch;
  m.drain = n.drain;
  for (unsigned q = 0; q < static_cast<unsigned>(most_paths); ++q) m.numbers[q] = n.numbers[q];
  m.position = n.position;
  m.tail = n.tail;
  m.kind = n.kind;
  m.cause = n.cause;
  m.path = n.path;
  m.up = n.up;
  m.down = n.down;
  m.arm_path = n.arm_path;
  m.arm = n.arm;
  m.asks = n.asks;
  m.quiet = n.quiet;
  return m;
}

/// What the sender would say now, without what no receiver looks at.
inline Note World::note_of_sender(State const& s) const {
  Sender copy = s.sender;
  Note n = note_of(copy.snapshot(at_sender(s)));
  if (n.kind != sync::Kind::drained) n.position = 0, n.drain = 0;
  if (n.kind != sync::Kind::closing) n.tail = 0;
  if (n.kind != sync::Kind::suspect) n.path = 0;
  if (s.sender.common().ending == Ending::no) n.cause = Cause::none;
  n.quiet = 0;
  return n;
}

/// What the receiver would say now, without what no sender looks at: path, position and drain count
/// with an epoch that is news, a drain also by itself, a position also at the end.
inline Note World::note_of_receiver(State const& s) const {
  Receiver copy = s.receiver;
  Note n = note_of(copy.snapshot(at_receiver(s)));
  n.tail = 0;
  if (c_.out_of_band) n.up = 0;
  if (s.receiver.common().ending != Ending::no) {
    n.path = 0, n.drain = 0;
    return n;
  }
  n.quiet = 0;
  n.cause = Cause::none;
  if (s.receiver.adopted()) {
    n.path = 0, n.position = 0;
    if (n.kind != sync::Kind::drain) n.drain = 0;
  }
  return n;
}

// ---- What can happen ------------------------------------------------------------------------------

inline void World::events(State const& s, Events& out) const {
  using K = Event::Kind;
  bool const over = s.sender.common().ending == Ending::over && s.receiver.common().ending == Ending::over;
  if (over) return;
  for (unsigned q = 0; q < c_.paths; ++q) events_of_paths(s, out, q);
  for (unsigned i = 0; i < s.to_receiver.count; ++i) {
    if (can_hear(s, s.to_receiver.notes[i], false, false)) out.add(K::deliver_to_receiver, 0, i);
  }
  for (unsigned i = 0; i < s.to_sender.count; ++i) {
    if (can_hear(s, s.to_sender.notes[i], true, false)) out.add(K::deliver_to_sender, 0, i);
  }
  if (s.sender.awaiting() && !said_last(s.to_receiver, note_of_sender(s))) out.add(K::sender_tick);
  if (s.receiver.awaiting() && !said_last(s.to_sender, note_of_receiver(s))) out.add(K::receiver_tick);
  if (is(Mutant::forgotten_incarnation)) out.add(K::foreign_message);
  events_of_data(s, out);
  events_of_the_end(s, out);
}

inline void World::events_of_paths(State const& s, Events& out, unsigned q) const {
  using K = Event::Kind;
  auto const& sp = s.sender.common().paths[q];
  auto const& rp = s.receiver.common().paths[q];
  bool const s_ends = s.sender.common().ending != Ending::no;
  bool const r_ends = s.receiver.common().ending != Ending::no;
  bool const works = link_works(s, q);

  if (!works) out.add(K::link_up, q);
  if (works && s.faults > 0) out.add(K::link_down, q);
  if (!s.sender.common().is_lost(static_cast<PathId>(q)) && !s_ends && (!works || s.faults > 0)) out.add(K::sender_detects, q);
  if (!s.receiver.common().is_lost(static_cast<PathId>(q)) && !r_ends && (!works || s.faults > 0)) out.add(K::receiver_detects, q);

  if (sp.phase == Phase::fencing) out.add(K::sender_fenced, q);
  if (sp.phase == Phase::preparing) out.add(works ? K::sender_prepared : K::sender_prepare_fails, q);
  if (sp.phase == Phase::probing && sp.probe_asked) {
    if (receiver_live(s, q, sp.number) || is(Mutant::unnumbered_and_unprobed)) out.add(K::sender_probed, q);
    if (!works || !receiver_live(s, q, sp.number)) out.add(K::sender_probe_fails, q);
  }
  if (rp.phase == Phase::fencing) out.add(K::receiver_fenced, q);
  if (rp.phase == Phase::preparing) out.add(works ? K::receiver_prepared : K::receiver_prepare_fails, q);
  if (rp.phase == Phase::probing && !rp.probed) {
    bool const landed = (s.probe_landed >> q & 1) != 0;
    bool const live = (sender_live(s, q, rp.number) && s.connected[q] == rp.number) || is(Mutant::unnumbered_and_unprobed);
    if (landed) out.add(K::receiver_probed, q);
    if (!landed && live) out.add(K::probe_reaches_sender, q);
    if (!works || !live) out.add(K::receiver_probe_fails, q);
  }
  if (!r_ends && s.repairs > 0 && rp.phase == Phase::down && s.receiver.arming() == no_path &&
      s.receiver.mode() != Receiver::Mode::deciding &&
      (q != s.receiver.common().path || s.receiver.mode() == Receiver::Mode::stranded)) {
    out.add(K::retry, q);
  }
  if (!r_ends && s.receiver.arming() == q) out.add(K::retry_timeout, q);
  if (!r_ends && s.receiver.mode() == Receiver::Mode::running && s.receiver.adopted() &&
      s.receiver.common().is_up(static_cast<PathId>(q)) && q < s.receiver.common().path) {
    out.add(K::plan_return, q);
  }
}

inline void World::events_of_data(State const& s, Events& out) const {
  using K = Event::Kind;
  auto const& sc = s.sender.common();
  auto const& rc = s.receiver.common();
  if (can_post(s)) out.add(K::post, sc.path);
  for (unsigned q = 0; q < c_.paths; ++q) {
    Flow const& f = s.flows[q];
    Grants const& g = s.grants[q];
    if (c_.rings && g.landed < g.posted && sender_live(s, q, g.number)) out.add(K::grant_lands, q);
    bool const has_receive = !is(Mutant::receives_tied_to_steps) || s.receive_on[f.executed % most_steps] == q;
    if (f.executed < f.posted && receiver_live(s, q, f.number) && has_receive) out.add(K::execute, q);
    // Without a new packet number what is late fits the queue pair that was made anew.
    bool const fits = !is(Mutant::no_new_psn) || rc.paths[q].phase == Phase::probing || rc.is_up(static_cast<PathId>(q));
    if (s.strays[q].next < s.strays[q].end && fits) out.add(K::execute_stray, q);
    if (f.acked < f.executed && sender_live(s, q, f.number)) out.add(K::acknowledge, q);
    if (f.polled < f.executed && rc.is_up(static_cast<PathId>(q)) && f.number == rc.paths[q].number) out.add(K::poll_receiver, q);
  }
  if (s.received < s.polled && rc.is_up(rc.path)) out.add(K::flush);
  if (confirmable(s.received) > s.confirmed && sc.epoch == rc.epoch && sender_live(s, sc.path, sc.paths[sc.path].number)) {
    out.add(K::confirm);
  }
  if (s.sender.mode() == Sender::Mode::draining && sc.ending == Ending::no && (s.acked == s.sent || is(Mutant::no_drain))) {
    out.add(K::drained);
  }
}

inline void World::events_of_the_end(State const& s, Events& out) const {
  using K = Event::Kind;
  auto const& sc = s.sender.common();
  auto const& rc = s.receiver.common();
  if (s.ends > 0) {
    if (sc.ending == Ending::no) {
      out.add(K::sender_closes);
      out.add(K::sender_fatal);
      if (!s.sender.has_usable_path()) out.add(K::sender_outage);
    }
    if (rc.ending == Ending::no) {
      out.add(K::receiver_closes);
      out.add(K::receiver_fatal);
      if (!s.receiver.has_usable_path()) out.add(K::receiver_outage);
    }
    for (unsigned q = 0; q < c_.paths; ++q) {
      if (sc.paths[q].phase == Phase::fencing) out.add(K::sender_fence_fails, q);
      if (rc.paths[q].phase == Phase::fencing) out.add(K::receiver_fence_fails, q);
    }
  }
  // Fences have a deadline that is much shorter than that of lingering.
  if (c_.lingers) {
    if (sc.ending != Ending::no && sc.ending != Ending::over && sc.all_quiet()) out.add(K::sender_lingers);
    if (rc.ending != Ending::no && rc.ending != Ending::over && rc.all_quiet()) out.add(K::receiver_lingers);
  }
}

// ---- What it leads to -----------------------------------------------------------------------------

inline void World::step(State& s, Event const& e) const {
  using K = Event::Kind;
  PathId const q = e.path;
  auto const bit = static_cast<std::uint8_t>(1u << q);
  auto const s_number = s.sender.common().paths[q].number;
  auto const r_number = s.receiver.common().paths[q].number;
  auto const spend_fault = [&] {
    if (!link_works(s, q)) return;  // Its going down was the fault.
    --s.faults;
    ++s.excused;
  };
  switch (e.kind) {
    case K::link_down:
      s.links_down = static_cast<std::uint8_t>(s.links_down | bit);
      --s.faults;
      ++s.excused;
      break;
    case K::link_up: s.links_down = static_cast<std::uint8_t>(s.links_down & ~bit); break;
    case K::sender_detects:
      spend_fault();
      sender_input(s, [&](auto& m, auto& out) { m.on_fault(q, s_number, Cause::retry_exceeded, out); });
      break;
    case K::receiver_detects:
      spend_fault();
      receiver_input(s, [&](auto& m, auto& out) { m.on_fault(q, r_number, Cause::port_down, out); });
      break;
    case K::sender_fenced: sender_fenced(s, q, true); break;
    case K::receiver_fenced: receiver_fenced(s, q, true); break;
    case K::sender_fence_fails:
      --s.ends;
      sender_fenced(s, q, false);
      break;
    case K::receiver_fence_fails:
      --s.ends;
      receiver_fenced(s, q, false);
      break;
    case K::sender_prepared:
    case K::sender_prepare_fails:
      sender_input(s, [&](auto& m, auto& out) { m.on_prepared(q, s_number, e.kind == K::sender_prepared, out); });
      break;
    case K::receiver_prepared:
    case K::receiver_prepare_fails:
      receiver_input(s, [&](auto& m, auto& out) { m.on_prepared(q, r_number, e.kind == K::receiver_prepared, out); });
      break;
    case K::sender_probed:
    case K::sender_probe_fails:
      sender_input(s, [&](auto& m, auto& out) { m.on_probed(q, s_number, e.kind == K::sender_probed, out); });
      break;
    case K::receiver_probed:
    case K::receiver_probe_fails:
      receiver_input(s, [&](auto& m, auto& out) {
        m.on_probed(q, r_number, e.kind == K::receiver_probed, at_receiver(s), out);
      });
      break;
    case K::probe_reaches_sender:  // Behind newer news: when it is news itself, that is another event.
      s.probe_landed = static_cast<std::uint8_t>(s.probe_landed | bit);
      hear_receiver(s, note_of_receiver(s), q, false);
      break;
    case K::deliver_to_receiver: {
      s.to_receiver.forget(e.choice);
      hear_sender(s, s.to_receiver.notes[0]);
      break;
    }
    case K::deliver_to_sender: {
      s.to_sender.forget(e.choice);
      hear_receiver(s, s.to_sender.notes[0], no_path, true);
      break;
    }
    case K::sender_tick: sender_input(s, [](auto& m, auto& out) { m.on_tick(out); }); break;
    case K::receiver_tick: receiver_input(s, [](auto& m, auto& out) { m.on_tick(out); }); break;
    case K::foreign_message: {
      Note n = note_of_receiver(s);
      ++n.epoch;
      n.path = 1;
      n.position = c_.steps;
      hear_receiver(s, n, no_path, true);
      break;
    }
    case K::retry:
      --s.repairs;
      receiver_input(s, [&](auto& m, auto& out) { m.on_retry(q, out); });
      break;
    case K::retry_timeout: receiver_input(s, [&](auto& m, auto& out) { m.on_retry_timeout(q, out); }); break;
    case K::plan_return:
      ++s.excused;
      receiver_input(s, [&](auto& m, auto& out) { m.on_return(q, out); });
      break;
    case K::grant_lands: {
      Grants& g = s.grants[q];
      s.ring[is(Mutant::one_cts_ring) ? 0u : q][g.landed++] = g.epoch;
      break;
    }
    case K::post: post(s); break;
    case K::execute: execute(s, q); break;
    case K::execute_stray: write(s, s.strays[q].next++); break;
    case K::acknowledge: {
      Flow& f = s.flows[q];
      ++f.acked;
      auto const& c = s.sender.common();
      if (q != c.path || f.epoch != c.epoch) break;
      s.acked = f.acked;
      count_done(s);
      break;
    }
    case K::poll_receiver: poll_receiver(s, q); break;
    case K::flush: count_received(s, true); break;
    case K::confirm:
      s.confirmed = confirmable(s.received);
      count_done(s);
      break;
    case K::drained: sender_input(s, [](auto& m, auto& out) { m.on_drained(out); }); break;
    case K::sender_closes:
      --s.ends;
      sender_input(s, [](auto& m, auto& out) { m.on_close(out); });
      break;
    case K::receiver_closes:
      --s.ends;
      receiver_input(s, [](auto& m, auto& out) { m.on_close(out); });
      break;
    case K::sender_fatal:
      --s.ends;
      sender_input(s, [](auto& m, auto& out) { m.on_fatal(Cause::local_error, out); });
      break;
    case K::receiver_fatal:
      --s.ends;
      receiver_input(s, [](auto& m, auto& out) { m.on_fatal(Cause::remote_error, out); });
      break;
    case K::sender_outage:
      --s.ends;
      sender_input(s, [](auto& m, auto& out) { m.on_outage_deadline(out); });
      break;
    case K::receiver_outage:
      --s.ends;
      receiver_input(s, [](auto& m, auto& out) { m.on_outage_deadline(out); });
      break;
    case K::sender_lingers:
      s.lingered |= 1;
      sender_input(s, [](auto& m, auto& out) { m.on_linger_deadline(out); });
      break;
    case K::receiver_lingers:
      s.lingered |= 2;
      receiver_input(s, [](auto& m, auto& out) { m.on_linger_deadline(out); });
      break;
  }
}

inline void World::hear_sender(State& s, Note n) const {
  if ((is(Mutant::unnumbered_answers) || is(Mutant::unnumbered_and_unprobed)) && n.arm == sync::Arm::answer) {
    s.connected[n.arm_path] = n.numbers[n.arm_path];
    n.numbers[n.arm_path] = static_cast<Small>(s.receiver.common().paths[n.arm_path].number);
  }
  if (is(Mutant::no_drain) && n.kind == sync::Kind::drained) n.position = s.received;
  if (is(Mutant::reused_epoch)) {  // Epochs are counted 1, 2, 1, 2.
    Epoch const mine = s.receiver.common().epoch;
    n.epoch = static_cast<Small>(((mine - n.epoch) & 1u) == 0 ? mine : mine - 1);
  }
  receiver_input(s, [&](auto& m, auto& out) {
    m.on_message(message_of(n, m.common().peer_sequence + 1), no_path, at_receiver(s), out);
  });
}

inline void World::hear_receiver(State& s, Note n, PathId via, bool fresh) const {
  if (is(Mutant::reused_epoch)) n.epoch = static_cast<Small>(1 + ((n.epoch - 1u) & 1u));
  bool const is_end = n.kind == sync::Kind::abort || n.kind == sync::Kind::closing || n.kind == sync::Kind::closed;
  if (!is_end && n.epoch <= s.sender.common().epoch) n.position = 0;  // Nobody looks at it.
  sender_input(s, [&](auto& m, auto& out) {
    std::uint32_t const last = m.common().peer_sequence;
    m.on_message(message_of(n, fresh ? last + 1 : last), via, at_sender(s), out);
  });
}

inline void World::sender_fenced(State& s, unsigned q, bool ok) const {
  if (is(Mutant::no_fence)) leave_strays(s, q);
  auto const number = s.sender.common().paths[q].number;
  sender_input(s, [&](auto& m, auto& out) { m.on_fenced(static_cast<PathId>(q), number, ok, at_sender(s), out); });
}

inline void World::receiver_fenced(State& s, unsigned q, bool ok) const {
  auto const number = s.receiver.common().paths[q].number;
  Flow& f = s.flows[q];
  bool const in_use = q == s.receiver.common().path && f.epoch == s.receiver.common().epoch && f.number == number;
  auto const drain = [&] {
    while (in_use && f.polled < f.executed) poll_receiver(s, q);
    f.polled = f.executed;
  };
  if (is(Mutant::no_fence) || is(Mutant::fence_announced_early) || is(Mutant::no_new_psn)) leave_strays(s, q);
  if (!is(Mutant::position_before_drain)) drain();
  receiver_input(s, [&](auto& m, auto& out) { m.on_fenced(static_cast<PathId>(q), number, ok, at_receiver(s), out); });
  if (is(Mutant::position_before_drain)) {
    std::uint8_t const before = s.received;
    if (in_use) s.polled = f.executed;
    while (s.received < s.polled && !needs_flush(s.received)) ++s.received;
    s.polled = s.received;
    if (s.received != before) count_done(s);
  }
  f.polled = f.executed;
}

inline void World::carry_out_sender(State& s, sync::Actions const& out) const {
  for (sync::Action const& a : out) {
    switch (a.kind) {
      case sync::Action::Kind::send: say_sender(s, true); break;
      case sync::Action::Kind::answer: say_sender(s, false); break;
      case sync::Action::Kind::switch_to: {
        auto const position = static_cast<std::uint8_t>(a.position);
        if (position < s.done) violated("V3: the sender resumes below what it has completed");
        if (position > s.received) violated("V3: the sender takes for received what is not");
        std::uint8_t const resume = is(Mutant::sender_done) ? s.done : position;
        s.sent = s.acked = resume;
        if (s.confirmed < confirmable(position)) s.confirmed = confirmable(position);
        if (!is(Mutant::sender_done)) s.done = position;
        break;
      }
      case sync::Action::Kind::connect:  // Local, and the peer cannot tell it from what is before it.
        sender_input(s, [&](auto& m, auto& more) { m.on_connected(a.path, a.number, true, more); });
        break;
      default: break;  // Work that is under way is seen from the phases of the machine.
    }
  }
}

inline void World::carry_out_receiver(State& s, sync::Actions const& out) const {
  for (sync::Action const& a : out) {
    switch (a.kind) {
      case sync::Action::Kind::send: say_receiver(s, true); break;
      case sync::Action::Kind::answer: say_receiver(s, false); break;
      case sync::Action::Kind::prepare:
        s.connected[a.path] = static_cast<Small>(a.number);
        s.probe_landed = static_cast<std::uint8_t>(s.probe_landed & ~(1u << a.path));
        break;
      case sync::Action::Kind::connect:
        receiver_input(s, [&](auto& m, auto& more) { m.on_connected(a.path, a.number, true, more); });
        break;
      case sync::Action::Kind::switch_to:
        if (s.received < s.done && !c_.behind_must_end) violated("V3: the sender has completed a step that the receiver lacks");
        s.polled = s.received;
        grant(s);
        break;
      default: break;
    }
  }
}

inline void World::say_sender(State& s, bool asks) const {
  Note n = note_of_sender(s);
  if (!asks) n.asks = 0;
  s.to_receiver.say(n, c_.remembered);
}

inline void World::say_receiver(State& s, bool asks) const {
  if (is(Mutant::switch_sent_once) && !s.receiver.adopted()) {
    if (s.announced == s.receiver.common().epoch) return;
    s.announced = static_cast<Small>(s.receiver.common().epoch);
  }
  Note n = note_of_receiver(s);
  if (!asks) n.asks = 0;
  s.to_sender.say(n, c_.remembered);
}

// ---- Data -------------------------------------------------------------------------------------------

inline bool World::can_post(State const& s) const {
  auto const& c = s.sender.common();
  if (!s.sender.may_post() || s.sent >= c_.steps) return false;
  if (c_.rings) return s.ring[is(Mutant::one_cts_ring) ? 0u : c.path][s.sent] == c.epoch;
  return s.sent < granted(s);
}

inline void World::post(State& s) const {
  auto const& c = s.sender.common();
  Flow& f = s.flows[c.path];
  std::uint16_t const number = c.paths[c.path].number;
  if (f.epoch != c.epoch || f.number != number) {
    if (f.executed < f.posted && receiver_live(s, c.path, f.number)) {
      s.strays[c.path] = {f.epoch, f.executed, f.posted};
    }
    f = {.epoch = static_cast<Small>(c.epoch), .number = static_cast<Small>(number), .posted = s.sent, .executed = s.sent, .acked = s.sent, .polled = s.sent};
  }
  f.posted = ++s.sent;
}

inline void World::execute(State& s, unsigned q) const {
  Flow& f = s.flows[q];
  write(s, f.executed);
  ++f.executed;
}

inline void World::poll_receiver(State& s, unsigned q) const {
  Flow& f = s.flows[q];
  unsigned const step = f.polled++;
  auto const& c = s.receiver.common();
  Epoch const seen = is(Mutant::reused_epoch) ? c.epoch - ((c.epoch - f.epoch) & 1u) : f.epoch;
  if (seen != c.epoch || c.path != q) return;  // Of an older epoch: changes nothing.
  if (step < s.polled) return violated("V1: a step reaches the consumer twice");
  if (step > s.polled) return violated("V1: a step reaches the consumer before the one before it");
  ++s.polled;
  if (s.receiver.adopted() == false) s.receiver.on_data();
  count_received(s, false);
}

/// Hands over what is complete, in order; `flush_one`: the flush of the oldest is done.
inline void World::count_received(State& s, bool flush_one) const {
  if (flush_one) ++s.received;
  while (s.received < s.polled && !needs_flush(s.received)) ++s.received;
  grant(s);
}

/// Releases what is complete: acknowledged, and confirmed where the receiver flushes.
inline void World::count_done(State& s) const {
  while (s.done < s.acked && (!needs_flush(s.done) || is(Mutant::release_on_ack) || s.done < s.confirmed)) ++s.done;
}

/// Posts CTS, and receives, for all that the window allows.
inline void World::grant(State& s) const {
  auto const& c = s.receiver.common();
  if (!s.receiver.may_post()) return;
  if (is(Mutant::receives_tied_to_steps)) {
    for (unsigned i = s.received; i < granted(s); ++i) {
      if (s.receive_on[i] == no_path) s.receive_on[i] = c.path;
    }
  }
  if (!c_.rings) return;
  Grants& g = s.grants[c.path];
  std::uint16_t const number = c.paths[c.path].number;
  if (g.epoch != c.epoch || g.number != number) g = {static_cast<Small>(c.epoch), static_cast<Small>(number), s.received, s.received};
  g.posted = granted(s);
}

/// A queue pair that is not really quiet, or whose packets fit its successor.
inline void World::leave_strays(State& s, unsigned q) const {
  Flow& f = s.flows[q];
  if (f.executed >= f.posted) return;
  s.strays[q] = {f.epoch, f.executed, f.posted};
}

// ---- What must never be -------------------------------------------------------------------------------

inline void World::check(State const& s) const {
  auto const& sc = s.sender.common();
  auto const& rc = s.receiver.common();
  for (unsigned q = 0; q < c_.paths; ++q) {
    Flow const& f = s.flows[q];
    if (f.acked < s.done && f.acked < f.posted && (sender_live(s, q, f.number) || (is(Mutant::no_fence) && s.strays[q].next < s.strays[q].end))) {
      violated("V2: the sender's NIC can still read a buffer that was released");
    }
    bool const armed = sc.is_up(static_cast<PathId>(q)) && rc.is_up(static_cast<PathId>(q)) && sc.paths[q].number == rc.paths[q].number;
    if (armed && s.connected[q] != rc.paths[q].number) violated("V4: a path is armed at both ends whose queue pairs do not fit");
  }
  // One event costs at most one switch.
  if (rc.epoch - 1 > s.excused) violated("V6: a switch without a fault or a plan");
  if (newer(sc.epoch, rc.epoch)) violated("the sender is ahead of the receiver");
  if (c_.ends == 0 && sc.ending != Ending::no && !(c_.behind_must_end && sc.cause == Cause::position_behind)) {
    violated(sc.cause == Cause::position_behind ? "V3: the sender has completed a step that the receiver lacks"
                                                : "V4: the connection ends for no reason");
  }
  if (sc.ending != Ending::over || rc.ending != Ending::over) return;

  if (s.done > s.received && sc.cause != Cause::position_behind) {
    violated("V3: the sender has completed a step that the receiver lacks");
  }
  if (s.sender.peer_position() > s.received) violated("V3: the sender ends with a position beyond the receiver's");
  if (s.sender.peer_position_is_final() && s.sender.peer_position() != s.received) {
    violated("V3: the final position is not the receiver's");
  }
  if (s.lingered != 0) return;
  if (!s.sender.peer_position_is_final()) violated("V3: the sender ends without the receiver's last word although it got through");
  auto const is_close = [](Cause c) { return c == Cause::closed || c == Cause::peer_closed; };
  if (sc.cause != rc.cause && !(is_close(sc.cause) && is_close(rc.cause))) violated("V5: the ends report different causes");
  if (sc.cause == Cause::peer_closed && rc.cause == Cause::peer_closed) violated("V5: nobody closed");
}

inline void World::tidy(State& s) const {
  auto const& sc = s.sender.common();
  auto const& rc = s.receiver.common();
  if (s.sender.quiet() && sc.ending == Ending::no && s.sender.mode() == Sender::Mode::suspended) {
    s.sent = s.acked = s.done;  // Resumes where the receiver says.
  }
  for (unsigned q = 0; q < c_.paths; ++q) {
    if (rc.paths[q].phase != Phase::probing || rc.paths[q].probed) s.probe_landed = static_cast<std::uint8_t>(s.probe_landed & ~(1u << q));
    Flow& f = s.flows[q];
    bool const s_live = sender_live(s, q, f.number);
    bool const r_live = receiver_live(s, q, f.number);
    if (!r_live) f.polled = f.executed;
    if (!s_live) f.acked = f.executed;
    if (!s_live && !r_live) f.posted = f.executed;
    if (f.acked == f.posted && f.executed == f.posted && f.polled == f.posted) f = {};
    Stray& t = s.strays[q];
    if (t.next >= t.end) t = {};
    if (!c_.rings) continue;
    Grants& g = s.grants[q];
    if (g.landed == g.posted && g.epoch != rc.epoch) g = {};
    if (!sender_live(s, q, g.number) && g.number != rc.paths[q].number) g = {};
    for (Small& e : s.ring[q]) {
      if (e < sc.epoch) e = 0;
    }
  }
}

}  // namespace vccl::model
