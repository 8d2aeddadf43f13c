// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A state's fingerprint: what can make a difference from here on, with numbers made relative.

#include <model/state.hpp>

#include <cstdint>
#include <cstring>

namespace vccl::model {

/// Bits written one behind the other.
class Bits {
 public:
  void put(unsigned value, unsigned width) {
    acc_ |= static_cast<std::uint64_t>(value & ((1u << width) - 1u)) << used_;
    used_ += width;
    while (used_ >= 32) {
      mix(static_cast<std::uint32_t>(acc_));
      acc_ >>= 32;
      used_ -= 32;
    }
  }
  void put(bool b) { put(b ? 1u : 0u, 1); }

  [[nodiscard]] std::uint64_t fingerprint() {
    mix(static_cast<std::uint32_t>(acc_));
    std::uint64_t h = hash_;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h == 0 ? 1 : h;
  }

 private:
  void mix(std::uint32_t w) {
    hash_ = (hash_ ^ w) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }
  std::uint64_t hash_ = 0x243f6a8885a308d3u;
  std::uint64_t acc_ = 0;
  unsigned used_ = 0;
};

/// Causes of paths steer nothing; those of the end are compared, so they count.
class Key {
 public:
  Key(Config const& c, State const& s) : config_{c}, state_{s} {}

  [[nodiscard]] std::uint64_t fingerprint() {
    State const& s = state_;
    common(s.sender.common());
    bits_.put(static_cast<unsigned>(s.sender.mode()), 2);
    bits_.put(s.sender.quiet());
    bits_.put(s.sender.next().known);
    if (s.sender.next().known) {
      bits_.put(s.sender.next().path, 2);
      number(s.sender.next().path, s.sender.next().number);
      epoch(s.sender.next().epoch);
      bits_.put(static_cast<unsigned>(s.sender.next().position), 2);
    }
    if (config_.ends > 0 || s.sender.common().is_ending()) {  // What the end reports.
      bits_.put(static_cast<unsigned>(s.sender.peer_position()), 2);
    }
    common(s.receiver.common());
    bits_.put(static_cast<unsigned>(s.receiver.mode()), 2);
    bits_.put(s.receiver.adopted());
    if (s.receiver.common().ending != Ending::no)
      bits_.put(static_cast<unsigned>(s.receiver.peer_completed()), 2);
    channel(s.to_receiver);
    channel(s.to_sender);
    // The sender never looks at what the receiver has up.
    for (unsigned q = 0; q < config_.paths; ++q)
      bits_.put(s.receiver.common().peer_has_up(static_cast<PathId>(q)));
    for (unsigned q = 0; q < config_.paths; ++q) path(q);
    bits_.put(s.links_down, 3);
    bits_.put(s.probe_landed, 3);
    for (unsigned v : {s.sent, s.acked, s.confirmed, s.done, s.polled, s.received}) bits_.put(v, 2);
    bits_.put(s.faults, 2);
    bits_.put(s.repairs, 2);
    bits_.put(s.ends, 2);
    bits_.put(s.lingered, 2);
    if (config_.mutant == Mutant::receives_tied_to_steps) {
      for (PathId q : s.receive_on) bits_.put(q, 3);
    }
    if (config_.mutant == Mutant::switch_sent_once) epoch(s.announced);
    return bits_.fingerprint();
  }

 private:
  void epoch(Epoch e) {
    Epoch const behind = state_.receiver.common().epoch - e;
    bits_.put(e == 0 ? 15u : behind < 14 ? behind : 14u, 4);
  }
  void number(unsigned q, std::uint16_t n) {
    unsigned const behind =
        static_cast<std::uint16_t>(state_.receiver.common().paths[q].number - n);
    bits_.put(n == 0 ? 7u : behind < 6 ? behind : 6u, 3);
  }
  void drain(std::uint32_t d) { bits_.put((state_.receiver.common().drain - d) & 7u, 3); }

  void common(sync::receiver_decides::Common const& c) {
    epoch(c.epoch);
    drain(c.drain);
    bits_.put(c.path, 2);
    bits_.put(static_cast<unsigned>(c.ending), 2);
    if (c.ending == Ending::no && config_.ends > 0) {
      bits_.put(static_cast<unsigned>(c.first_cause), 5);  // The outage deadline reports it.
    }
    if (c.ending != Ending::no) {
      bits_.put(static_cast<unsigned>(c.end_kind), 4);
      bits_.put(static_cast<unsigned>(c.cause), 5);
      bits_.put(c.peer_final);
    }
    for (unsigned q = 0; q < config_.paths; ++q) {
      auto const& p = c.paths[q];
      number(q, p.number);
      number(q, p.wanted);
      // What the peer said of a path that is up here would have been followed; the rest tells
      // whether it must still learn something.
      if (p.phase != Phase::up) bits_.put(c.peer_says_down(static_cast<PathId>(q)));
      if (&c == &state_.sender.common() && p.phase != Phase::up) number(q, c.peer_numbers[q]);
      bits_.put(static_cast<unsigned>(p.phase), 3);
      bits_.put(p.probe_asked);
      bits_.put(p.probed);
    }
  }

  void channel(Channel const& c) {
    bits_.put(c.count, 3);
    for (unsigned i = 0; i < c.count; ++i) {
      Note const& n = c.notes[i];
      epoch(n.epoch);
      drain(n.drain);
      for (unsigned q = 0; q < config_.paths; ++q) number(q, n.numbers[q]);
      bits_.put(n.position, 2);
      bits_.put(n.tail, 2);
      bits_.put(static_cast<unsigned>(n.kind), 4);
      bits_.put(static_cast<unsigned>(n.cause), 5);
      bits_.put(n.path, 2);
      bits_.put(n.up, 3);
      bits_.put(n.down, 3);
      bits_.put(n.arm_path, 2);
      bits_.put(static_cast<unsigned>(n.arm), 2);
      bits_.put(n.asks, 1);
      bits_.put(n.quiet, 1);
    }
  }

  void path(unsigned q) {
    Flow const& f = state_.flows[q];
    epoch(f.epoch);
    number(q, f.number);
    for (unsigned v : {f.posted, f.executed, f.acked, f.polled}) bits_.put(v, 2);
    if (config_.mutant != Mutant::none) {
      number(q, state_.connected[q]);
      Stray const& t = state_.strays[q];
      epoch(t.epoch);
      bits_.put(t.next, 2);
      bits_.put(t.end, 2);
    }
    if (config_.rings) {
      Grants const& g = state_.grants[q];
      epoch(g.epoch);
      number(q, g.number);
      bits_.put(g.landed, 2);
      bits_.put(g.posted, 2);
      for (Small e : state_.ring[q]) epoch(e);
    }
  }

  Config const& config_;
  State const& state_;
  Bits bits_;
};

}  // namespace vccl::model
