// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The receiver's machine of ReceiverDecides: it alone decides when and where sending goes on.

#include <vccl/sync/receiver_decides/paths.hpp>

namespace vccl::sync::receiver_decides {

/// Receiver's machine. Pure: no clock, no I/O, no allocation; every input appends to `out` what the
/// driver must do. Inputs that come too late (another re-arm number, another phase) change nothing.
///
/// State: under 200 bytes.  Hot path: not on it.  Thread safety: one owner.
class Receiver {
 public:
  enum class Mode : std::uint8_t {
    running,
    deciding,  ///< Its path is out and being made quiet.
    stranded,  ///< No path is usable at both ends.
    draining,  ///< Asked the sender to stop for a planned switch.
  };

  constexpr explicit Receiver(Start const& s) noexcept : c_{s} {
    if (!c_.is_up(c_.path)) mode_ = Mode::stranded;
  }

  /// A path failed here, seen under re-arm number `number`.
  constexpr void on_fault(PathId q, std::uint16_t number, Cause why, Actions& out) noexcept {
    if (c_.ending != Ending::no || number != c_.paths[q].number) return;
    lose(q, why, out);
  }

  /// Something failed that would hit every path: end the connection at both ends.
  constexpr void on_fatal(Cause why, Actions& out) noexcept {
    c_.end(Ending::asked, Kind::abort, why, out);
  }

  /// close() was called.
  constexpr void on_close(Actions& out) noexcept {
    c_.end(Ending::asked, Kind::closing, Cause::closed, out);
  }

  /// A fence is done, and everything that its drain brought has been counted in `at`.
  constexpr void on_fenced(PathId q, std::uint16_t number, bool ok, Positions at,
                           Actions& out) noexcept {
    if (!c_.fenced(q, number, ok, Kind::abort, out)) return;
    if (c_.ending != Ending::no) return settle(at, out);
    if (q == c_.path && mode_ == Mode::deciding) decide(at, out);
  }

  /// A message of the sender; `via`: the path it came on, no_path for out of band.
  constexpr void on_message(Message const& m, PathId via, Positions at, Actions& out) noexcept {
    if (c_.is_over(m, out)) return;
    static_cast<void>(via);
    if (!c_.take(m)) return;
    if (m.kind == Kind::fatal) return on_peer_fatal(m, out);
    if (is_end(m.kind)) return on_end(m, at, out);
    if (c_.ending != Ending::no) return c_.answer(m, out);
    if (m.epoch == c_.epoch) {
      adopt(m.kind != Kind::suspect);
      acknowledged_ = m.position;
    }
    if (m.kind == Kind::suspect && m.epoch == c_.epoch && m.path == c_.path &&
        mode_ != Mode::stranded) {
      // The sender cannot use it, whatever the numbers say.
      lose(c_.path, m.cause, out);
    }
    for (PathId q = 0; q < c_.count; ++q) {
      if (c_.peer_has_lost(q)) lose(q, Cause::peer_report, out);
      PathState& p = c_.paths[q];
      if (p.phase == Phase::probing && p.probed && c_.peer_has_up(q)) armed(q, at, out);
    }
    if (m.kind == Kind::drained && mode_ == Mode::draining && m.epoch == c_.epoch &&
        m.drain == c_.drain && m.position == at.done) {
      decide(at, out);
    }
    if (m.arm == Arm::answer && m.arm_path < c_.count &&
        c_.paths[m.arm_path].phase == Phase::offered && c_.same_number(m.arm_path)) {
      c_.paths[m.arm_path].phase = Phase::connecting;
      out.add({.kind = Action::Kind::connect,
               .path = m.arm_path,
               .number = c_.paths[m.arm_path].number});
    }
    c_.answer(m, out);
  }

  /// The failback policy's time has come: try to bring a path up. One at a time.
  constexpr void on_retry(PathId q, Actions& out) noexcept {
    if (c_.ending != Ending::no || c_.paths[q].phase != Phase::down || arming() != no_path) return;
    if (mode_ == Mode::deciding || (q == c_.path && mode_ != Mode::stranded)) return;
    PathState& p = c_.paths[q];
    if (++p.number == 0) ++p.number;
    p.phase = Phase::preparing;
    p.probed = false;
    out.add({.kind = Action::Kind::prepare, .path = q, .number = p.number});
  }

