// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The calls of libibverbs, answered by the Machine that is here: same functions and meaning
/// as verbs::SystemVerbs.

#include <support/emulated_verbs/machine.hpp>

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace vccl::test {

struct EmulatedVerbs {
  using Machine = emulated::Machine;
  static ibv_device** get_device_list(int* count) noexcept {
    return Machine::here().get_device_list(count);
  }
  static void free_device_list(ibv_device** list) noexcept {
    Machine::here().free_device_list(list);
  }
  static char const* device_name(ibv_device* d) noexcept { return d->name; }
  static ibv_context* open_device(ibv_device* d) noexcept { return Machine::here().open_device(d); }
  static int close_device(ibv_context* c) noexcept { return Machine::here().close_device(c); }
  static int query_device(ibv_context* c, ibv_device_attr* into) noexcept {
    return Machine::here().query_device(c, into);
  }
  static int query_port(ibv_context* c, std::uint8_t port, ibv_port_attr* into) noexcept {
    return Machine::here().query_port(c, port, into);
  }
  static int query_gid(ibv_context* c, std::uint8_t port, std::uint32_t index,
                       ibv_gid_entry* into) noexcept {
    return Machine::here().query_gid(c, port, index, into);
  }
  static ibv_pd* alloc_pd(ibv_context* c) noexcept { return Machine::here().alloc_pd(c); }
  static int dealloc_pd(ibv_pd* pd) noexcept { return Machine::here().dealloc_pd(pd); }
  static ibv_cq* create_cq(ibv_context* c, int depth, void* tag) noexcept {
    return Machine::here().create_cq(c, depth, tag);
  }
  static int destroy_cq(ibv_cq* cq) noexcept { return Machine::here().destroy_cq(cq); }
  static int poll_cq(ibv_cq* cq, int most, ibv_wc* into) noexcept {
    return Machine::here().poll_cq(cq, most, into);
  }
  static ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* how) noexcept {
    return Machine::here().create_qp(pd, how);
  }
  static int destroy_qp(ibv_qp* qp) noexcept { return Machine::here().destroy_qp(qp); }
  static int modify_qp(ibv_qp* qp, ibv_qp_attr* to, int mask) noexcept {
    return Machine::here().modify_qp(qp, to, mask);
  }
  static int query_ece(ibv_qp* qp, ibv_ece* into) noexcept {
    return Machine::here().query_ece(qp, into);
  }
  static int set_ece(ibv_qp* qp, ibv_ece* to) noexcept { return Machine::here().set_ece(qp, to); }
  static int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) noexcept {
    return Machine::here().post_send(qp, first, bad);
  }
  static int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
    return Machine::here().post_recv(qp, first, bad);
  }
  static ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) noexcept {
    return Machine::here().reg_mr(pd, address, length, access);
  }
  static ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length,
                               std::uint64_t iova, int fd, unsigned access) noexcept {
    return Machine::here().reg_dmabuf_mr(pd, offset, length, iova, fd, access);
  }
  static int dereg_mr(ibv_mr* mr) noexcept { return Machine::here().dereg_mr(mr); }
  static int unblock_events(ibv_context* c) noexcept { return Machine::here().unblock_events(c); }
  static int get_async_event(ibv_context* c, ibv_async_event* into) noexcept {
    return Machine::here().get_async_event(c, into);
  }
  static void ack_async_event(ibv_async_event* e) noexcept { Machine::here().ack_async_event(e); }
  /// Each device is a card of its own.
  static std::string device_path(ibv_device*) { return {}; }
  static Time now() noexcept { return Machine::here().now(); }
  static bool real_time() noexcept { return Machine::here().real_time(); }
  static void pause() noexcept {}
  static std::uint64_t random() noexcept { return Machine::here().random(); }
};

}  // namespace vccl::test
