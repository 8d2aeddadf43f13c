// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The calls of libibverbs that this library makes, one line each, and what else a lane asks of
/// the machine; tests give a scripted struct.

#include <vccl/detail/clock.hpp>
#include <vccl/op.hpp>

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <string>

namespace vccl::verbs {

/// Api of the machine. A scripted one has the same static functions with the same meaning.
/// Pointers: null with errno. Numbers: 0, or an errno, or -1 with errno (see error_of).
struct SystemVerbs {
  static ibv_device** get_device_list(int* count) noexcept { return ::ibv_get_device_list(count); }
  static void free_device_list(ibv_device** list) noexcept { ::ibv_free_device_list(list); }
  static const char* device_name(ibv_device* d) noexcept { return ::ibv_get_device_name(d); }
  static ibv_context* open_device(ibv_device* d) noexcept { return ::ibv_open_device(d); }
  static int close_device(ibv_context* c) noexcept { return ::ibv_close_device(c); }
  static int query_device(ibv_context* c, ibv_device_attr* into) noexcept {
    return ::ibv_query_device(c, into);
  }
  static int query_port(ibv_context* c, std::uint8_t port, ibv_port_attr* into) noexcept {
    return ibv_query_port(c, port, into);
  }
  static int query_gid(ibv_context* c, std::uint8_t port, std::uint32_t index,
                       ibv_gid_entry* into) noexcept {
    return ::ibv_query_gid_ex(c, port, index, into, 0);
  }
  static ibv_pd* alloc_pd(ibv_context* c) noexcept { return ::ibv_alloc_pd(c); }
  static int dealloc_pd(ibv_pd* pd) noexcept { return ::ibv_dealloc_pd(pd); }
  static ibv_cq* create_cq(ibv_context* c, int depth, void* tag) noexcept {
    return ::ibv_create_cq(c, depth, tag, nullptr, 0);
  }
  static int destroy_cq(ibv_cq* cq) noexcept { return ::ibv_destroy_cq(cq); }
  static int poll_cq(ibv_cq* cq, int most, ibv_wc* into) noexcept {
    return ::ibv_poll_cq(cq, most, into);
  }
  static ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* how) noexcept {
    return ::ibv_create_qp(pd, how);
  }
  static int destroy_qp(ibv_qp* qp) noexcept { return ::ibv_destroy_qp(qp); }
  static int modify_qp(ibv_qp* qp, ibv_qp_attr* to, int mask) noexcept {
    return ::ibv_modify_qp(qp, to, mask);
  }
  static int query_ece(ibv_qp* qp, ibv_ece* into) noexcept { return ::ibv_query_ece(qp, into); }
  static int set_ece(ibv_qp* qp, ibv_ece* to) noexcept { return ::ibv_set_ece(qp, to); }
  static int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) noexcept {
    return ::ibv_post_send(qp, first, bad);
  }
  static int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
    return ::ibv_post_recv(qp, first, bad);
  }
  /// With iova2, so that relaxed ordering is an option that an old kernel may leave out.
  static ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) noexcept {
    return ::ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                              access);
  }
  static ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length,
                               std::uint64_t iova, int fd, unsigned access) noexcept {
    return ::ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, static_cast<int>(access));
  }
  static int dereg_mr(ibv_mr* mr) noexcept { return ::ibv_dereg_mr(mr); }
  /// Not a call of libibverbs, but what its manual asks for to read events without blocking
  /// (man ibv_get_async_event).
  static int unblock_events(ibv_context* c) noexcept {
    return ::fcntl(c->async_fd, F_SETFL, ::fcntl(c->async_fd, F_GETFL) | O_NONBLOCK);
  }
  static int get_async_event(ibv_context* c, ibv_async_event* into) noexcept {
    return ::ibv_get_async_event(c, into);
  }
  static void ack_async_event(ibv_async_event* e) noexcept { ::ibv_ack_async_event(e); }

  // ---- Not of libibverbs

  /// Where the device stands in sysfs; empty when that cannot be told.
  static std::string device_path(ibv_device* d) {
    char* const p = ::realpath((std::string{d->ibdev_path} + "/device").c_str(), nullptr);
    std::string path = p == nullptr ? "" : p;
    std::free(p);
    return path;
  }
  static Time now() noexcept { return detail::monotonic_now(); }
  /// True: time passes by itself.
  static bool real_time() noexcept { return true; }
  static void pause() noexcept { ::sched_yield(); }
  static std::uint64_t random() noexcept { return detail::entropy(); }
};

}  // namespace vccl::verbs
