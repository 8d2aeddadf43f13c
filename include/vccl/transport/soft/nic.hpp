// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// SoftNic: a lane of reliable connected queue pairs in software, with the rules of real ones.

#include <vccl/concepts.hpp>
#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/engine.hpp>
#include <vccl/transport/soft/host.hpp>
#include <vccl/transport/soft/lane_setup.hpp>
#include <vccl/transport/soft/registration.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace vccl::soft {

/// A lane: the QPs of one connection on one port, their CQ, and a QP to itself for flush reads.
///
/// State: in its fabric; this is a handle, and must not outlive it.  Hot path: one mutex of the
/// fabric per call, no allocation once queues have grown.  Thread safety: lanes may belong to
/// different threads. Use when there is no RDMA hardware, or a fault has to come at an exact
/// moment.
class Nic {
 public:
  using Host = soft::Host;
  using Registration = soft::Registration;
  static constexpr Limits limits{.max_inline = 256};

  /// QPs in RESET. Throws SetupError: no such port, a number out of range, host killed, device
  /// dead.
  Nic(Host& host, LaneConfig const& config) : core_{host.core_} {
    std::scoped_lock const lock{core_->mutex};
    host.need_alive("SoftNic");
    lane_ = make_lane(*core_, host.index_, config);
  }
  Nic(Nic&& other) noexcept : core_{std::exchange(other.core_, nullptr)}, lane_{other.lane_} {}
  Nic& operator=(Nic&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(lane_, other.lane_);
    return *this;
  }
  ~Nic() {
    if (core_ == nullptr) return;
    std::scoped_lock const lock{core_->mutex};
    free_lane(*core_, *lane_);
  }

  /// Takes a request; it goes out with flush(). Inlined bytes are copied now. A lane with a QP in
  /// ERR takes it too and flushes it (IBTA vol. 1, 10.3.1.5). path_down: QP in RESET, INIT or RTR
  /// (10.8.2: invalid QP state), device dead, host killed. invalid_argument: no such QP, too long
  /// to inline.
  [[nodiscard]] Errc post(WorkRequest const& w) noexcept {
    std::scoped_lock const lock{core_->mutex};
    if (w.qp >= lane_->config.qps) return Errc::invalid_argument;
    return enqueue(w.qp, w);
  }

  /// Lends an empty receive. Works from INIT on (IBTA vol. 1, 10.3.1.2). Needs no flush().
  [[nodiscard]] Errc post_receive(std::uint8_t qp, std::uint64_t id) noexcept {
    return post_receive(qp, ReceiveEntry{id, 0, 0, 0});
  }
  /// Lends memory for a send of the peer.
  [[nodiscard]] Errc post_receive(std::uint8_t qp_index, ReceiveEntry const& receive) noexcept {
    std::scoped_lock const lock{core_->mutex};
    if (qp_index >= lane_->config.qps) return Errc::invalid_argument;
    if (Errc const e = usable(Call::post_receive); e != Errc::ok) return e;
    QueuePair& qp = *lane_->qps[qp_index];
    if (qp.state == QpState::reset) return Errc::path_down;
    if (qp.receives.full()) return Errc::would_block;
    qp.receives.push() = receive;
    if (qp.state == QpState::err && core_->config.flush_receives_in_error)
      flush_receives(*core_, qp);
    return Errc::ok;
  }

  /// Reads a byte of registered memory through this port, over a QP to itself: pushes what the
  /// port's bus still holds. invalid_argument: no byte to read. Goes out with flush().
  [[nodiscard]] Errc post_flush_read(Memory const& memory, Keys keys, std::uint64_t id) noexcept {
    if (memory.length == 0) return Errc::invalid_argument;
    WorkRequest w;
    w.kind = WorkRequest::Kind::read;
    w.id = id;
    w.length = 1;
    w.remote = memory.address;
    w.keys = keys;
    std::scoped_lock const lock{core_->mutex};
    return enqueue(lane_->config.qps, w);
  }

  /// Rings the doorbell: everything posted goes out, or flushes if its QP is in ERR. would_block: a
  /// fault says so; then poll() rings.
  [[nodiscard]] Errc flush() noexcept {
    std::scoped_lock const lock{core_->mutex};
    Errc const e = usable(Call::flush);
    rings_later_ = e == Errc::would_block;
    if (e == Errc::ok) ring();
    return e;
  }

  /// Finished work, oldest first. Polling gives the queues' places back.
  [[nodiscard]] std::size_t poll(std::span<Completion> out) noexcept {
    std::scoped_lock const lock{core_->mutex};
    catch_up(*core_);
    if (usable(Call::poll) != Errc::ok) return 0;
    if (rings_later_) {
      rings_later_ = usable(Call::flush) == Errc::would_block;
      if (!rings_later_) ring();
    }
    std::size_t n = 0;
    while (n < out.size() && !lane_->cq.empty()) {
      CompletionEntry const& e = lane_->cq.pop();
      out[n++] = e.what;
      QueuePair& qp = *core_->qps.at(e.qp);
      if (e.of_receive) {
        qp.receives.retire(e.retires);
      } else {
        qp.sends.retire(e.retires);
      }
    }
    return n;
  }

