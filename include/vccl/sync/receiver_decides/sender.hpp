// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sender's machine of ReceiverDecides: it asks, and follows what the receiver decides.

#include <vccl/sync/receiver_decides/paths.hpp>

namespace vccl::sync::receiver_decides {

/// Sender's machine. Pure: no clock, no I/O, no allocation; every input appends to `out` what the
/// driver must do. Inputs that come too late (another re-arm number, another phase) change nothing.
///
/// State: under 200 bytes.  Hot path: not on it.  Thread safety: one owner.
class Sender {
 public:
  enum class Mode : std::uint8_t {
    running,
    suspended,  ///< Its path is out: waits for the receiver to decide.
    draining,   ///< Stops at a step boundary and waits for its writes.
    drained,    ///< Nothing outstanding: waits for the planned switch.
  };

  /// A SWITCH that waits for the fence of this end.
  struct Switch {
    bool known = false;
    PathId path = 0;
    std::uint16_t number =
        0;  ///< The path's re-arm number in this epoch; 0 when it was left again.
    Epoch epoch = 0;
    Step position = 0;
    friend constexpr bool operator==(Switch const&, Switch const&) = default;
  };

  constexpr explicit Sender(Start const& s) noexcept : c_{s} {
    if (!c_.is_up(c_.path)) {
      mode_ = Mode::suspended;
      quiet_ = true;
    }
  }

  /// A path failed here, seen under re-arm number `number`.
  constexpr void on_fault(PathId q, std::uint16_t number, Cause why, Actions& out) noexcept {
    if (c_.ending != Ending::no || number != c_.paths[q].number) return;
    lose(q, why, out);
  }

  /// Something failed that would hit every path: end the connection at both ends. The receiver has
  /// the last word on the cause, so that both ends report the same.
  constexpr void on_fatal(Cause why, Actions& out) noexcept {
    c_.end(Ending::asked, Kind::fatal, why, out);
  }

  /// close() was called and nothing is outstanding any more (or it lingered long enough).
  constexpr void on_close(Actions& out) noexcept {
    c_.end(Ending::asked, Kind::closing, Cause::closed, out);
  }

  /// A fence is done. `at.done`: position below which sends are completed.
  constexpr void on_fenced(PathId q, std::uint16_t number, bool ok, Positions at,
                           Actions& out) noexcept {
    if (!c_.fenced(q, number, ok, Kind::fatal, out)) return;
    if (c_.ending != Ending::no) return settle(at, out);
    if (q == c_.path) {
      quiet_ = true;
      if (next_.known) complete_switch(at, out);
    }
    if (c_.paths[q].wanted != 0 && c_.ending == Ending::no) prepare(q, out);
  }

  /// A message of the receiver; `via`: the path it came on, no_path for out of band.
  constexpr void on_message(Message const& m, PathId via, Positions at, Actions& out) noexcept {
    if (c_.is_over(m, out)) return;
    if (c_.take(m)) {
      position_ = m.position;
      if (is_end(m.kind)) return on_end(m, at, out);
      if (c_.ending == Ending::no) follow(m, at, out);
      c_.answer(m, out);
    }
    if (m.session == c_.session && c_.ending == Ending::no) answer_probe(m, via, out);
  }

  constexpr void on_prepared(PathId q, std::uint16_t number, bool ok, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (p.phase != Phase::preparing || number != p.number) return;
    if (!ok) return lose(q, Cause::not_armed, out);
    p.phase = Phase::connecting;
    out.add({.kind = Action::Kind::connect, .path = q, .number = number});
  }

  constexpr void on_connected(PathId q, std::uint16_t number, bool ok, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (p.phase != Phase::connecting || number != p.number) return;
    if (!ok) return lose(q, Cause::not_armed, out);
    p.phase = Phase::probing;
    out.add({.kind = Action::Kind::send});
  }

  constexpr void on_probed(PathId q, std::uint16_t number, bool ok, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (p.phase != Phase::probing || number != p.number) return;
    if (!ok) return lose(q, Cause::stall, out);
    p.phase = Phase::up;
    out.add({.kind = Action::Kind::armed, .path = q, .number = number});
    out.add({.kind = Action::Kind::send});
  }

