// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A state in one line, for traces.

#include <model/state.hpp>

#include <string>
#include <string_view>

namespace vccl::model {

inline std::string_view words(Phase p) {
  constexpr std::array<std::string_view, 7> names{"up",      "fencing",    "down",   "preparing",
                                                  "offered", "connecting", "probing"};
  return names[static_cast<std::size_t>(p)];
}

inline std::string paths_of(sync::receiver_decides::Common const& c) {
  std::string t;
  for (unsigned q = 0; q < c.count; ++q) {
    t += (q == c.path ? " *" : " ") + std::to_string(q) + "#" + std::to_string(c.paths[q].number) +
         " " + std::string{words(c.paths[q].phase)};
  }
  if (c.ending != Ending::no) {
    constexpr std::array<std::string_view, 4> names{"", "asked", "settled", "over"};
    t += " end " + std::string{names[static_cast<std::size_t>(c.ending)]} + " (" +
         std::string{text(c.cause)} + ")";
  }
  return t;
}

inline std::string line(std::string const& event, State const& s) {
  constexpr std::array<std::string_view, 4> s_modes{"running", "suspended", "draining", "drained"};
  constexpr std::array<std::string_view, 4> r_modes{"running", "deciding", "stranded", "draining"};
  std::string t = event;
  t.resize(t.size() < 48 ? 48 : t.size(), ' ');
  t += "| S e" + std::to_string(s.sender.common().epoch) + " " +
       std::string{s_modes[static_cast<std::size_t>(s.sender.mode())]} + " done " +
       std::to_string(s.done) + " sent " + std::to_string(s.sent) + paths_of(s.sender.common());
  t += " | R e" + std::to_string(s.receiver.common().epoch) + " " +
       std::string{r_modes[static_cast<std::size_t>(s.receiver.mode())]} + " has " +
       std::to_string(s.received) + paths_of(s.receiver.common());
  return t;
}

}  // namespace vccl::model
