// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// One reliable connected QP, from RESET to RTS and back, and what waits for its doorbell.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/handles.hpp>
#include <vccl/transport/verbs/queue_pair.hpp>
#include <vccl/transport/verbs/status.hpp>
#include <vccl/transport/verbs/work_queue.hpp>

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace vccl::verbs {

/// Knows its state as this end has made it: the device may have taken it to ERR, and asking costs a
/// call of the kernel.
template <class Api, std::size_t depth, std::size_t inline_bytes>
class ConnectedQueue {
 public:
  enum class State : std::uint8_t { none, reset, init, error, rtr, rts };

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] ibv_qp* operator->() const noexcept { return qp_.get(); }
  [[nodiscard]] std::uint32_t first_psn() const noexcept { return first_psn_; }
  [[nodiscard]] EnhancedEstablishment ece() const noexcept { return ece_; }
  /// The device refused a change of state for good: RESET will not heal it.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  /// What was just created, in RESET.
  void take(QueuePair<Api> qp) noexcept {
    qp_ = std::move(qp);
    state_ = State::reset;
    broken_ = false;
    ibv_ece e{};
    ece_ = {};
    if (Api::query_ece(qp_.get(), &e) == 0) ece_ = {e.vendor_id, e.options};
  }

  /// From RESET.
  [[nodiscard]] Errc to_init(LocalPort const& port, bool loopback, std::uint64_t random) noexcept {
    first_psn_ = static_cast<std::uint32_t>(random) & psn_mask;
    return modify(verbs::to_init(port, loopback), State::init);
  }
  /// From INIT to RTS, on from where an earlier call came to.
  [[nodiscard]] Errc connect(Transition const& rtr, LaneConfig const& config,
                             EnhancedEstablishment agreed) noexcept {
    if (state_ == State::init) {
      if (agreed != EnhancedEstablishment{}) {
        ibv_ece e{};
        e.vendor_id = agreed.vendor;
        e.options = agreed.options;
        static_cast<void>(Api::set_ece(qp_.get(), &e));
      }
      if (Errc const e = modify(rtr, State::rtr); e != Errc::ok) return e;
    }
    return state_ == State::rtr ? modify(to_rts(config, first_psn_), State::rts) : Errc::ok;
  }

  /// To ERR, and what waits for its doorbell with it. failed: refused.
  [[nodiscard]] Errc to_error() noexcept {
    if (state_ <= State::reset || state_ == State::error) return Errc::ok;
    Errc const e = modify(to_state(IBV_QPS_ERR), State::error);
    if (e == Errc::ok) static_cast<void>(ring());
    return e == Errc::path_down ? Errc::failed : e;
  }
  /// To RESET; gone where it is broken.
  [[nodiscard]] Errc to_reset() noexcept {
    chain_.clear();
    if (state_ == State::none || (state_ == State::reset && !broken_)) return Errc::ok;
    if (!broken_) {
      Errc const e = modify(to_state(IBV_QPS_RESET), State::reset);
      if (e != Errc::path_down) return e;
    }
    return destroy();
  }
  /// A device that was removed says EIO or ENODEV and has destroyed it before.
  [[nodiscard]] Errc destroy() noexcept {
    chain_.clear();
    state_ = State::none;
    int const error = error_of(qp_.reset());
    return error == 0 || error == EIO || error == ENODEV ? Errc::ok : Errc::failed;
  }

  // ---- Work

  /// Takes a request until the doorbell; one that finds no room rings for those before it.
  [[nodiscard]] Errc post(WorkRequest const& w) noexcept {
    if (Errc const e = make_room(1); e != Errc::ok) [[unlikely]]
      return e;
    chain_.push(w);
    return Errc::ok;
  }
  /// The same as two: the bytes, and behind them the empty notify.
  [[nodiscard]] Errc post_split(WorkRequest w) noexcept {
    if (Errc const e = make_room(2); e != Errc::ok) return e;
    WorkRequest bytes = w;
    bytes.kind = WorkRequest::Kind::write;
    bytes.signaled = false;
    chain_.push(bytes);
    w.length = 0;
    w.inlined = false;
    chain_.push(w);
    return Errc::ok;
  }
  /// Gives all that was pushed to the device. See Chain.
  [[nodiscard]] Errc ring() noexcept { return chain_.template ring<Api>(qp_.get()); }

  /// Works from INIT on (IBTA vol. 1, 10.3.1.2).
  [[nodiscard]] Errc post_receive(std::uint64_t id) noexcept {
    if (state_ <= State::reset) return Errc::path_down;
    ibv_recv_wr r{};
    r.wr_id = id;
    ibv_recv_wr* bad = nullptr;
    return to_errc(error_of(Api::post_recv(qp_.get(), &r, &bad)));
  }

 private:
  [[nodiscard]] Errc make_room(std::size_t places) noexcept {
    return chain_.room() >= places ? Errc::ok : ring();
  }
  [[nodiscard]] Errc modify(Transition t, State then) noexcept {
    int const error = error_of(Api::modify_qp(qp_.get(), &t.attributes, t.mask));
    if (error == 0) state_ = then;
    if (error != 0 && !is_transient(error)) broken_ = true;
    return to_errc(error);
  }

  QueuePair<Api> qp_;
  State state_ = State::none;
  bool broken_ = false;
  std::uint32_t first_psn_ = 0;
  EnhancedEstablishment ece_{};
  Chain<depth, inline_bytes> chain_;
};

}  // namespace vccl::verbs
