// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The shipped machines, watched: each transition is counted and, on demand, told; and
/// spoilt, where a control asks for it.

#include <vccl/sync/receiver_decides.hpp>

#include <sim/coverage.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace vccl::sim {

/// What is broken on purpose, to see that it is found. The first is nothing.
enum class Mutant : std::uint8_t {
  none,
  no_fence,        ///< Nobody makes the old path quiet.
  local_fence,     ///< Only the sender does.
  sender_done,     ///< Sends from the sender's own position on.
  release_on_ack,  ///< Completes a send before device memory is flushed.
  same_psn,        ///< Re-armed QPs start with the packet number that they had before.
  early_position,  ///< The receiver reads its position before the drain of its path.
  drains_nothing,  ///< A planned switch does not wait for what is on the wire.
  says_it_once,    ///< Nothing is repeated.
  never_rearms,    ///< A lost path stays lost.
  blind,           ///< Only failed completions are seen: no port events, no stalls.
};
inline constexpr std::array<std::string_view, 11> mutant_names{
    "none",           "no_fence",     "local_fence",    "sender_done",
    "release_on_ack", "same_psn",     "early_position", "drains_nothing",
    "says_it_once",   "never_rearms", "blind"};

/// What the watched machines look at and write to. One simulation at a time in a process.
struct Watch {
  Coverage* coverage = nullptr;
  Mutant mutant = Mutant::none;
  std::uint32_t first_sequence = 0;  ///< Of the machines' messages.
  /// Called with a line of the trace, when set.
  void (*tell)(std::string_view line) = nullptr;
};
inline Watch watch;

/// What of a machine's state the coverage is about.
struct Summary {
  std::uint8_t mode = 0;
  std::uint8_t ending = 0;
  std::uint8_t paths = 0;
  std::array<std::uint8_t, max_paths> phase{};
  Epoch epoch = 0;
  PathId path = 0;
  friend bool operator==(Summary const&, Summary const&) = default;
};

template <class M>
[[nodiscard]] Summary summary(M const& m) {
  auto const& c = m.common();
  Summary s{static_cast<std::uint8_t>(m.mode()),
            static_cast<std::uint8_t>(c.ending),
            c.count,
            {},
            c.epoch,
            c.path};
  for (PathId q = 0; q < c.count; ++q) s.phase[q] = static_cast<std::uint8_t>(c.paths[q].phase);
  return s;
}

/// Counts what changed, and tells it.
void note(End end, std::string_view input, Summary const& before, Summary const& after);
void tell_message(End end, sync::Message const& m, PathId via);

/// A machine of the library, watched.
template <class M, End end>
class Watched : public M {
 public:
  explicit Watched(sync::Start s) noexcept : M{with_sequence(s)} {}

  template <class... A>
  void on_fault(A&&... a) noexcept {
    watched("fault", [&] { M::on_fault(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_fatal(A&&... a) noexcept {
    watched("fatal", [&] { M::on_fatal(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_close(A&&... a) noexcept {
    watched("close", [&] { M::on_close(std::forward<A>(a)...); });
  }
  void on_fenced(PathId q, std::uint16_t number, bool ok, sync::Positions at,
                 sync::Actions& out) noexcept {
    if (watch.mutant == Mutant::early_position && end == End::receiver) at = early_;
    watched("fenced", [&] { M::on_fenced(q, number, ok, at, out); });
  }
  void on_message(sync::Message const& m, PathId via, sync::Positions at,
                  sync::Actions& out) noexcept {
    if (watch.tell != nullptr) tell_message(end, m, via);
    sync::Message heard = m;
    bool const drains_nothing = watch.mutant == Mutant::drains_nothing;
    if (drains_nothing && m.kind == sync::Kind::drained) heard.position = at.done;
    watched("message", [&] { M::on_message(heard, via, at, out); });
    if (this->may_post()) early_ = at;
    if constexpr (end == End::sender) {
      if (drains_nothing && this->mode() == M::Mode::draining)
        watched("drained", [&] { M::on_drained(out); });
    }
  }
  [[nodiscard]] sync::Message snapshot(sync::Positions at) noexcept {
    if constexpr (end == End::receiver) {
      if (watch.mutant == Mutant::early_position && !this->adopted()) at.done = early_.done;
    }
    return M::snapshot(at);
  }
  template <class... A>
  void on_prepared(A&&... a) noexcept {
    watched("prepared", [&] { M::on_prepared(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_connected(A&&... a) noexcept {
    watched("connected", [&] { M::on_connected(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_probed(A&&... a) noexcept {
    watched("probed", [&] { M::on_probed(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_outage_deadline(A&&... a) noexcept {
    watched("outage deadline", [&] { M::on_outage_deadline(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_linger_deadline(A&&... a) noexcept {
    watched("linger deadline", [&] { M::on_linger_deadline(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_drained(A&&... a) noexcept {
    watched("drained", [&] { M::on_drained(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_retry(A&&... a) noexcept {
    if (watch.mutant == Mutant::never_rearms) return;
    watched("retry", [&] { M::on_retry(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_retry_timeout(A&&... a) noexcept {
    watched("retry timeout", [&] { M::on_retry_timeout(std::forward<A>(a)...); });
  }
  template <class... A>
  void on_return(A&&... a) noexcept {
    watched("return", [&] { M::on_return(std::forward<A>(a)...); });
  }
  [[nodiscard]] bool awaiting() const noexcept {
    return watch.mutant != Mutant::says_it_once && M::awaiting();
  }

 private:
  static sync::Start with_sequence(sync::Start s) noexcept {
    s.sequence = watch.first_sequence;
    return s;
  }
  template <class F>
  void watched(std::string_view input, F f) noexcept {
    Summary const before = summary(*this);
    f();
    Summary const after = summary(*this);
    if (before != after) note(end, input, before, after);
  }

  sync::Positions early_;
};

/// ReceiverDecides with watched machines.
template <class... Channels>
struct WatchedRules : sync::ReceiverDecides<Channels...> {
  using Sender = Watched<sync::receiver_decides::Sender, End::sender>;
  using Receiver = Watched<sync::receiver_decides::Receiver, End::receiver>;
};

}  // namespace vccl::sim
