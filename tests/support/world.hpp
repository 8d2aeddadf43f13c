// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file A connection between two hosts of a software network, a workload, and the invariants.
///
/// Every receive of every step has bytes of its own. What is done is taken over at once: a source
/// is overwritten, a target gets bytes of the consumer's that nothing may change any more (V2).
/// Sizes, bytes, order and exactly once are checked as receives complete (V1), what sends said at
/// the end (V3), and run() stops at a limit (V5). What is found wrong stands in problems(), a line
/// each.

#include <support/ends.hpp>
#include <support/load.hpp>
#include <vccl/transport/soft/config.hpp>
#include <vccl/transport/soft/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vccl::soft {
class Fabric;
}

namespace vccl::test {

/// How a world starts.
struct Start {
  MakeEnds link = links::resilient;
  soft::FabricConfig fabric{};
  Route sender{PortId{0}};
  Route receiver{PortId{0}};
  bool virtual_time = true;
  bool connect = true;
  bool reversed = false;  ///< Of a further connection: it sends from host 1 to host 0.
};

class World {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  /// Listens, accepts and connects, unless told not to; see settle().
  explicit World(Start const& start = {});
  /// A further connection in the contexts of `other`, with a workload of its own. Time is shared:
  /// whichever of them lets it pass serves all. Of `start` the routes count, and what is to be
  /// done.
  World(World& other, Start const& start);
  World(World const&) = delete;
  World& operator=(World const&) = delete;
  ~World();

  // ---- Time

  /// How often pass() and idle() serve both ends.
  Duration service_period = 1_ms;
  /// Lets `d` pass; polls nothing, serves both ends.
  void idle(Duration d);
  /// Until both ends are ready. False after `limit`.
  bool settle(Duration limit = 20_s);
  [[nodiscard]] Time now() const;
  /// Lets time pass to the next moment at which anything happens, and not beyond `until`.
  void pass(Time until);

  // ---- Workload

  /// What run() will do from now on. Steps go on counting.
  void load(Load const& load);
  /// Posts and polls until everything of the workload is done, or an end has ended and all that
  /// was posted is done. False, and a problem, when `limit` passes before.
  bool run(Duration limit = 60_s);
  /// One round of posting and polling. True when something moved.
  bool round();
  [[nodiscard]] bool finished() const { return finished(End::sender) && finished(End::receiver); }
  [[nodiscard]] bool finished(End end) const;
  /// Until `steps` of the load are received. False after `limit`.
  bool run_until(std::size_t steps, Duration limit = 60_s);
  void stop_posting() { stopped_ = true; }
  /// Ends the load early: what either end has posted still finds its match.
  void wind_up();
  /// Until `condition()`, polling meanwhile. False after `limit`.
  template <class F>
  bool until(F condition, Duration limit = 10_s) {
    for (Time const end = now() + limit; !condition();) {
      if (round()) continue;
      if (now() >= end) return false;
      pass(end);
    }
    return true;
  }
  /// Polls a request that is not of the load. Not done after `limit`.
  [[nodiscard]] Result wait(End end, Request r, Duration limit = 60_s);
  std::size_t sends_at_most = none;  ///< Steps of the load whose sends may be posted.
  std::array<bool, 2> paused{};      ///< By End: neither its owner nor its service does anything.

  // ---- What happened

  /// Checks what can only be checked at the end, and gives all problems.
  [[nodiscard]] std::string problems();
  [[nodiscard]] std::size_t received() const { return received_; }  ///< Steps with ok.
  [[nodiscard]] std::size_t sent() const { return sent_; }          ///< Sends with ok.
  /// Steps of the load whose sends were posted.
  [[nodiscard]] std::size_t posted() const { return next_send_ - base_; }
  /// The results of step n of the load, piece r.
  [[nodiscard]] Result const& send_result(std::size_t n, std::size_t r = 0) const;
  [[nodiscard]] Result const& receive_result(std::size_t n) const;
  [[nodiscard]] ConnectionStatus sender() { return ends->status(End::sender); }
  [[nodiscard]] ConnectionStatus receiver() { return ends->status(End::receiver); }
  /// Every error that a request of that end was given, in order, each once.
  [[nodiscard]] std::vector<Errc> errors(End end) const;

  // ---- Faults: docs/faults.md

  void inject(std::string_view script);
  [[nodiscard]] std::uint64_t fired(soft::Action a);
  [[nodiscard]] std::uint64_t posts_not_rts();
  [[nodiscard]] std::size_t queue_pairs();
  [[nodiscard]] std::size_t registrations();
  /// Pieces of data that a QP has put on the wire, by its number.
  [[nodiscard]] std::uint64_t messages_by_qp(std::uint32_t number);
  [[nodiscard]] std::uint64_t data_bytes(std::size_t host, std::size_t port);
  [[nodiscard]] std::size_t held_writes(std::size_t host, std::size_t port);

 private:
  std::shared_ptr<soft::Fabric> fabric_;

 public:
  [[nodiscard]] soft::Fabric& fabric() { return *fabric_; }
  std::array<std::shared_ptr<Host>, 2> hosts;
  std::unique_ptr<Ends> ends;

 private:
  struct Send {
    Request request;
    Result result;
    bool posted = false;
  };
  struct StepRecord {
    std::vector<Piece> pieces;
    std::array<Send, max_receives> sends;
    Request request;
    Result result;
    bool posted = false;
    std::size_t sends_done = 0;
  };
  /// A step's place in the buffers of an end.
  struct Slot {
    std::vector<std::uint64_t> words;
    Memory memory;
    std::size_t consumed = none;  ///< Target: step whose bytes the consumer keeps in it.
  };

  void begin(Start const& start);
  bool post_receive();
  bool post_sends();
  bool poll_receives();
  bool poll_sends();
  void check_received(std::size_t n);
  void check_consumed(Slot& slot);
  [[nodiscard]] bool is_paused(End end) const { return paused[static_cast<std::size_t>(end)]; }
  void problem(std::size_t step, std::string_view what);
  [[nodiscard]] bool present(End end) const;
  [[nodiscard]] Slot& source(std::size_t n) { return sources_[(n - base_) % sources_.size()]; }
  [[nodiscard]] Slot& target(std::size_t n) { return targets_[(n - base_) % targets_.size()]; }

  Load load_;
  Time loaded_{};
  std::vector<StepRecord> steps_;
  std::vector<Slot> sources_, targets_;
  std::size_t base_ = 0;  ///< First step of this load.
  std::size_t next_receive_ = 0, next_send_ = 0, next_piece_ = 0;
  std::size_t oldest_receive_ = 0, oldest_send_ = 0;  ///< Below: done.
  std::size_t received_ = 0, sent_ = 0;
  Time next_service_{}, next_post_{};
  bool stopped_ = false;
  std::vector<std::string> problems_;
};

/// Runs the workloads of several connections of the same hosts until all are finished. False when
/// `limit` passes before.
bool run_all(std::span<World* const> worlds, Duration limit = 60_s);
/// The same until `condition()`.
template <class F>
bool until_all(std::span<World* const> worlds, F condition, Duration limit = 10_s) {
  World& first = *worlds.front();
  for (Time const end = first.now() + limit; !condition();) {
    bool moved = false;
    for (World* w : worlds) moved = w->round() || moved;
    if (moved) continue;
    if (first.now() >= end) return false;
    first.pass(end);
  }
  return true;
}

}  // namespace vccl::test