  /// Nothing is outstanding after a drain.
  constexpr void on_drained(Actions& out) noexcept {
    if (mode_ != Mode::draining || c_.ending != Ending::no) return;
    mode_ = Mode::drained;
    out.add({.kind = Action::Kind::send});
  }

  /// Time to repeat what the peer has not answered yet.
  constexpr void on_tick(Actions& out) noexcept {
    if (awaiting()) out.add({.kind = Action::Kind::send});
  }

  /// No path worked for the whole outage deadline.
  constexpr void on_outage_deadline(Actions& out) noexcept {
    on_fatal(c_.first_cause != Cause::none ? c_.first_cause : Cause::outage_deadline, out);
  }

  /// The peer did not speak in time at the end: end without it. Waits for no fence either.
  constexpr void on_linger_deadline(Actions& out) noexcept {
    if (c_.ending != Ending::no) finish(false, out);
  }

  /// True while something must be repeated until its effect is seen.
  [[nodiscard]] constexpr bool awaiting() const noexcept {
    if (c_.ending != Ending::no) return c_.end_awaits();
    if (mode_ == Mode::suspended || mode_ == Mode::drained || c_.peer_must_learn()) return true;
    for (PathId q = 0; q < c_.count; ++q) {
      if (c_.paths[q].phase == Phase::probing) return true;
    }
    return false;
  }

  /// The current state as a message; counts up the sequence number.
  constexpr Message snapshot(Positions at) noexcept {
    Message m = c_.snapshot(awaiting());
    m.position = at.tail;
    m.tail = at.done;
    m.kind = c_.ending != Ending::no    ? c_.end_kind
             : mode_ == Mode::suspended ? Kind::suspect
             : mode_ == Mode::drained   ? Kind::drained
                                        : Kind::state;
    for (PathId q = 0; q < c_.count; ++q) {
      if (c_.paths[q].phase == Phase::probing) {
        m.arm_path = q;
        m.arm = Arm::answer;
      }
    }
    return m;
  }

  [[nodiscard]] constexpr Mode mode() const noexcept { return mode_; }
  /// Nothing of the current epoch can be sent, or read from a source buffer, any more: its path is
  /// quiet, or was not there to be used.
  [[nodiscard]] constexpr bool quiet() const noexcept { return quiet_; }
  [[nodiscard]] constexpr Switch const& next() const noexcept { return next_; }
  /// What the receiver has, as last heard.
  [[nodiscard]] constexpr Step peer_position() const noexcept { return position_; }
  [[nodiscard]] constexpr bool may_post() const noexcept {
    return mode_ == Mode::running && c_.ending == Ending::no;
  }
  [[nodiscard]] constexpr bool has_usable_path() const noexcept { return mode_ != Mode::suspended; }
  [[nodiscard]] constexpr Common const& common() const noexcept { return c_; }

  friend constexpr bool operator==(Sender const&, Sender const&) = default;

 private:
  constexpr void lose(PathId q, Cause why, Actions& out) noexcept {
    if (!c_.lose(q, why, out)) return;
    if (q == c_.path && mode_ != Mode::suspended) {
      mode_ = Mode::suspended;
      c_.cause = why;
      if (c_.first_cause == Cause::none) c_.first_cause = why;
      out.add({.kind = Action::Kind::stop});
    }
    out.add({.kind = Action::Kind::send});
  }

  /// The receiver goes on; what it says may be a SWITCH, paths that it left, a drain, an offer.
  constexpr void follow(Message const& m, Positions at, Actions& out) noexcept {
    if (m.path < c_.count && newer(m.epoch, next_.known ? next_.epoch : c_.epoch)) {
      bool const left = m.kind == Kind::decide || m.kind == Kind::strand;
      next_ = {true, m.path, left ? std::uint16_t{0} : m.numbers[m.path], m.epoch, m.position};
      bool const planned = mode_ == Mode::drained && m.drain == c_.drain;
      if (!planned && !quiet_) lose(c_.path, Cause::peer_report, out);
      if (planned || quiet_) complete_switch(at, out);
      if (c_.ending != Ending::no) return;
    }
    for (PathId q = 0; q < c_.count; ++q) {
      if (c_.peer_has_lost(q)) lose(q, Cause::peer_report, out);
    }
    if (m.kind == Kind::drain && m.epoch == c_.epoch && mode_ == Mode::running &&
        m.drain != c_.drain) {
      c_.drain = m.drain;
      mode_ = Mode::draining;
      out.add({.kind = Action::Kind::drain});
    }
    if (m.arm == Arm::offer && m.arm_path < c_.count)
      on_offer(m.arm_path, m.numbers[m.arm_path], out);
  }

