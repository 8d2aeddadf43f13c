// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A reliable connected queue pair: its states, its two work queues, the numbers of both
/// directions.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>
#include <vccl/transport/soft/packet.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace vccl::soft {

enum class QpState : std::uint8_t { reset, init, rtr, rts, err };

/// Transitions that may be asked for (IBTA vol. 1, 10.3.1, figure of the QP state diagram; the same
/// table as Linux's ib_modify_qp_is_ok for RC, without SQD and SQE). ERR from RESET is not one.
[[nodiscard]] constexpr bool may_go(QpState from, QpState to) noexcept {
  switch (to) {
    case QpState::reset:
      return true;
    case QpState::init:
      return from == QpState::reset || from == QpState::init;
    case QpState::rtr:
      return from == QpState::init;
    case QpState::rts:
      return from == QpState::rtr || from == QpState::rts;
    case QpState::err:
      return from != QpState::reset;
  }
  return false;
}

/// A fixed-depth work queue. Entries are numbered for ever; [head, tail) are not retired yet.
template <class T>
class WorkQueue {
 public:
  void set_depth(std::size_t depth) noexcept { depth_ = depth; }
  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }
  [[nodiscard]] std::uint64_t tail() const noexcept { return tail_; }
  [[nodiscard]] bool full() const noexcept { return tail_ - head_ == depth_; }
  [[nodiscard]] T& operator[](std::uint64_t n) noexcept { return items_[n & (items_.size() - 1)]; }
  /// A new last entry, with whatever its place held before. The queue must not be full.
  T& push() {
    if (tail_ - head_ == items_.size()) grow();
    return (*this)[tail_++];
  }
  void retire(std::uint64_t upto) noexcept {
    if (upto > head_) head_ = upto;
  }
  void clear() noexcept { head_ = tail_; }

 private:
  void grow() {
    std::vector<T> wider(items_.empty() ? std::min<std::size_t>(16, std::bit_ceil(depth_))
                                        : items_.size() * 2);
    for (std::uint64_t n = head_; n != tail_; ++n)
      wider[n & (wider.size() - 1)] = std::move((*this)[n]);
    items_ = std::move(wider);
  }

  std::vector<T> items_;
  std::size_t depth_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

/// A posted request.
struct SendEntry {
  WorkRequest request;
  std::uint64_t first = 0;    ///< Number of its first packet, counted from the QP's start.
  std::uint64_t packets = 0;  ///< 0: not looked at yet.
  std::unique_ptr<std::byte[]> inlined;
};

/// A posted receive. Most are empty: they only lend a completion to a notify.
struct ReceiveEntry {
  std::uint64_t id = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t key = 0;
};

/// How a QP meets its peer, from its transition to RTR on.
struct QpPeer {
  std::uint32_t port = 0;
  std::uint32_t gid = 0;
  std::uint32_t number = 0;
  friend bool operator==(QpPeer const&, QpPeer const&) = default;
};

/// A packet that came before one that it should follow. A plain write is placed already.
struct EarlyPacket {
  bool placed = false;
  Packet packet;
};

/// All state of one QP. Packets are numbered from 0 inside and by 24-bit PSN on the wire.
struct QueuePair {
  // What it is.
  std::uint32_t number = 0;
  std::uint32_t slot = 0;
  std::uint32_t lane = 0;
  std::uint32_t port = 0;  ///< Over all hosts.
  QpState state = QpState::reset;
  bool loopback = false;
  bool was_error = false;  ///< Has been in ERR since it was created.
  bool broken = false;     ///< Cannot leave RESET any more.
  bool queued = false;     ///< Waits for its port's cable.
  std::uint8_t timeout = 0, retry_count = 0, rnr_retry = 0, min_rnr_timer = 0;

  // Who the peer is.
  QpPeer peer;
  std::uint32_t gid = 0;  ///< The own GID, as it was when the QP went to INIT.
  std::uint32_t gid_index = 0;
  std::uint32_t mtu = 0;

  // Requester: work [acked, rung) is the NIC's; [next, rung) is still to be sent.
  WorkQueue<SendEntry> sends;
  std::uint64_t acked = 0, next = 0, rung = 0;
  std::uint64_t next_packet = 0;  ///< Number of the packet to be sent next.
  std::uint64_t unacked = 0;      ///< The oldest packet that is not acknowledged.
  std::uint64_t highest = 0;      ///< One more than the highest packet ever sent.
  std::uint32_t first_psn = 0;    ///< PSN of packet 0.
  std::uint8_t retries = 0, rnr_retries = 0;
  bool rnr_wait = false;  ///< The deadline is of a receiver-not-ready pause.
  Time deadline = never;
  Time timer_at = never;  ///< When an event will look at the deadline.

  // Responder.
  WorkQueue<ReceiveEntry> receives;
  std::uint64_t next_receive = 0;
  std::uint32_t expected = 0;      ///< PSN.
  bool nak_sent = false;           ///< One sequence-error NAK per gap.
  std::vector<EarlyPacket> early;  ///< Adaptive routing: packets beyond a gap.

  // What happened on it.
  std::uint64_t messages = 0;  ///< Of kind data, put on the wire.

  [[nodiscard]] std::uint32_t psn_of(std::uint64_t packet) const noexcept {
    return psn_add(first_psn, packet);
  }
  /// The packet of a PSN that an answer names: within half the numbers from the oldest
  /// unacknowledged.
  [[nodiscard]] std::uint64_t packet_of(std::uint32_t psn) const noexcept {
    std::uint32_t const ahead = psn_distance(psn_of(unacked), psn);
    return ahead < psn_half ? unacked + ahead : unacked - (psn_mask + 1 - ahead);
  }
  /// As after creation, keeping its number. Queues are empty, old completions are not looked at
  /// here.
  void clear() noexcept {
    sends.clear();
    receives.clear();
    acked = next = rung = sends.tail();
    next_receive = receives.tail();
    next_packet = unacked = highest = 0;
    retries = rnr_retries = 0;
    rnr_wait = nak_sent = false;
    deadline = never;
    peer = {};
    early.clear();
  }
};

}  // namespace vccl::soft
