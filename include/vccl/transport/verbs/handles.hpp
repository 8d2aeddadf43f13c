// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Owners of what libibverbs creates: one object each, move-only, destroyed where they end.

#include <vccl/error.hpp>

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace vccl::verbs {

/// Owns one object. Destroying cannot fail towards the user: a device that is gone says EIO, and
/// what it held is gone with it.
template <class Object, int (*destroy)(Object*) noexcept>
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(Object* object) noexcept : object_{object} {}
  Handle(Handle&& other) noexcept : object_{std::exchange(other.object_, nullptr)} {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      static_cast<void>(reset());
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~Handle() { static_cast<void>(reset()); }

  [[nodiscard]] Object* get() const noexcept { return object_; }
  [[nodiscard]] Object* operator->() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Destroys it now. What libibverbs says of that: 0, an errno, or -1 with errno.
  int reset() noexcept {
    Object* const old = std::exchange(object_, nullptr);
    return old == nullptr ? 0 : destroy(old);
  }

 private:
  Object* object_ = nullptr;
};

template <class Api>
using Context = Handle<ibv_context, &Api::close_device>;
template <class Api>
using Domain = Handle<ibv_pd, &Api::dealloc_pd>;
template <class Api>
using Queue = Handle<ibv_cq, &Api::destroy_cq>;
template <class Api>
using QueuePair = Handle<ibv_qp, &Api::destroy_qp>;
template <class Api>
using Region = Handle<ibv_mr, &Api::dereg_mr>;

/// The list of devices, which must outlive opening them and nothing else.
template <class Api>
class DeviceList {
 public:
  /// Throws SetupError. An empty list is none.
  DeviceList() : list_{Api::get_device_list(&count_)} {
    if (list_ == nullptr)
      throw SetupError{"ibv_get_device_list", errno, "is the ib_uverbs module loaded?"};
  }
  DeviceList(DeviceList const&) = delete;
  DeviceList& operator=(DeviceList const&) = delete;
  ~DeviceList() { Api::free_device_list(list_); }

  [[nodiscard]] ibv_device** begin() const noexcept { return list_; }
  [[nodiscard]] ibv_device** end() const noexcept { return list_ + count_; }

 private:
  int count_ = 0;
  ibv_device** list_;
};

// ---- Makers. Each throws SetupError that names the call and the errno.

template <class Api>
[[nodiscard]] Context<Api> open_device(ibv_device* device) {
  Context<Api> c{Api::open_device(device)};
  if (!c) {
    throw SetupError{"ibv_open_device", errno,
                     "may this user open /dev/infiniband/uverbs*? Name the devices to use to leave "
                     "this one out"};
  }
  return c;
}

template <class Api>
[[nodiscard]] Domain<Api> alloc_pd(ibv_context* context) {
  Domain<Api> pd{Api::alloc_pd(context)};
  if (!pd) throw SetupError{"ibv_alloc_pd", errno, "the device has no protection domain left"};
  return pd;
}

/// `tag` comes back with the queue's events.
template <class Api>
[[nodiscard]] Queue<Api> create_cq(ibv_context* context, int depth, void* tag) {
  Queue<Api> cq{Api::create_cq(context, depth, tag)};
  if (!cq) {
    throw SetupError{"ibv_create_cq", errno,
                     "too deep for the device (see max_cqe), or too many queues"};
  }
  return cq;
}

template <class Api>
[[nodiscard]] QueuePair<Api> create_qp(ibv_pd* pd, ibv_qp_init_attr how) {
  QueuePair<Api> qp{Api::create_qp(pd, &how)};
  if (!qp) {
    throw SetupError{
        "ibv_create_qp", errno,
        "send_depth, receive_depth or max_inline is more than the device has, or locked "
        "memory is limited (ulimit -l)"};
  }
  return qp;
}

template <class Api>
[[nodiscard]] Region<Api> reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access,
                                 const char* advice) {
  Region<Api> mr{Api::reg_mr(pd, address, length, access)};
  if (!mr) throw SetupError{"ibv_reg_mr", errno, advice};
  return mr;
}

}  // namespace vccl::verbs