  /// ok at once where nothing is to be done: QPs that are there already, a dead device, a killed
  /// host. would_block: a fault makes it slow. failed: a fault says so.
  [[nodiscard]] Errc fence(FenceStep step) noexcept {
    std::scoped_lock const lock{core_->mutex};
    read_clock(*core_);
    if (!lives(*core_, *lane_) || core_->ports[lane_->port].fatal) return Errc::ok;
    Errc const e = fence_lane(*core_, *lane_, step);
    run_due(*core_);
    return e;
  }

  /// From RESET to INIT, with fresh packet numbers; new QPs where the old ones are unusable.
  /// Repeating it in INIT only asks port and GID again. would_block: port down or without a GID.
  /// path_down: QPs in ERR, device dead, host killed. invalid_argument: QPs connected.
  [[nodiscard]] Errc describe(LaneAddress& mine) noexcept {
    std::scoped_lock const lock{core_->mutex};
    catch_up(*core_);
    if (Errc const e = usable(Call::describe); e != Errc::ok) return e;
    return describe_lane(*core_, *lane_, mine);
  }

  /// From INIT to RTS, towards `theirs`. ok again when already there. would_block: port down.
  /// path_down: QPs in ERR. invalid_argument: not described, another number of QPs, no such
  /// address.
  [[nodiscard]] Errc connect(LaneAddress const& theirs) noexcept {
    std::scoped_lock const lock{core_->mutex};
    catch_up(*core_);
    if (Errc const e = usable(Call::connect); e != Errc::ok) return e;
    return connect_lane(*core_, *lane_, theirs);
  }

  /// Bytes: the smaller of both ends' once connected, before that this end's.
  [[nodiscard]] std::uint64_t max_message() noexcept {
    std::scoped_lock const lock{core_->mutex};
    return lane_->max_message;
  }

  /// Throws SetupError; see Registration.
  [[nodiscard]] static Registration register_memory(Host& host, PortId port, void* address,
                                                    std::size_t length, Access access,
                                                    MemoryKind kind) {
    return {host, port, address, length, access, kind};
  }

  /// For tests: state and number of a QP; index qps is the one of flush reads.
  [[nodiscard]] QpState state(std::size_t qp) const noexcept {
    std::scoped_lock const lock{core_->mutex};
    return qp < lane_->qps.size() ? lane_->qps[qp]->state : QpState::reset;
  }
  [[nodiscard]] std::uint32_t qp_number(std::size_t qp) const noexcept {
    std::scoped_lock const lock{core_->mutex};
    return qp < lane_->qps.size() ? lane_->qps[qp]->number : 0;
  }

 private:
  /// Whether a call gets through to the device at all, and what the fault script makes of it.
  void ring() noexcept {
    read_clock(*core_);
    for (QueuePair* qp : lane_->qps) {
      if (qp->rung == qp->sends.tail()) continue;
      qp->rung = qp->sends.tail();
      if (qp->state == QpState::err) {
        flush_sends(*core_, *qp);
      } else {
        activate(*core_, *qp);
      }
    }
    run_due(*core_);
  }

  Errc usable(Call call) noexcept {
    if (!lives(*core_, *lane_)) return Errc::path_down;
    if (core_->ports[lane_->port].fatal) return Errc::path_down;
    if (int const error = core_->faults.on_call(call, lane_->port); error != 0)
      return refusal(error);
    if (lane_->qps.empty() && call != Call::describe) return Errc::path_down;
    return Errc::ok;
  }

  Errc enqueue(std::size_t index, WorkRequest const& w) noexcept {
    if (Errc const e = usable(Call::post_send); e != Errc::ok) return e;
    QueuePair& qp = *lane_->qps[index];
    if (qp.state != QpState::rts) {
      ++core_->posts_not_rts;
      if (qp.state != QpState::err) return Errc::path_down;
    }
    bool const inlined = w.inlined && w.length != 0;
    if (inlined && (w.length > limits.max_inline || w.kind == WorkRequest::Kind::read))
      return Errc::invalid_argument;
    if (qp.sends.full()) return Errc::would_block;
    SendEntry& s = qp.sends.push();
    s.request = w;
    s.packets = 0;
    if (inlined) {
      if (s.inlined == nullptr) s.inlined = std::make_unique<std::byte[]>(limits.max_inline);
      std::memcpy(s.inlined.get(), BusBuffer::to_pointer(w.local), w.length);
    }
    return Errc::ok;
  }

  Core* core_;
  Lane* lane_ = nullptr;
  bool rings_later_ = false;  ///< A doorbell was refused for now.
};
static_assert(Transport<soft::Nic>);

}  // namespace vccl::soft

namespace vccl {
/// The name that users take.
using SoftNic = soft::Nic;
}  // namespace vccl