  /// An attempt took too long.
  constexpr void on_retry_timeout(PathId q, Actions& out) noexcept {
    if (c_.ending == Ending::no && arming() == q) lose(q, Cause::not_armed, out);
  }

  constexpr void on_prepared(PathId q, std::uint16_t number, bool ok, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (p.phase != Phase::preparing || number != p.number) return;
    if (!ok) return lose(q, Cause::not_armed, out);
    p.phase = Phase::offered;
    out.add({.kind = Action::Kind::send});
  }

  constexpr void on_connected(PathId q, std::uint16_t number, bool ok, Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (p.phase != Phase::connecting || number != p.number) return;
    if (!ok) return lose(q, Cause::not_armed, out);
    p.phase = Phase::probing;
    out.add({.kind = Action::Kind::probe, .path = q, .number = number});
  }

  constexpr void on_probed(PathId q, std::uint16_t number, bool ok, Positions at,
                           Actions& out) noexcept {
    PathState& p = c_.paths[q];
    if (p.phase != Phase::probing || number != p.number) return;
    if (!ok) return lose(q, Cause::stall, out);
    p.probed = true;
    if (c_.peer_has_up(q)) armed(q, at, out);
  }

  /// The failback policy trusts `q` again: move to it with nothing resent.
  constexpr void on_return(PathId q, Actions& out) noexcept {
    if (c_.ending != Ending::no || mode_ != Mode::running || !adopted_ || !c_.is_up(q) ||
        q >= c_.path)
      return;
    ++c_.drain;
    mode_ = Mode::draining;
    out.add({.kind = Action::Kind::send});
  }

  /// Data of the current epoch arrived: the sender has adopted it.
  constexpr void on_data() noexcept { adopt(true); }

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

  /// Our NIC has acknowledged to the sender what it has not given us. Not for long: it may still
  /// be in the CQ, or being flushed. If it stays so, a completion is lost.
  [[nodiscard]] constexpr bool lacks(Positions at) const noexcept {
    return c_.ending == Ending::no && (mode_ == Mode::running || mode_ == Mode::draining) &&
           c_.heard && newer(acknowledged_, at.done);
  }

  /// True while something must be repeated until its effect is seen.
  [[nodiscard]] constexpr bool awaiting() const noexcept {
    if (c_.ending != Ending::no) return c_.end_awaits();
    if (!adopted_ || mode_ == Mode::draining || c_.peer_must_learn()) return true;
    PathId const q = arming();
    return q != no_path &&
           (c_.paths[q].phase == Phase::offered || c_.paths[q].phase == Phase::probing);
  }

  /// The current state as a message; counts up the sequence number.
  constexpr Message snapshot(Positions at) noexcept {
    Message m = c_.snapshot(awaiting());
    m.position = at.done;
    m.tail = at.tail;
    m.kind = c_.ending != Ending::no   ? c_.end_kind
             : mode_ == Mode::deciding ? Kind::decide
             : mode_ == Mode::stranded ? Kind::strand
             : mode_ == Mode::draining ? Kind::drain
                                       : Kind::state;
    PathId const q = arming();
    if (q != no_path && c_.paths[q].phase == Phase::offered) {
      m.arm_path = q;
      m.arm = Arm::offer;
    }
    return m;
  }

  /// The path that is on its way up, or no_path.
  [[nodiscard]] constexpr PathId arming() const noexcept {
    for (PathId q = 0; q < c_.count; ++q) {
      if (c_.paths[q].phase > Phase::down) return q;
    }
    return no_path;
  }

  [[nodiscard]] constexpr Mode mode() const noexcept { return mode_; }
  [[nodiscard]] constexpr bool may_post() const noexcept {
    return (mode_ == Mode::running || mode_ == Mode::draining) && c_.ending == Ending::no;
  }
  [[nodiscard]] constexpr bool has_usable_path() const noexcept {
    return mode_ == Mode::running || mode_ == Mode::draining;
  }
  [[nodiscard]] constexpr bool adopted() const noexcept { return adopted_; }
  /// At the end: what the sender has completed, as last heard.
  [[nodiscard]] constexpr Step peer_completed() const noexcept { return completed_; }
  [[nodiscard]] constexpr Common const& common() const noexcept { return c_; }

