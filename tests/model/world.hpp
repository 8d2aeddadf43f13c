// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The rules of the model, declared; enabled, steps, data and invariants define them.

#include <model/event.hpp>
#include <model/state.hpp>

#include <cstdint>
#include <string>

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
  static sync::Positions at_sender(State const& s) { return {s.done, s.acked}; }
  sync::Positions at_receiver(State const& s) const { return {s.received, granted(s)}; }
  [[nodiscard]] std::uint8_t granted(State const& s) const {
    unsigned const end = s.received + unsigned{c_.window};
    return static_cast<std::uint8_t>(end < c_.steps ? end : c_.steps);
  }

  // The queue pairs of a path that belong to a flow: can they still carry it?
  static bool sender_live(State const& s, unsigned q, std::uint16_t number) {
    auto const& p = s.sender.common().paths[q];
    return p.number == number &&
           (p.phase == Phase::up || p.phase == Phase::probing || p.phase == Phase::fencing);
  }
  static bool receiver_live(State const& s, unsigned q, std::uint16_t number) {
    auto const& p = s.receiver.common().paths[q];
    return p.number == number && s.connected[q] == number &&
           (p.phase == Phase::up || p.phase == Phase::probing || p.phase == Phase::fencing);
  }
  static bool link_works(State const& s, unsigned q) { return (s.links_down >> q & 1) == 0; }

  /// Without an out-of-band channel a message needs a path that its sender had up.
  [[nodiscard]] bool can_hear(State const& s, Note const& n, bool at_sender,
                              bool link_must_work) const {
    if (c_.out_of_band) return true;
    for (unsigned q = 0; q < c_.paths; ++q) {
      if ((n.up >> q & 1) == 0 || (link_must_work && !link_works(s, q))) continue;
      if (at_sender ? sender_live(s, q, n.numbers[q]) : receiver_live(s, q, n.numbers[q]))
        return true;
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
    if (step < s.received)
      violated("V2: an old packet changes a buffer that was handed to the consumer");
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

}  // namespace vccl::model
