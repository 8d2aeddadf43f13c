// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// All state of a fabric, behind one mutex. Functions on it are in the headers that include this
/// one; whoever calls them holds the mutex.

#include <vccl/concepts.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>
#include <vccl/transport/soft/completion_queue.hpp>
#include <vccl/transport/soft/config.hpp>
#include <vccl/transport/soft/event_queue.hpp>
#include <vccl/transport/soft/fault_engine.hpp>
#include <vccl/transport/soft/memory.hpp>
#include <vccl/transport/soft/packet.hpp>
#include <vccl/transport/soft/port.hpp>
#include <vccl/transport/soft/queue_pair.hpp>
#include <vccl/transport/soft/wire.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace vccl::soft {

/// Adaptive routing: no packet is sent, and none is taken, further ahead than this. Who places
/// packets out of order needs a limit, or one of an earlier life of the queue pair, whose number
/// can be any, is taken for one of this life.
inline constexpr std::uint32_t early_window = 256;

/// The inside of a Nic: its QPs, its CQ, and the fence that is under way.
struct Lane {
  std::uint32_t slot = 0;
  std::uint32_t serial = 0;
  std::uint32_t host = 0;
  std::uint32_t incarnation = 0;  ///< Of the host, when it was made.
  std::uint32_t port = 0;         ///< Over all hosts.
  LaneConfig config;
  std::uint64_t max_message = 0;
  CompletionQueue cq;
  bool overrun = false;         ///< The CQ lost a completion and takes no more.
  std::vector<QueuePair*> qps;  ///< The lane's, then the one of flush reads.
  bool fencing = false;         ///< A slow fence is under way.
  FenceStep step = FenceStep::error;
  std::array<bool, 2> fenced{};  ///< A slow fence of that step is done, and not yet told.
};

/// A host: alive or not, what its devices have to tell.
struct HostState {
  bool alive = true;
  std::uint32_t incarnation = 0;
  Random random{0};
  std::deque<PortEvent> events;
};

/// All QPs of a fabric by number. Numbers are unique over all hosts, 24 bits, never 0 or 1.
class QpTable {
 public:
  QueuePair& create(bool reuse_numbers) {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    Slot& s = slots_[slot];
    if (!reuse_numbers) ++s.generation;
    s.qp = std::make_unique<QueuePair>();
    s.qp->slot = slot;
    s.qp->number = (s.generation & 0xff) << 16 | (slot + 2);
    return *s.qp;
  }
  void destroy(QueuePair& qp) {
    if (qp.messages != 0) messages_[qp.number] += qp.messages;
    free_.push_back(qp.slot);
    slots_[qp.slot].qp.reset();
  }
  [[nodiscard]] QueuePair* find(std::uint32_t number) noexcept {
    std::uint32_t const slot = (number & 0xffff) - 2;
    if (slot >= slots_.size() || slots_[slot].qp == nullptr) return nullptr;
    return slots_[slot].qp->number == number ? slots_[slot].qp.get() : nullptr;
  }
  /// The QP of a slot, or null.
  [[nodiscard]] QueuePair* at(std::uint32_t slot) noexcept { return slots_[slot].qp.get(); }
  [[nodiscard]] std::size_t live() const noexcept { return slots_.size() - free_.size(); }
  [[nodiscard]] std::uint64_t messages(std::uint32_t number) {
    QueuePair* const qp = find(number);
    auto const past = messages_.find(number);
    return (qp == nullptr ? 0 : qp->messages) + (past == messages_.end() ? 0 : past->second);
  }

 private:
  struct Slot {
    std::unique_ptr<QueuePair> qp;
    std::uint32_t generation = 0;
  };
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint32_t, std::uint64_t> messages_;  ///< Of QPs that are gone.
};

/// A fabric's state.
struct Core {
  explicit Core(FabricConfig const& c)
      : config{c},
        started{c.virtual_time ? Time{} : monotonic_now()},
        now_ns{started.ns},
        noise{c.virtual_time ? c.seed : entropy()},
        faults{c.ports_per_host, c.seed} {}

  FabricConfig const config;
  Time const started;
  std::mutex mutex;
  std::atomic<std::int64_t> now_ns;  ///< Written under the mutex.
  Random noise;
  EventQueue events;
  PacketPool packets;
  Ring<std::uint32_t> arrivals;  ///< Packets that arrive now.
  Ring<std::uint32_t> ready;     ///< Ports that may have something to send.
  std::deque<Port> ports;
  std::deque<HostState> hosts;
  std::deque<Lane> lanes;
  std::vector<std::uint32_t> free_lanes;
  QpTable qps;
  RegionTable regions;
  std::vector<std::unique_ptr<ComputedMemory>> computed;
  Wire wire;
  FaultEngine faults;
  bool adaptive_routing = false;
  std::uint64_t posts_not_rts = 0;

  [[nodiscard]] Time now() const noexcept { return Time{now_ns.load(std::memory_order_relaxed)}; }
  void set_now(Time t) noexcept { now_ns.store(t.ns, std::memory_order_relaxed); }
  [[nodiscard]] Port& port(std::size_t host, std::size_t number) noexcept {
    return ports[host * config.ports_per_host + number];
  }
};

}  // namespace vccl::soft
