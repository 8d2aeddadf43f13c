// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What the emulated libibverbs hands out. Nothing of it is freed before its machine is, so a
/// use after destruction is seen and not undefined.

#include <vccl/op.hpp>

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace vccl::test::emulated {

/// Books of one object.
struct Object {
  const char* kind = "";
  std::uint32_t serial = 0;  ///< Of its kind, from 0.
  bool alive = true;
  std::uint32_t users = 0;    ///< Objects that must go before it.
  std::uint32_t unacked = 0;  ///< Events about it that were got and not acknowledged.
};

/// A card of a host.
struct Device : ibv_device {
  std::uint32_t host = 0;
  std::uint32_t card = 0;
  std::uint32_t first_port = 0;  ///< Over all hosts, as the software NIC counts.
  std::uint32_t ports = 0;
};

/// What get_device_list gave.
struct Listing : Object {
  std::vector<ibv_device*> devices;  ///< Ends with null.
};

struct Context : ibv_context, Object {
  struct Event {
    ibv_async_event what{};
    Object* about = nullptr;  ///< A QP or CQ.
  };
  Device* card = nullptr;
  std::uint32_t incarnation = 0;  ///< Of the host, when it was opened.
  bool dead = false;              ///< Its device has died: for ever.
  bool non_blocking = false;
  std::deque<Event> events;
};

struct Domain : ibv_pd, Object {};

/// A lane of the software NIC: its CQ.
struct Queue : ibv_cq, Object {
  std::atomic<int> users_now = 0;  ///< Threads that poll it.
  std::uint32_t lane = 0;
  bool told = false;  ///< Its error was reported.
};

/// A QP of the software NIC, by number.
struct Pair : ibv_qp, Object {
  std::atomic<int> users_now = 0;  ///< Threads that post on it or change it.
  bool gone = false;               ///< With its device.
  ibv_qp_cap cap{};
  unsigned access = 0;
  std::uint32_t ece = 0;  ///< Options set.
  std::uint8_t port_number = 0;
  std::uint8_t gid_type = 0;
  Time quiet_at{};  ///< A slow transition to ERR or RESET ends then; 0: none is under way.
  std::uint64_t sends = 0, receives = 0;  ///< Work requests taken.
};

struct Block : ibv_mr, Object {
  Device const* card = nullptr;
  Keys keys;
  unsigned access = 0;
};

/// Attributes that a QP was given.
struct Modified {
  std::uint32_t host = 0;
  std::uint32_t port = 0;  ///< Of the host, from 0; the card's first before INIT.
  std::uint32_t qp_num = 0;
  ibv_qp_state from = IBV_QPS_RESET;
  ibv_qp_state to = IBV_QPS_RESET;
  int mask = 0;
  ibv_qp_attr attributes{};
};

}  // namespace vccl::test::emulated
