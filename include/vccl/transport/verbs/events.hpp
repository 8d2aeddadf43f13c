// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What a device tells of itself without being asked: its asynchronous events, as ours.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/handles.hpp>

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <optional>

namespace vccl::verbs {

/// A PortId travels as the context pointer of QPs and CQs, so that their events name their port.
[[nodiscard]] inline void* tag_of(PortId p) noexcept {
  return reinterpret_cast<void*>(std::uintptr_t{static_cast<std::uint16_t>(p)});
}
[[nodiscard]] inline PortId port_of(void* tag) noexcept {
  return static_cast<PortId>(reinterpret_cast<std::uintptr_t>(tag));
}

/// An event of a device, before the port's number is made a PortId.
struct DeviceEvent {
  PortEvent::Kind kind = PortEvent::Kind::port_error;
  std::uint8_t number = 0;   ///< Port of the device, from 1; 0: `port` says it, or all ports.
  PortId port = no_port;     ///< Of a QP or CQ.
  std::uint32_t qp_num = 0;  ///< qp_fatal only.
};

/// Nothing for events that ask for nothing. Must be called before the event is acknowledged: the QP
/// in it may be destroyed after that. By the port's number, never by who reads: a device of two
/// ports reports both on one descriptor.
[[nodiscard]] inline std::optional<DeviceEvent> translate(ibv_async_event const& e) noexcept {
  using Kind = PortEvent::Kind;
  auto port = [&](Kind k) {
    return DeviceEvent{k, static_cast<std::uint8_t>(e.element.port_num), no_port, 0};
  };
  auto qp = [&] {
    return DeviceEvent{Kind::qp_fatal, 0, port_of(e.element.qp->qp_context), e.element.qp->qp_num};
  };
  switch (e.event_type) {
    case IBV_EVENT_PORT_ERR:
      return port(Kind::port_error);
    case IBV_EVENT_PORT_ACTIVE:
      return port(Kind::port_active);
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_GID_CHANGE:
      return port(Kind::address_change);
    case IBV_EVENT_DEVICE_FATAL:
      return DeviceEvent{Kind::device_fatal};
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return qp();
    case IBV_EVENT_CQ_ERR:
      return DeviceEvent{Kind::cq_error, 0, port_of(e.element.cq->cq_context), 0};
    case IBV_EVENT_COMM_EST:  // These ask for nothing of a connection that only we set up.
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_SRQ_ERR:  // These are of objects that this library does not make.
    case IBV_EVENT_SRQ_LIMIT_REACHED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
    case IBV_EVENT_WQ_FATAL:
      return {};
  }
  return {};
}

/// The events of one open device. One reader; never blocks; closing the device ends it.
template <class Api>
class Events {
 public:
  /// Throws SetupError. The context must outlive it.
  explicit Events(ibv_context* context) : context_{context} {
    if (Api::unblock_events(context) < 0)
      throw SetupError{"fcntl", errno, "the device's event descriptor cannot be made non-blocking"};
  }

  /// The next event that says something. None after the device has died: a removed device answers
  /// for ever with the same event or an error.
  [[nodiscard]] std::optional<DeviceEvent> next() noexcept {
    while (!dead_) {
      ibv_async_event e{};
      if (Api::get_async_event(context_, &e) != 0) {
        bool const later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        if (later) return {};
        dead_ = true;
        return DeviceEvent{PortEvent::Kind::device_fatal};
      }
      std::optional<DeviceEvent> const event = translate(e);
      Api::ack_async_event(&e);
      dead_ = event && event->kind == PortEvent::Kind::device_fatal;
      if (event) return event;
    }
    return {};
  }

 private:
  ibv_context* context_;
  bool dead_ = false;
};

}  // namespace vccl::verbs
