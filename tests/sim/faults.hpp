// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Faults by chance, from the whole fault language.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <sim/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace vccl::sim {

/// Chance with a memory: the same seed gives the same.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_{soft::mix(seed)} {}
  std::uint64_t next() { return random_.next(); }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }
  /// Whole microseconds.
  Duration between(Duration from, Duration to) {
    return from + 1_us * static_cast<std::int64_t>(
                             below(static_cast<std::uint64_t>((to - from).ns / 1000) + 1));
  }

 private:
  soft::Random random_;
};

/// What faults can be about.
struct Shape {
  std::size_t paths = 2;
  std::size_t lanes = 1;
  bool spares = false;  ///< Only the primary's ports get faults that would cost a path.
  bool cards = false;   ///< Each path is a card of its own.
};

/// Draws p.faults, as p.promise allows, and sets p.may_be_behind.
void draw_faults(Plan& p, Dice& dice, Shape const& shape);

}  // namespace vccl::sim
