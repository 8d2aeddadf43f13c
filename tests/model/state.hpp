// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A state of the model: both machines, both drivers, the paths between them, messages under way.

#include <vccl/sync/receiver_decides.hpp>

#include <model/config.hpp>

#include <array>
#include <cstdint>

namespace vccl::model {

using sync::Message;
using sync::receiver_decides::Ending;
using sync::receiver_decides::Phase;
using Sender = sync::receiver_decides::Sender;
using Receiver = sync::receiver_decides::Receiver;

/// Epochs, re-arm numbers and drain numbers stay small here.
using Small = std::uint8_t;

/// A message without its sequence number, small.
struct Note {
  Small epoch = 0;
  Small drain = 0;
  std::array<Small, most_paths> numbers{};
  std::uint8_t position = 0;
  std::uint8_t tail = 0;
  sync::Kind kind = sync::Kind::state;
  Cause cause = Cause::none;
  PathId path = 0;
  std::uint8_t up = 0;
  std::uint8_t down = 0;
  PathId arm_path = no_path;
  sync::Arm arm = sync::Arm::none;
  std::uint8_t asks = 0;
  std::uint8_t quiet = 0;
  friend bool operator==(Note const&, Note const&) = default;
};

/// Messages under way in one direction, oldest first: all that differ and are not older than what
/// the other end has taken in. Each may be delivered, also again, which makes those before it
/// stale; those that never are were lost.
struct Channel {
  static constexpr int most = 3;
  std::array<Note, most> notes{};
  std::uint8_t count = 0;

  void say(Note const& n, int remembered) {
    if (count > 0) {  // Repeating it is delivering it again.
      Note& last = notes[count - 1u];
      Note same = n;
      same.asks = last.asks;
      if (last == same) {
        last.asks = static_cast<std::uint8_t>(last.asks | n.asks);
        return;
      }
    }
    if (count == remembered) forget(1);
    notes[count++] = n;
  }
  /// Drops the oldest `n`.
  void forget(int n) {
    for (int i = n; i < count; ++i)
      notes[static_cast<unsigned>(i - n)] = notes[static_cast<unsigned>(i)];
    count = static_cast<std::uint8_t>(count - n);
    for (unsigned i = count; i < static_cast<unsigned>(most); ++i) notes[i] = {};
  }
  void clear() { *this = {}; }
};

/// What was posted on the queue pairs that a path has under one re-arm number, in its latest use.
/// Steps below `executed` are in the receiver's memory, in order: go-back-N sends what is beyond
/// again, and packets that were sent arrive late or never.
struct Flow {
  Small epoch = 0;
  Small number = 0;
  std::uint8_t posted = 0;    ///< By the sender's driver.
  std::uint8_t executed = 0;  ///< By the receiver's NIC.
  std::uint8_t acked = 0;     ///< Acknowledged, and seen by the sender's driver.
  std::uint8_t polled = 0;    ///< Taken from the receiver's completion queue.
  friend bool operator==(Flow const&, Flow const&) = default;
};

/// Packets that a broken rule lets live on after their queue pair was made quiet.
struct Stray {
  Small epoch = 0;
  std::uint8_t next = 0;
  std::uint8_t end = 0;
};

/// CTS records of one use of a path (only with Config::rings).
struct Grants {
  Small epoch = 0;
  Small number = 0;
  std::uint8_t landed = 0;
  std::uint8_t posted = 0;
};

/// See Config::rings and the mutants for the members that are not always used.
struct State {
  explicit State(Config const& c);

  Sender sender;
  Receiver receiver;
  Channel to_receiver;
  Channel to_sender;
  std::array<Flow, most_paths> flows{};
  std::array<Stray, most_paths> strays{};
  std::array<Grants, most_paths> grants{};
  std::array<std::array<Small, most_steps>, most_paths>
      ring{};  ///< At the sender: epoch of each step's CTS.
  std::array<Small, most_paths>
      connected{};  ///< The sender's number that the receiver connected to.
  std::array<PathId, most_steps> receive_on{};  ///< Mutant: path that holds the receive of a step.
  Small announced = 0;                          ///< Mutant: newest epoch that was sent once.
  std::uint8_t links_down = 0;
  std::uint8_t probe_landed = 0;  ///< The receiver's probe, under its current number.
  // The sender's driver.
  std::uint8_t sent = 0;
  std::uint8_t acked = 0;      ///< Completions seen; those that a RESET throws away never are.
  std::uint8_t confirmed = 0;  ///< The receiver's position, as told on the data path.
  std::uint8_t done = 0;       ///< Released to the application.
  // The receiver's driver.
  std::uint8_t polled = 0;
  std::uint8_t received = 0;  ///< Flushed, and handed to the application.
  // What may still happen.
  std::uint8_t faults = 0;
  std::uint8_t repairs = 0;
  std::uint8_t ends = 0;
  std::uint8_t lingered = 0;
  std::uint8_t excused = 0;  ///< Events that may cost an epoch: faults and planned returns so far.
};

inline State::State(Config const& c)
    : sender{sync::Start{.session = 1,
                         .paths = c.paths,
                         .up = static_cast<std::uint8_t>(c.up & ((1u << c.paths) - 1))}},
      receiver{sync::Start{.session = 1,
                           .paths = c.paths,
                           .up = static_cast<std::uint8_t>(c.up & ((1u << c.paths) - 1))}},
      faults{c.faults},
      repairs{c.repairs},
      ends{c.ends},
      excused{static_cast<std::uint8_t>(receiver.has_usable_path() ? 0 : 1)} {
  links_down = static_cast<std::uint8_t>(~unsigned{c.up} & ((1u << c.paths) - 1));
  for (unsigned q = 0; q < c.paths; ++q)
    connected[q] = static_cast<Small>(receiver.common().paths[q].number);
  receive_on.fill(no_path);
}

}  // namespace vccl::model
