// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file A connection of any type behind one interface, so that what tests it is compiled once.

#include <support/nic.hpp>
#include <vccl/concepts.hpp>
#include <vccl/detail/setup.hpp>
#include <vccl/route.hpp>
#include <vccl/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace vccl::test {

/// A Context at each of two hosts, a Listener at the second, and a Sender and a Receiver that may
/// be made and destroyed in any order.
class Ends {
 public:
  virtual ~Ends() = default;

  /// A further connection in the same contexts; reversed: its sender is at the second host.
  [[nodiscard]] virtual std::unique_ptr<Ends> another(bool reversed) = 0;

  virtual void listen(Route const& route) = 0;
  virtual void stop_listening() = 0;
  [[nodiscard]] virtual Handle handle() const = 0;
  [[nodiscard]] virtual std::uint64_t refused() const = 0;
  virtual void accept() = 0;
  virtual void connect(Route const& route, Handle const& handle) = 0;
  virtual void destroy(End end) = 0;

  [[nodiscard]] virtual bool ready(End end) = 0;
  [[nodiscard]] virtual Request isend(Memory const& from, Tag tag) = 0;
  [[nodiscard]] virtual Request irecv(std::span<RecvOp const> ops) = 0;
  [[nodiscard]] virtual Result test(End end, Request r) = 0;
  [[nodiscard]] virtual ConnectionStatus status(End end) = 0;
  virtual void close(End end) = 0;
  virtual void abort(End end) = 0;
  [[nodiscard]] virtual bool closed(End end) = 0;
  /// The registration lives until release_memory().
  [[nodiscard]] virtual Memory register_memory(End end, void* p, std::size_t n,
                                               MemoryKind kind) = 0;
  virtual void release_memory() = 0;
  /// What the service thread does, where time is virtual.
  virtual void service(End end) = 0;
  /// What telemetry kept; empty where the bundle keeps nothing.
  [[nodiscard]] virtual std::vector<Event> events(End end) = 0;
};

/// Policies of links::switched, chosen while running. Static, as policies are; set by World.
struct Switches {
  enum class Fence : std::uint8_t { both_ends, local, none } fence = Fence::both_ends;
  enum class Release : std::uint8_t {
    ack_or_confirm,
    ack,
    confirm
  } release = Release::ack_or_confirm;
  bool sender_done = false;     ///< rollback::SenderDone instead of ReceiverPosition.
  bool never_return = false;    ///< failback::Never instead of Probed.
  bool per_connection = false;  ///< health::PerConnection instead of PerPort.
  bool rnr_is_path_fault = false;
  bool blind = false;  ///< No port events, no stalls: only failed completions tell.
};
inline Switches switches;

using MakeEnds = std::unique_ptr<Ends> (*)(Host& sender, Host& receiver);

namespace links {
/// NoBackup, NoSync, DefaultPolicies.
std::unique_ptr<Ends> plain(Host& sender, Host& receiver);
/// One backup, ReceiverDecides<>, Resilient with an EventLog.
std::unique_ptr<Ends> resilient(Host& sender, Host& receiver);
/// The same, with the policies that `switches` names.
std::unique_ptr<Ends> switched(Host& sender, Host& receiver);
/// One backup; notices a dead port after 5 ms, returns after 20 ms.
std::unique_ptr<Ends> hasty(Host& sender, Host& receiver);
/// Three backups.
std::unique_ptr<Ends> four_paths(Host& sender, Host& receiver);
/// Like resilient, but tries a lost path after 20 ms and returns when it was good for 50 ms.
std::unique_ptr<Ends> quick(Host& sender, Host& receiver);
/// The same, with messages on the pipe only.
std::unique_ptr<Ends> quick_out_of_band(Host& sender, Host& receiver);
/// The same, with messages on the paths only.
std::unique_ptr<Ends> quick_in_band(Host& sender, Host& receiver);
}  // namespace links

}  // namespace vccl::test
