// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What both machines of ReceiverDecides keep: each path's phase, the peer's last word, the end.

#include <vccl/sync/message.hpp>

#include <array>
#include <cstdint>

namespace vccl::sync::receiver_decides {

/// Life of a path at one end: up, lost and being made quiet, down, and the way back up.
enum class Phase : std::uint8_t {
  up,
  fencing,    ///< Being made quiet.
  down,       ///< Quiet.
  preparing,  ///< Port queried, QPs made new.
  offered,    ///< Receiver: offered, waiting for the sender's answer.
  connecting,
  probing,
};

struct PathState {
  std::uint16_t number = 0;  ///< Re-arm number: what was said under another one is inert.
  std::uint16_t wanted = 0;  ///< Sender: number to arm under once the path is quiet; 0 is none.
  Phase phase = Phase::down;
  bool probe_asked = false;
  bool probed = false;  ///< Receiver: its own probe came through.
  Cause cause = Cause::none;
  friend constexpr bool operator==(PathState const&, PathState const&) = default;
};

/// How a connection comes to its end.
enum class Ending : std::uint8_t {
  no,
  asked,    ///< Fencing everything; the peer has not spoken yet.
  settled,  ///< The peer ends too; waits until both are quiet and know the last positions.
  over,     ///< `finish` was given.
};

/// Shared part. Not polymorphic: a machine has one of these.
struct Common {
  std::uint64_t session = 0;
  Epoch epoch = 1;
  PathId path = 0;
  std::uint8_t count = 0;
  std::array<PathState, max_paths> paths{};
  Ending ending = Ending::no;
  Kind end_kind = Kind::state;      ///< fatal, abort, closing or closed, once ending.
  Cause cause = Cause::none;        ///< Terminal, once ending; the current path's before.
  Cause first_cause = Cause::none;  ///< Of the outage under way.
  bool fence_failed = false;
  bool peer_final = false;     ///< At the end: the peer is quiet, so what it said is its last word.
  bool heard = false;          ///< Anything from the peer yet.
  std::uint32_t sequence = 0;  ///< Of our last message.
  std::uint32_t peer_sequence = 0;
  std::uint8_t peer_up = 0;
  std::uint8_t peer_down = 0;
  std::array<std::uint16_t, max_paths> peer_numbers{};
  std::uint32_t drain = 0;

  friend constexpr bool operator==(Common const&, Common const&) = default;

  constexpr explicit Common(Start const& s) noexcept
      : session{s.session}, epoch{s.epoch}, count{s.paths}, sequence{s.sequence}, peer_up{s.up} {
    for (PathId q = 0; q < count; ++q) {
      bool const is_up = (s.up >> q & 1) != 0;
      paths[q].number = peer_numbers[q] = s.number;
      paths[q].phase = is_up ? Phase::up : Phase::down;
      if (!is_up) {
        paths[q].cause = Cause::not_armed;
        peer_down = static_cast<std::uint8_t>(peer_down | 1u << q);
      }
    }
    while (path + 1 < count && paths[path].phase != Phase::up) ++path;
  }

  [[nodiscard]] constexpr bool is_ending() const noexcept { return ending != Ending::no; }
  [[nodiscard]] constexpr bool is_up(PathId q) const noexcept {
    return paths[q].phase == Phase::up;
  }
  [[nodiscard]] constexpr bool is_lost(PathId q) const noexcept {
    return paths[q].phase == Phase::fencing || paths[q].phase == Phase::down;
  }
  [[nodiscard]] constexpr bool same_number(PathId q) const noexcept {
    return peer_numbers[q] == paths[q].number;
  }
  [[nodiscard]] constexpr bool peer_has_up(PathId q) const noexcept {
    return same_number(q) && (peer_up >> q & 1) != 0;
  }
  [[nodiscard]] constexpr bool peer_says_down(PathId q) const noexcept {
    return (peer_down >> q & 1) != 0;
  }

  /// The peer has left what this end knows under its number, or is already at a newer one.
  [[nodiscard]] constexpr bool peer_has_lost(PathId q) const noexcept {
    return same_number(q) ? peer_says_down(q) : newer(peer_numbers[q], paths[q].number);
  }