  /// A newer number is an offer for a path that is lost here by now.
  constexpr void on_offer(PathId q, std::uint16_t number, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (!newer(number, p.number)) return;
    p.wanted = number;
    if (p.phase == Phase::down) prepare(q, out);
  }

  constexpr void prepare(PathId q, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    p.number = p.wanted;
    p.wanted = 0;
    p.phase = Phase::preparing;
    p.probe_asked = false;
    out.add({.kind = Action::Kind::prepare, .path = q, .number = p.number});
  }

  /// What came over a path shows that it works in that direction, however old its news.
  constexpr void answer_probe(Message const& m, PathId via, Actions& out) noexcept {
    if (via >= c_.count) return;
    PathState& p = c_.paths[via];
    if (p.phase != Phase::probing || p.number != m.numbers[via] || p.probe_asked) return;
    p.probe_asked = true;
    out.add({.kind = Action::Kind::probe, .path = via, .number = p.number});
  }

  /// The old path is quiet, so what the receiver has may be released and the rest sent again.
  constexpr void complete_switch(Positions at, Actions& out) noexcept {
    Switch const to = next_;
    next_ = {};
    if (newer(at.done, to.position)) return on_fatal(Cause::position_behind, out);
    c_.epoch = to.epoch;
    c_.path = to.path;
    out.add({.kind = Action::Kind::switch_to,
             .path = to.path,
             .epoch = to.epoch,
             .position = to.position});
    // A path that was left and armed again since is not the one that this epoch was for.
    quiet_ = !c_.is_up(c_.path) || to.number != c_.paths[c_.path].number;
    if (quiet_) {
      mode_ = Mode::suspended;
      c_.cause = c_.paths[c_.path].cause;
      out.add({.kind = Action::Kind::stop});
    } else {
      mode_ = Mode::running;
      c_.cause = c_.first_cause = Cause::none;
    }
    out.add({.kind = Action::Kind::send});
  }

  /// The receiver ends it, or answers our end. It has the last word on the cause.
  constexpr void on_end(Message const& m, Positions at, Actions& out) noexcept {
    bool const aborted = m.kind == Kind::abort;
    bool const counts = aborted || c_.end_kind != Kind::fatal;  // To fatal the answer is abort.
    if (c_.ending == Ending::no) {
      c_.end(Ending::settled, aborted ? Kind::abort : Kind::closed,
             aborted ? m.cause : Cause::peer_closed, out);
    } else if (aborted) {
      c_.cause = m.cause;
      c_.end_kind = Kind::abort;
    }
    if (c_.ending == Ending::asked && counts) {
      c_.ending = Ending::settled;
      out.add({.kind = Action::Kind::send});
    }
    c_.peer_final = m.quiet != 0;
    c_.answer(m, out);
    settle(at, out);
  }

  constexpr void settle(Positions at, Actions& out) noexcept {
    if (c_.can_finish()) finish(newer(at.done, position_), out);
  }

  constexpr void finish(bool behind, Actions& out) noexcept {
    if (c_.ending == Ending::over) return;
    c_.end_over(behind);
    out.add({.kind = Action::Kind::finish,
             .cause = c_.cause,
             .final_position = c_.peer_final,
             .position = position_});
  }

  Common c_;
  Mode mode_ = Mode::running;
  bool quiet_ = false;  ///< See quiet().
  Switch next_{};
  Step position_ = 0;  ///< The receiver's, as last heard.
};

}  // namespace vccl::sync::receiver_decides