  friend constexpr bool operator==(Receiver const&, Receiver const&) = default;

 private:
  constexpr void lose(PathId q, Cause why, Actions& out) noexcept {
    if (!c_.lose(q, why, out)) return;
    if (q == c_.path && (mode_ == Mode::running || mode_ == Mode::draining)) {
      mode_ = Mode::deciding;
      c_.cause = why;
      if (c_.first_cause == Cause::none) c_.first_cause = why;
      out.add({.kind = Action::Kind::stop});
    }
    out.add({.kind = Action::Kind::send});
  }

  /// Both ends are in this epoch; when its path works, the outage before it is over.
  constexpr void adopt(bool works) noexcept {
    adopted_ = true;
    if (works && mode_ == Mode::running && c_.ending == Ending::no)
      c_.cause = c_.first_cause = Cause::none;
  }

  constexpr void armed(PathId q, Positions at, Actions& out) noexcept {
    c_.paths[q].phase = Phase::up;
    out.add({.kind = Action::Kind::armed, .path = q, .number = c_.paths[q].number});
    out.add({.kind = Action::Kind::send});
    if (mode_ == Mode::stranded) decide(at, out);
  }

  /// Everything of the current epoch is quiet here: choose the lowest path that both ends can use.
  constexpr void decide(Positions at, Actions& out) noexcept {
    for (PathId q = 0; q < c_.count; ++q) {
      if (!c_.is_up(q) || !c_.peer_has_up(q)) continue;
      ++c_.epoch;
      c_.path = q;
      mode_ = Mode::running;
      adopted_ = false;
      acknowledged_ = at.done;
      out.add({.kind = Action::Kind::switch_to, .path = q, .epoch = c_.epoch, .position = at.done});
      out.add({.kind = Action::Kind::send});
      return;
    }
    mode_ = Mode::stranded;
    out.add({.kind = Action::Kind::send});
  }

  /// The sender cannot go on. A cause of this end goes before the sender's.
  constexpr void on_peer_fatal(Message const& m, Actions& out) noexcept {
    if (c_.ending == Ending::no) return c_.end(Ending::asked, Kind::abort, m.cause, out);
    if (c_.end_kind != Kind::abort) {  // Closing, which tells less.
      c_.ending = Ending::asked;
      c_.end_kind = Kind::abort;
      c_.cause = m.cause;
    }
    c_.answer(m, out);
  }

  /// The sender ends it, or answers our end.
  constexpr void on_end(Message const& m, Positions at, Actions& out) noexcept {
    completed_ = m.tail;
    c_.peer_final = m.quiet != 0;
    // What it has completed is in our CQ or being flushed, while the path works: it repeats.
    bool const wait =
        m.kind == Kind::closing && newer(completed_, at.done) && mode_ != Mode::stranded;
    if (c_.ending != Ending::no) {
      c_.ending = Ending::settled;
    } else if (m.kind == Kind::abort) {
      c_.end(Ending::settled, Kind::abort, m.cause, out);
    } else if (!wait) {
      c_.end(Ending::settled, Kind::closed, Cause::peer_closed, out);
    }
    c_.answer(m, out);
    settle(at, out);
  }

  constexpr void settle(Positions at, Actions& out) noexcept {
    if (c_.can_finish()) finish(newer(completed_, at.done), out);
  }

  constexpr void finish(bool behind, Actions& out) noexcept {
    if (c_.ending == Ending::over) return;
    c_.end_over(behind);
    out.add({.kind = Action::Kind::finish, .cause = c_.cause});
  }

  Common c_;
  Mode mode_ = Mode::running;
  bool adopted_ = true;    ///< The sender is known to be in this epoch.
  Step completed_ = 0;     ///< At the end: what the sender has completed, as last heard.
  Step acknowledged_ = 0;  ///< By the sender's NIC in this epoch, as last heard.
};

}  // namespace vccl::sync::receiver_decides
