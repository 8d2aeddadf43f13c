// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What can happen in a state.

#include <model/world.hpp>

namespace vccl::model {

inline void World::events(State const& s, Events& out) const {
  using K = Event::Kind;
  bool const over =
      s.sender.common().ending == Ending::over && s.receiver.common().ending == Ending::over;
  if (over) return;
  for (unsigned q = 0; q < c_.paths; ++q) events_of_paths(s, out, q);
  for (unsigned i = 0; i < s.to_receiver.count; ++i) {
    if (can_hear(s, s.to_receiver.notes[i], false, false)) out.add(K::deliver_to_receiver, 0, i);
  }
  for (unsigned i = 0; i < s.to_sender.count; ++i) {
    if (can_hear(s, s.to_sender.notes[i], true, false)) out.add(K::deliver_to_sender, 0, i);
  }
  if (s.sender.awaiting() && !said_last(s.to_receiver, note_of_sender(s))) out.add(K::sender_tick);
  if (s.receiver.awaiting() && !said_last(s.to_sender, note_of_receiver(s)))
    out.add(K::receiver_tick);
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
  if (!s.sender.common().is_lost(static_cast<PathId>(q)) && !s_ends && (!works || s.faults > 0))
    out.add(K::sender_detects, q);
  if (!s.receiver.common().is_lost(static_cast<PathId>(q)) && !r_ends && (!works || s.faults > 0))
    out.add(K::receiver_detects, q);

  if (sp.phase == Phase::fencing) out.add(K::sender_fenced, q);
  if (sp.phase == Phase::preparing)
    out.add(works ? K::sender_prepared : K::sender_prepare_fails, q);
  if (sp.phase == Phase::probing && sp.probe_asked) {
    if (receiver_live(s, q, sp.number) || is(Mutant::unnumbered_and_unprobed))
      out.add(K::sender_probed, q);
    if (!works || !receiver_live(s, q, sp.number)) out.add(K::sender_probe_fails, q);
  }
  if (rp.phase == Phase::fencing) out.add(K::receiver_fenced, q);
  if (rp.phase == Phase::preparing)
    out.add(works ? K::receiver_prepared : K::receiver_prepare_fails, q);
  if (rp.phase == Phase::probing && !rp.probed) {
    bool const landed = (s.probe_landed >> q & 1) != 0;
    bool const live = (sender_live(s, q, rp.number) && s.connected[q] == rp.number) ||
                      is(Mutant::unnumbered_and_unprobed);
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
    bool const has_receive =
        !is(Mutant::receives_tied_to_steps) || s.receive_on[f.executed % most_steps] == q;
    if (f.executed < f.posted && receiver_live(s, q, f.number) && has_receive)
      out.add(K::execute, q);
    // Without a new packet number what is late fits the queue pair that was made anew.
    bool const fits = !is(Mutant::no_new_psn) || rc.paths[q].phase == Phase::probing ||
                      rc.is_up(static_cast<PathId>(q));
    if (s.strays[q].next < s.strays[q].end && fits) out.add(K::execute_stray, q);
    if (f.acked < f.executed && sender_live(s, q, f.number)) out.add(K::acknowledge, q);
    if (f.polled < f.executed && rc.is_up(static_cast<PathId>(q)) && f.number == rc.paths[q].number)
      out.add(K::poll_receiver, q);
  }
  if (s.received < s.polled && rc.is_up(rc.path)) out.add(K::flush);
  if (confirmable(s.received) > s.confirmed && sc.epoch == rc.epoch &&
      sender_live(s, sc.path, sc.paths[sc.path].number)) {
    out.add(K::confirm);
  }
  if (s.sender.mode() == Sender::Mode::draining && sc.ending == Ending::no &&
      (s.acked == s.sent || is(Mutant::no_drain))) {
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
    if (sc.ending != Ending::no && sc.ending != Ending::over && sc.all_quiet())
      out.add(K::sender_lingers);
    if (rc.ending != Ending::no && rc.ending != Ending::over && rc.all_quiet())
      out.add(K::receiver_lingers);
  }
}

}  // namespace vccl::model
