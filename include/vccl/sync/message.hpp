// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What the two ends tell each other, and what a machine asks of its driver. Plain values.

#include <vccl/op.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vccl::sync {

/// What the end that speaks is doing.
enum class Kind : std::uint8_t {
  state,    ///< Goes on. From the receiver with a newer epoch this is the SWITCH.
  suspect,  ///< Sender: the path of this epoch is out, or cannot be used.
  decide,   ///< Receiver: makes the old path quiet, will switch.
  strand,   ///< Receiver: no path is usable now.
  drain,    ///< Receiver: stop at a step boundary and let your writes complete.
  drained,  ///< Sender: stopped; `position` is the end of what was sent, all acknowledged.
  fatal,    ///< Sender: this cannot go on; the receiver answers with abort and the cause for both.
  abort,    ///< The connection ends with `cause`.
  closing,  ///< This end is closed; `position` is final.
  closed,   ///< Answer to closing.
};

/// True when the end that speaks ends the connection, and waits for no verdict.
[[nodiscard]] constexpr bool is_end(Kind k) noexcept {
  return k == Kind::abort || k == Kind::closing || k == Kind::closed;
}

/// Where bringing a path up again has got to.
enum class Arm : std::uint8_t { none, offer, answer };

/// The latest state of an end. The one with the highest sequence number says it all, so messages
/// may be lost, repeated, late or reordered; an old question gets the current answer.
struct Message {
  std::uint64_t session = 0;  ///< Both incarnations; a message of another session changes nothing.
  Step position = 0;          ///< In order. Receiver: received. Sender: acknowledged by its NIC.
  Step tail = 0;              ///< Receiver: steps with a CTS. Sender: completed.
  std::uint32_t sequence = 0;
  Epoch epoch = 0;
  std::uint32_t drain = 0;                         ///< Number of the drain asked for or answered.
  std::array<std::uint16_t, max_paths> numbers{};  ///< Re-arm number of each path.
  Kind kind = Kind::state;
  Cause cause = Cause::none;
  PathId path = 0;
  std::uint8_t up = 0;    ///< Bit per path: usable at this end, under its re-arm number.
  std::uint8_t down = 0;  ///< Bit per path: left or failed under its re-arm number.
  PathId arm_path = no_path;
  Arm arm = Arm::none;
  std::uint8_t asks = 0;  ///< 1: wants the peer's state in return.
  std::uint8_t quiet =
      0;  ///< 1: every path is quiet here. At the end: `position` is the last word.
  friend constexpr bool operator==(Message const&, Message const&) = default;
};

/// One thing that a machine asks of its driver.
struct Action {
  enum class Kind : std::uint8_t {
    send,       ///< Send snapshot() over every usable path and out of band.
    answer,     ///< Like send, with Message::asks cleared: else two ends that both wait would talk
                ///< without pause.
    stop,       ///< Post no more data (sender) or CTS (receiver).
    fence,      ///< Make `path` quiet; answer with on_fenced.
    prepare,    ///< Query port and GID again, new packet numbers; answer with on_prepared.
    connect,    ///< Connect `path` to the address offered under `number`; answer with on_connected.
    probe,      ///< Write a full-MTU control record on `path`; answer with on_probed.
    drain,      ///< Sender: stop at a step boundary; when nothing is outstanding, on_drained.
    switch_to,  ///< Carry on with `path` in `epoch`; sender: the receiver has all below `position`.
    armed,      ///< `path` is up at both ends.
    finish,     ///< The end: complete what is left with `cause`. `position`: what the receiver has.
  };
  Kind kind = Kind::send;
  PathId path = no_path;
  Cause cause = Cause::none;
  bool final_position = false;  ///< finish: `position` is the last word, not a lower bound.
  std::uint16_t number = 0;
  Epoch epoch = 0;
  Step position = 0;
  friend constexpr bool operator==(Action const&, Action const&) = default;
};

/// What an input leads to, in order. Never allocates; room for every path and then some.
struct Actions {
  static constexpr std::size_t capacity = 4 * max_paths + 8;
  std::array<Action, capacity> items{};
  std::size_t count = 0;

  constexpr void add(Action const& a) noexcept {
    // One snapshot says everything, so one is enough, and one that asks is also an answer.
    if (a.kind == Action::Kind::send || a.kind == Action::Kind::answer) {
      for (std::size_t i = 0; i < count; ++i) {
        Action& other = items[i];
        if (other.kind != Action::Kind::send && other.kind != Action::Kind::answer) continue;
        if (a.kind == Action::Kind::send) other.kind = Action::Kind::send;
        return;
      }
    }
    if (count < capacity) items[count++] = a;
  }
  [[nodiscard]] constexpr const Action* begin() const noexcept { return items.data(); }
  [[nodiscard]] constexpr const Action* end() const noexcept { return items.data() + count; }
};

/// Where an end's data stands, in order. Receiver: received, CTS tail. Sender: completed,
/// acknowledged.
struct Positions {
  Step done = 0;
  Step tail = 0;
};

/// What a machine is born with.
struct Start {
  std::uint64_t session = 0;
  Epoch epoch = 1;
  std::uint8_t paths = 2;
  std::uint8_t up = 0b11;      ///< Paths that both ends connected.
  std::uint16_t number = 1;    ///< First re-arm number, not 0.
  std::uint32_t sequence = 0;  ///< Of the message before the first one.
};

}  // namespace vccl::sync
