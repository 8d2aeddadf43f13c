// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Api of two devices that take every call and remember it; nothing travels.

#include <archetypes/host.hpp>
#include <vccl/transport/verbs/system_verbs.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace vccl::verbs {

/// A bootstrap that brings nobody together.
struct NoBootstrap {
  using Address = archetype::Address;
  using Door = archetype::Door;
  using Pipe = archetype::Pipe;
  Door listen() { return {}; }
  Pipe dial(Address const&) { return {}; }
};

/// mlx5_1 and mlx5_10, two functions of one card; the first has two ports.
struct RecordingVerbs {
  struct Change {
    std::uint32_t qp;
    ibv_qp_attr to;
    int mask;
  };
  static inline std::array<ibv_device, 2> devices{};
  static inline std::array<ibv_context, 2> contexts{};
  static inline std::array<ibv_device*, 3> list{};
  static inline int open_error = 0, modify_error = 0;
  static inline ibv_qp_state refused = IBV_QPS_RESET;  ///< What modify_error is for.
  static inline ibv_port_state port = IBV_PORT_ACTIVE;
  static inline std::uint8_t address = 7;  ///< Last byte of the GID at index 1; 0: there is none.
  static inline int live = 0;              ///< Objects made and not destroyed.
  static inline std::uint32_t next_qp = 100;
  static inline std::vector<Change> changes;
  static inline std::vector<ibv_send_wr> sent;
  static inline std::deque<ibv_wc> finished;
  static inline std::deque<ibv_async_event> events;

  static void start() {
    changes.clear();
    sent.clear();
    finished.clear();
    events.clear();
    open_error = modify_error = live = 0;
    refused = IBV_QPS_RESET;
    port = IBV_PORT_ACTIVE;
    address = 7;
    next_qp = 100;
  }
  template <class T>
  static T* make() noexcept {
    ++live;
    return new T{};
  }
  template <class T>
  static int drop(T* t) noexcept {
    --live;
    delete t;
    return 0;
  }

  static ibv_device** get_device_list(int* count) noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      devices[i].transport_type = IBV_TRANSPORT_IB;
      list[i] = &devices[i];
    }
    ++live;
    *count = 2;
    return list.data();
  }
  static void free_device_list(ibv_device**) noexcept { --live; }
  static const char* device_name(ibv_device* d) noexcept {
    return d == &devices[0] ? "mlx5_1" : "mlx5_10";
  }
  static std::string device_path(ibv_device* d) {
    return d == &devices[0] ? "/sys/devices/pci/0000:17:00.0" : "/sys/devices/pci/0000:17:00.1";
  }
  static ibv_context* open_device(ibv_device* d) noexcept {
    if (d == &devices[1] && open_error != 0) return errno = open_error, nullptr;
    ++live;
    return &contexts[d == &devices[0] ? 0 : 1];
  }
  static int close_device(ibv_context*) noexcept { return --live, 0; }
  static int query_device(ibv_context* c, ibv_device_attr* into) noexcept {
    into->phys_port_cnt = c == &contexts[0] ? 2 : 1;
    return 0;
  }
  static int query_port(ibv_context*, std::uint8_t, ibv_port_attr* into) noexcept {
    into->state = port;
    into->link_layer = IBV_LINK_LAYER_ETHERNET;
    into->active_mtu = IBV_MTU_4096;
    into->max_msg_sz = 1u << 30;
    into->gid_tbl_len = 2;
    return 0;
  }
  static int query_gid(ibv_context*, std::uint8_t, std::uint32_t index,
                       ibv_gid_entry* into) noexcept {
    if (index != 1 || address == 0) return ENODATA;
    *into = {};
    into->gid_index = 1;
    into->gid_type = IBV_GID_TYPE_ROCE_V2;
    into->gid.raw[10] = into->gid.raw[11] = 0xff;
    into->gid.raw[15] = address;
    return 0;
  }
  static ibv_pd* alloc_pd(ibv_context*) noexcept { return make<ibv_pd>(); }
  static int dealloc_pd(ibv_pd* pd) noexcept { return drop(pd); }
  static ibv_cq* create_cq(ibv_context*, int, void*) noexcept { return make<ibv_cq>(); }
  static int destroy_cq(ibv_cq* cq) noexcept { return drop(cq); }
  static int poll_cq(ibv_cq*, int most, ibv_wc* into) noexcept {
    int n = 0;
    for (; n < most && !finished.empty(); ++n) {
      into[n] = finished.front();
      finished.pop_front();
    }
    return n;
  }
  static ibv_qp* create_qp(ibv_pd*, ibv_qp_init_attr* how) noexcept {
    ibv_qp* const qp = make<ibv_qp>();
    qp->qp_num = next_qp++;
    qp->qp_context = how->qp_context;
    return qp;
  }
  static int destroy_qp(ibv_qp* qp) noexcept { return drop(qp); }
  static int modify_qp(ibv_qp* qp, ibv_qp_attr* to, int mask) noexcept {
    if (modify_error != 0 && to->qp_state == refused) return modify_error;
    changes.push_back({qp->qp_num, *to, mask});
    return 0;
  }
  static int query_ece(ibv_qp*, ibv_ece*) noexcept { return EOPNOTSUPP; }
  static int set_ece(ibv_qp*, ibv_ece*) noexcept { return EOPNOTSUPP; }
  static int post_send(ibv_qp*, ibv_send_wr* first, ibv_send_wr**) noexcept {
    for (; first != nullptr; first = first->next) sent.push_back(*first);
    return 0;
  }
  static int post_recv(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) noexcept { return 0; }
  static ibv_mr* reg_mr(ibv_pd*, void*, std::size_t, unsigned) noexcept { return make<ibv_mr>(); }
  static ibv_mr* reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int,
                               unsigned) noexcept {
    return errno = EOPNOTSUPP, nullptr;
  }
  static int dereg_mr(ibv_mr* mr) noexcept { return drop(mr); }
  static int unblock_events(ibv_context*) noexcept { return 0; }
  static int get_async_event(ibv_context* c, ibv_async_event* into) noexcept {
    if (c != &contexts[0] || events.empty()) return errno = EAGAIN, -1;
    *into = events.front();
    events.pop_front();
    return 0;
  }
  static void ack_async_event(ibv_async_event*) noexcept {}
  static Time now() noexcept { return {}; }
  static bool real_time() noexcept { return false; }
  static void pause() noexcept {}
  static std::uint64_t random() noexcept {
    static std::uint64_t n = 0;
    return ++n;
  }
};

}  // namespace vccl::verbs
