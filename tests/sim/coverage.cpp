// SPDX-License-Identifier: Apache-2.0
#include <sim/coverage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace vccl::sim {

namespace {

using Names = std::initializer_list<const char*>;
/// Transitions that a table knows; each has to happen, but for those that are rare.
using Known = std::initializer_list<std::pair<int, int>>;

template <std::size_t N>
void table(Report& out, std::string_view title, Names names, Known known,
           Transitions<N> const& counts, Known rare = {}) {
  out.text += fmt::format("  {}\n", title);
  auto const name = [&](std::size_t i) { return std::string_view{names.begin()[i]}; };
  for (std::size_t from = 0; from < N; ++from) {
    for (std::size_t to = 0; to < N; ++to) {
      std::pair const pair{static_cast<int>(from), static_cast<int>(to)};
      bool const is_needed = std::find(known.begin(), known.end(), pair) != known.end();
      bool const is_known = is_needed || std::find(rare.begin(), rare.end(), pair) != rare.end();
      std::uint64_t const n = counts[from][to];
      if (n == 0 && !is_known) continue;
      out.text += fmt::format("    {:>10} -> {:10} {:>10}\n", name(from), name(to), n);
      if (n == 0 && is_needed)
        out.missing += fmt::format("{}: {} -> {} was never taken\n", title, name(from), name(to));
      if (!is_known)
        out.missing += fmt::format("{}: {} -> {} is not in the table of transitions\n", title,
                                   name(from), name(to));
    }
  }
}

constexpr Names sender_modes{"running", "suspended", "draining", "drained"};
constexpr Names receiver_modes{"running", "deciding", "stranded", "draining"};
constexpr Names endings{"no", "asked", "settled", "over"};
constexpr Names phases{"up", "fencing", "down", "preparing", "offered", "connecting", "probing"};

}  // namespace

void Coverage::add(Coverage const& other) {
  static_assert(sizeof(Coverage) % sizeof(std::uint64_t) == 0);
  auto* const to = reinterpret_cast<std::uint64_t*>(this);
  auto const* const from = reinterpret_cast<std::uint64_t const*>(&other);
  for (std::size_t i = 0; i < sizeof(Coverage) / sizeof(std::uint64_t); ++i) to[i] += from[i];
}

Report report(Coverage const& c) {
  Report r;
  r.text += fmt::format(
      "  {} runs: {} completed, {} closed on the way, {} ended by an error, {} not set up\n"
      "  {} failovers, {} failbacks, {} re-arms, {} steps sent again, {} flush reads\n",
      c.seeds, c.completed, c.closed, c.aborted, c.refused, c.failovers, c.failbacks, c.rearms,
      c.resent_steps, c.flush_reads);
  for (auto const& [n, what] :
       {std::pair{c.completed, "a run that completed"},
        std::pair{c.closed, "a run that was closed"},
        std::pair{c.aborted, "a run that ended by an error"},
        std::pair{c.refused, "a run whose set-up failed"}, std::pair{c.failovers, "a failover"},
        std::pair{c.failbacks, "a failback"}, std::pair{c.rearms, "a re-arm"},
        std::pair{c.resent_steps, "a step sent again"}, std::pair{c.flush_reads, "a flush read"}}) {
    if (n == 0) r.missing += fmt::format("there was never {}\n", what);
  }
  r.text += "  faults that struck\n";
  for (std::size_t a = 0; a < soft::actions; ++a) {
    auto const& words = soft::action_words[a];
    r.text += fmt::format("    {:>10} {:10} {:>14}\n", words.verb, words.detail, c.fired[a]);
    if (c.fired[a] == 0)
      r.missing += fmt::format("the fault {} {} never struck\n", words.verb, words.detail);
  }
  table(r, "sender", sender_modes, {{0, 1}, {0, 2}, {1, 0}, {2, 1}, {2, 3}, {3, 0}, {3, 1}},
        c.sender);
  table(r, "receiver", receiver_modes, {{0, 1}, {0, 3}, {1, 0}, {1, 2}, {2, 0}, {3, 0}, {3, 1}},
        c.receiver);
  for (std::size_t e = 0; e < 2; ++e) {
    table(r, e == 0 ? "sender's end" : "receiver's end", endings,
          {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}, c.ending[e], {{0, 3}});
  }
  table(r, "sender's paths", phases,
        {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 1}, {3, 5}, {5, 1}, {5, 6}, {6, 0}, {6, 1}},
        c.phase[0]);
  table(r, "receiver's paths", phases,
        {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 1}, {4, 5}, {5, 1}, {5, 6}, {6, 0}, {6, 1}},
        c.phase[1]);
  return r;
}

}  // namespace vccl::sim
