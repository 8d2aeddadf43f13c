// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The data path: posting, the NICs, completions, flushes, releases.

#include <model/world.hpp>

namespace vccl::model {

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
    f = {.epoch = static_cast<Small>(c.epoch),
         .number = static_cast<Small>(number),
         .posted = s.sent,
         .executed = s.sent,
         .acked = s.sent,
         .polled = s.sent};
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
  while (s.done < s.acked &&
         (!needs_flush(s.done) || is(Mutant::release_on_ack) || s.done < s.confirmed))
    ++s.done;
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
  if (g.epoch != c.epoch || g.number != number)
    g = {static_cast<Small>(c.epoch), static_cast<Small>(number), s.received, s.received};
  g.posted = granted(s);
}

/// A queue pair that is not really quiet, or whose packets fit its successor.
inline void World::leave_strays(State& s, unsigned q) const {
  Flow& f = s.flows[q];
  if (f.executed >= f.posted) return;
  s.strays[q] = {f.epoch, f.executed, f.posted};
}

}  // namespace vccl::model
