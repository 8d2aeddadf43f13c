// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What an event leads to: the inputs of the machines, and what is done with their actions.

#include <model/note.hpp>
#include <model/world.hpp>

namespace vccl::model {

inline Note World::note_of_sender(State const& s) const {
  Sender copy = s.sender;
  Note n = note_of(copy.snapshot(at_sender(s)));
  if (n.kind != sync::Kind::drained) n.position = 0, n.drain = 0;
  if (n.kind != sync::Kind::closing && n.kind != sync::Kind::closed) n.tail = 0;
  if (n.kind != sync::Kind::suspect) n.path = 0;
  if (s.sender.common().ending == Ending::no) n.cause = Cause::none, n.quiet = 0;
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
    case K::link_up:
      s.links_down = static_cast<std::uint8_t>(s.links_down & ~bit);
      break;
    case K::sender_detects:
      spend_fault();
      sender_input(
          s, [&](auto& m, auto& out) { m.on_fault(q, s_number, Cause::retry_exceeded, out); });
      break;
    case K::receiver_detects:
      spend_fault();
      receiver_input(s,
                     [&](auto& m, auto& out) { m.on_fault(q, r_number, Cause::port_down, out); });
      break;
    case K::sender_fenced:
      sender_fenced(s, q, true);
      break;
    case K::receiver_fenced:
      receiver_fenced(s, q, true);
      break;
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
      sender_input(s, [&](auto& m, auto& out) {
        m.on_prepared(q, s_number, e.kind == K::sender_prepared, out);
      });
      break;
    case K::receiver_prepared:
    case K::receiver_prepare_fails:
      receiver_input(s, [&](auto& m, auto& out) {
        m.on_prepared(q, r_number, e.kind == K::receiver_prepared, out);
      });
      break;
    case K::sender_probed:
    case K::sender_probe_fails:
      sender_input(s, [&](auto& m, auto& out) {
        m.on_probed(q, s_number, e.kind == K::sender_probed, out);
      });
      break;
    case K::receiver_probed:
    case K::receiver_probe_fails:
      receiver_input(s, [&](auto& m, auto& out) {
        m.on_probed(q, r_number, e.kind == K::receiver_probed, at_receiver(s), out);
      });
      break;
    case K::probe_reaches_sender:  // Behind newer news: when it is news itself, that is another
                                   // event.
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
    case K::sender_tick:
      sender_input(s, [](auto& m, auto& out) { m.on_tick(out); });
      break;
    case K::receiver_tick:
      receiver_input(s, [](auto& m, auto& out) { m.on_tick(out); });
      break;
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
    case K::retry_timeout:
      receiver_input(s, [&](auto& m, auto& out) { m.on_retry_timeout(q, out); });
      break;
    case K::plan_return:
      ++s.excused;
      receiver_input(s, [&](auto& m, auto& out) { m.on_return(q, out); });
      break;
    case K::grant_lands: {
      Grants& g = s.grants[q];
      s.ring[is(Mutant::one_cts_ring) ? 0u : q][g.landed++] = g.epoch;
      break;
    }
    case K::post:
      post(s);
      break;
    case K::execute:
      execute(s, q);
      break;
    case K::execute_stray:
      write(s, s.strays[q].next++);
      break;
    case K::acknowledge: {
      Flow& f = s.flows[q];
      ++f.acked;
      auto const& c = s.sender.common();
      if (q != c.path || f.epoch != c.epoch) break;
      s.acked = f.acked;
      count_done(s);
      break;
    }
    case K::poll_receiver:
      poll_receiver(s, q);
      break;
    case K::flush:
      count_received(s, true);
      break;
    case K::confirm:
      s.confirmed = confirmable(s.received);
      count_done(s);
      break;
    case K::drained:
      sender_input(s, [](auto& m, auto& out) { m.on_drained(out); });
      break;
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
  if ((is(Mutant::unnumbered_answers) || is(Mutant::unnumbered_and_unprobed)) &&
      n.arm == sync::Arm::answer) {
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
  bool const is_end =
      n.kind == sync::Kind::abort || n.kind == sync::Kind::closing || n.kind == sync::Kind::closed;
  if (!is_end && n.epoch <= s.sender.common().epoch) n.position = 0;  // Nobody looks at it.
  sender_input(s, [&](auto& m, auto& out) {
    std::uint32_t const last = m.common().peer_sequence;
    m.on_message(message_of(n, fresh ? last + 1 : last), via, at_sender(s), out);
  });
}

inline void World::sender_fenced(State& s, unsigned q, bool ok) const {
  if (is(Mutant::no_fence)) leave_strays(s, q);
  auto const number = s.sender.common().paths[q].number;
  sender_input(s, [&](auto& m, auto& out) {
    m.on_fenced(static_cast<PathId>(q), number, ok, at_sender(s), out);
  });
}

inline void World::receiver_fenced(State& s, unsigned q, bool ok) const {
  auto const number = s.receiver.common().paths[q].number;
  Flow& f = s.flows[q];
  bool const in_use =
      q == s.receiver.common().path && f.epoch == s.receiver.common().epoch && f.number == number;
  auto const drain = [&] {
    while (in_use && f.polled < f.executed) poll_receiver(s, q);
    f.polled = f.executed;
  };
  if (is(Mutant::no_fence) || is(Mutant::fence_announced_early) || is(Mutant::no_new_psn))
    leave_strays(s, q);
  if (!is(Mutant::position_before_drain)) drain();
  receiver_input(s, [&](auto& m, auto& out) {
    m.on_fenced(static_cast<PathId>(q), number, ok, at_receiver(s), out);
  });
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
      case sync::Action::Kind::send:
        say_sender(s, true);
        break;
      case sync::Action::Kind::answer:
        say_sender(s, false);
        break;
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
      case sync::Action::Kind::connect:  // Local, and the peer cannot tell it from what is before
                                         // it.
        sender_input(s, [&](auto& m, auto& more) { m.on_connected(a.path, a.number, true, more); });
        break;
      default:
        break;  // Work that is under way is seen from the phases of the machine.
    }
  }
}

inline void World::carry_out_receiver(State& s, sync::Actions const& out) const {
  for (sync::Action const& a : out) {
    switch (a.kind) {
      case sync::Action::Kind::send:
        say_receiver(s, true);
        break;
      case sync::Action::Kind::answer:
        say_receiver(s, false);
        break;
      case sync::Action::Kind::prepare:
        s.connected[a.path] = static_cast<Small>(a.number);
        s.probe_landed = static_cast<std::uint8_t>(s.probe_landed & ~(1u << a.path));
        break;
      case sync::Action::Kind::connect:
        receiver_input(s,
                       [&](auto& m, auto& more) { m.on_connected(a.path, a.number, true, more); });
        break;
      case sync::Action::Kind::switch_to:
        if (s.received < s.done && !c_.behind_must_end)
          violated("V3: the sender has completed a step that the receiver lacks");
        s.polled = s.received;
        grant(s);
        break;
      default:
        break;
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

}  // namespace vccl::model
