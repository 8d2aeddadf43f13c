// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A message without its sequence number, and back.

#include <model/state.hpp>

namespace vccl::model {

inline Note note_of(Message const& m) {
  Note n;
  n.epoch = static_cast<Small>(m.epoch);
  n.drain = static_cast<Small>(m.drain);
  for (unsigned q = 0; q < static_cast<unsigned>(most_paths); ++q)
    n.numbers[q] = static_cast<Small>(m.numbers[q]);
  n.position = static_cast<std::uint8_t>(m.position);
  n.tail = static_cast<std::uint8_t>(m.tail);
  n.kind = m.kind;
  n.cause = m.cause;
  n.path = m.path;
  n.up = m.up;
  n.down = m.down;
  n.arm_path = m.arm_path;
  n.arm = m.arm;
  n.asks = m.asks;
  n.quiet = m.quiet;
  return n;
}

inline Message message_of(Note const& n, std::uint32_t sequence) {
  Message m;
  m.session = 1;
  m.sequence = sequence;
  m.epoch = n.epoch;
  m.drain = n.drain;
  for (unsigned q = 0; q < static_cast<unsigned>(most_paths); ++q) m.numbers[q] = n.numbers[q];
  m.position = n.position;
  m.tail = n.tail;
  m.kind = n.kind;
  m.cause = n.cause;
  m.path = n.path;
  m.up = n.up;
  m.down = n.down;
  m.arm_path = n.arm_path;
  m.arm = n.arm;
  m.asks = n.asks;
  m.quiet = n.quiet;
  return m;
}

/// What the sender would say now, without what no receiver looks at.

}  // namespace vccl::model
