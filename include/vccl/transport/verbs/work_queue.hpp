// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Work requests of one QP between post and doorbell: one chain, given to the provider at once.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/status.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <endian.h>

namespace vccl::verbs {

/// Memory of this process at an address that came as a number.
[[nodiscard]] inline void* pointer_to(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// No default: each kind has its opcode.
[[nodiscard]] constexpr ibv_wr_opcode to_opcode(WorkRequest::Kind k) noexcept {
  switch (k) {
    case WorkRequest::Kind::write:
      return IBV_WR_RDMA_WRITE;
    case WorkRequest::Kind::write_with_immediate:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case WorkRequest::Kind::read:
      return IBV_WR_RDMA_READ;
    case WorkRequest::Kind::send:
      return IBV_WR_SEND;
  }
  return IBV_WR_RDMA_WRITE;
}

/// Holds up to `depth` requests. Stays where it is: its requests point into it.
template <std::size_t depth, std::size_t inline_bytes>
class Chain {
 public:
  Chain() noexcept = default;
  Chain(Chain const&) = delete;
  Chain& operator=(Chain const&) = delete;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Requests that still fit.
  [[nodiscard]] std::size_t room() const noexcept { return depth - count_; }

  /// Appends a request; there must be room, and inlined data must fit. Inlined data is copied here,
  /// so that the caller's memory is free again although the doorbell comes later.
  void push(WorkRequest const& w) noexcept {
    Entry& e = entries_[count_++];
    e.wr.wr_id = w.id;
    e.wr.opcode = to_opcode(w.kind);
    e.wr.imm_data = htobe32(w.immediate);
    e.wr.send_flags = w.signaled ? unsigned{IBV_SEND_SIGNALED} : 0u;
    e.wr.wr.rdma.remote_addr = w.remote;
    e.wr.wr.rdma.rkey = w.keys.remote;
    e.wr.sg_list = &e.piece;
    e.wr.num_sge = w.length != 0 ? 1 : 0;
    e.piece.length = static_cast<std::uint32_t>(w.length);
    e.piece.lkey = w.keys.local;
    e.piece.addr = w.local;
    if (w.inlined && w.length != 0) {
      std::memcpy(e.inlined.data(), pointer_to(w.local), w.length);
      e.piece.addr = reinterpret_cast<std::uintptr_t>(e.inlined.data());
      e.wr.send_flags |= IBV_SEND_INLINE;
    }
  }

  /// Gives all to the provider, which rings the doorbell. would_block: it took some and has no room
  /// for the rest, which stays here, in order; path_down: it refused one for good.
  template <class Api>
  [[nodiscard]] Errc ring(ibv_qp* qp) noexcept {
    if (count_ == 0) return Errc::ok;
    for (std::size_t i = first_; i < count_; ++i)
      entries_[i].wr.next = i + 1 < count_ ? &entries_[i + 1].wr : nullptr;
    ibv_send_wr* bad = nullptr;
    int const error = error_of(Api::post_send(qp, &entries_[first_].wr, &bad));
    if (error == 0) [[likely]] {
      clear();
      return Errc::ok;
    }
    while (first_ + 1 < count_ && bad != nullptr && &entries_[first_].wr != bad) ++first_;
    return to_errc(error);
  }

  void clear() noexcept { first_ = count_ = 0; }

 private:
  struct Entry {
    ibv_send_wr wr{};
    ibv_sge piece{};
    std::array<std::byte, inline_bytes> inlined{};
  };

  std::array<Entry, depth> entries_{};
  std::size_t first_ = 0;  ///< Those before it the provider has.
  std::size_t count_ = 0;
};

}  // namespace vccl::verbs