  /// A path that this end has left and the peer still counts on: the peer must be told until it
  /// knows.
  [[nodiscard]] constexpr bool peer_must_learn() const noexcept {
    for (PathId q = 0; q < count; ++q) {
      if (is_lost(q) && !peer_has_lost(q) && !peer_says_down(q)) return true;
    }
    return false;
  }

  [[nodiscard]] constexpr bool all_quiet() const noexcept {
    for (PathId q = 0; q < count; ++q) {
      if (paths[q].phase != Phase::down) return false;
    }
    return true;
  }

  /// Leaves a path, whatever it was doing. False when it was left already.
  constexpr bool lose(PathId q, Cause why, Actions& out) noexcept {
    if (is_lost(q)) return false;
    paths[q].phase = Phase::fencing;
    paths[q].cause = why;
    out.add({.kind = Action::Kind::fence, .path = q, .cause = why, .number = paths[q].number});
    return true;
  }

  /// A fence is done; one that failed ends the connection, with `kind`. False when it comes too
  /// late.
  constexpr bool fenced(PathId q, std::uint16_t number, bool ok, Kind kind, Actions& out) noexcept {
    if (paths[q].phase != Phase::fencing || number != paths[q].number) return false;
    paths[q].phase = Phase::down;
    if (!ok) {
      fence_failed = true;
      end(Ending::asked, kind, Cause::fence_failed, out);
    }
    // At the end the position, or what is completed, is final once all is quiet.
    if (ending != Ending::no) out.add({.kind = Action::Kind::send});
    return true;
  }

  /// After the end only questions are answered: the peer may have missed our last word.
  constexpr bool is_over(Message const& m, Actions& out) noexcept {
    if (ending != Ending::over) return false;
    if (m.session == session) answer(m, out);
    return true;
  }

  static constexpr void answer(Message const& m, Actions& out) noexcept {
    if (m.asks != 0) out.add({.kind = Action::Kind::answer});
  }

  /// Takes a message in, unless it is of another session or older than what is known.
  constexpr bool take(Message const& m) noexcept {
    if (m.session != session) return false;
    if (heard && !newer(m.sequence, peer_sequence)) return false;
    heard = true;
    peer_sequence = m.sequence;
    peer_up = m.up;
    peer_down = m.down;
    peer_numbers = m.numbers;
    return true;
  }

  /// Waits for a word of the peer that it has not said yet.
  [[nodiscard]] constexpr bool end_awaits() const noexcept {
    return ending == Ending::asked || (ending == Ending::settled && !peer_final);
  }
  [[nodiscard]] constexpr bool can_finish() const noexcept {
    return ending == Ending::settled && peer_final && all_quiet();
  }

  /// The end is here. `behind`: the receiver lacks what the sender has completed. Both ends see it
  /// in the same two last positions; an abort is an error already.
  constexpr void end_over(bool behind) noexcept {
    ending = Ending::over;
    if (behind && end_kind != Kind::abort && end_kind != Kind::fatal)
      cause = Cause::position_behind;
    if (end_kind == Kind::fatal) end_kind = Kind::abort;  // It got no verdict: this is it.
  }

  constexpr void end(Ending how, Kind kind, Cause why, Actions& out) noexcept {
    if (ending == Ending::no) {
      ending = how;
      end_kind = kind;
      cause = why;
      out.add({.kind = Action::Kind::stop});
      for (PathId q = 0; q < count; ++q) lose(q, why, out);
    }
    out.add({.kind = Action::Kind::send});
  }

  /// The fields that both ends' messages share.
  [[nodiscard]] constexpr Message snapshot(bool asks) noexcept {
    Message m;
    m.session = session;
    m.sequence = ++sequence;
    m.epoch = epoch;
    m.path = path;
    m.drain = drain;
    m.cause = cause;
    m.asks = asks ? 1 : 0;
    m.quiet = all_quiet() ? 1 : 0;
    for (PathId q = 0; q < count; ++q) {
      m.numbers[q] = paths[q].number;
      if (is_up(q)) m.up = static_cast<std::uint8_t>(m.up | 1u << q);
      if (is_lost(q)) m.down = static_cast<std::uint8_t>(m.down | 1u << q);
    }
    return m;
  }
};

}  // namespace vccl::sync::receiver_decides
