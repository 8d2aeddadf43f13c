// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What must never be, in any state; and what of a state makes no difference any more.

#include <model/world.hpp>

namespace vccl::model {

inline void World::check(State const& s) const {
  auto const& sc = s.sender.common();
  auto const& rc = s.receiver.common();
  for (unsigned q = 0; q < c_.paths; ++q) {
    Flow const& f = s.flows[q];
    if (f.acked < s.done && f.acked < f.posted &&
        (sender_live(s, q, f.number) ||
         (is(Mutant::no_fence) && s.strays[q].next < s.strays[q].end))) {
      violated("V2: the sender's NIC can still read a buffer that was released");
    }
    bool const armed = sc.is_up(static_cast<PathId>(q)) && rc.is_up(static_cast<PathId>(q)) &&
                       sc.paths[q].number == rc.paths[q].number;
    if (armed && s.connected[q] != rc.paths[q].number)
      violated("V4: a path is armed at both ends whose queue pairs do not fit");
  }
  // One event costs at most one switch.
  if (rc.epoch - 1 > s.excused) violated("V6: a switch without a fault or a plan");
  if (newer(sc.epoch, rc.epoch)) violated("the sender is ahead of the receiver");
  if (c_.ends == 0 && sc.ending != Ending::no &&
      !(c_.behind_must_end && sc.cause == Cause::position_behind)) {
    violated(sc.cause == Cause::position_behind
                 ? "V3: the sender has completed a step that the receiver lacks"
                 : "V4: the connection ends for no reason");
  }
  if (sc.ending != Ending::over || rc.ending != Ending::over) return;

  auto const is_close = [](Cause c) { return c == Cause::closed || c == Cause::peer_closed; };
  if (s.done > s.received && !(c_.behind_must_end && !is_close(sc.cause) && !is_close(rc.cause))) {
    violated("V3: the sender has completed a step that the receiver lacks");
  }
  if (s.sender.peer_position() > s.received)
    violated("V3: the sender ends with a position beyond the receiver's");
  if (sc.peer_final && s.sender.peer_position() != s.received) {
    violated("V3: the final position is not the receiver's");
  }
  if (s.lingered != 0) return;
  if (!sc.peer_final)
    violated("V3: the sender ends without the receiver's last word although it got through");
  if (sc.cause != rc.cause && !(is_close(sc.cause) && is_close(rc.cause)))
    violated("V5: the ends report different causes");
  if (sc.cause == Cause::peer_closed && rc.cause == Cause::peer_closed)
    violated("V5: nobody closed");
}

inline void World::tidy(State& s) const {
  auto const& sc = s.sender.common();
  auto const& rc = s.receiver.common();
  if (s.sender.quiet() && sc.ending == Ending::no && s.sender.mode() == Sender::Mode::suspended) {
    s.sent = s.acked = s.done;  // Resumes where the receiver says.
  }
  for (unsigned q = 0; q < c_.paths; ++q) {
    if (rc.paths[q].phase != Phase::probing || rc.paths[q].probed)
      s.probe_landed = static_cast<std::uint8_t>(s.probe_landed & ~(1u << q));
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
