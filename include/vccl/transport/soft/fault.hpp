// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Faults as plain data: what goes wrong, where, when, how often. Knows nothing of who applies
/// them.

#include <vccl/op.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vccl::soft {

/// What happens. docs/faults.md has a line for each.
enum class Action : std::uint8_t {
  link_down,
  link_up,
  link_speed,
  link_throttle,
  link_latency,
  drop,
  delay,
  reorder,
  duplicate,
  hold,
  gid_new,
  gid_remove,
  gid_restore,
  gid_move,
  kill,
  revive,
  device_fatal,
  device_returns,
  qp_fatal,
  cq_error,
  cq_mute,
  fence_takes,
  fence_fails,
  fence_hangs,
  call_fails,
  reset_breaks,
  reset_works,
};
inline constexpr std::size_t actions = 27;

/// How an action is written: a verb, what it is done to, and for some a second word.
struct ActionWords {
  Action action;
  std::string_view verb;
  std::string_view detail;  ///< Empty: none.
};
inline constexpr std::array<ActionWords, actions> action_words{{
    {Action::link_down, "link", "down"},
    {Action::link_up, "link", "up"},
    {Action::link_speed, "link", "speed"},
    {Action::link_throttle, "link", "throttle"},
    {Action::link_latency, "link", "latency"},
    {Action::drop, "drop", ""},
    {Action::delay, "delay", ""},
    {Action::reorder, "reorder", ""},
    {Action::duplicate, "duplicate", ""},
    {Action::hold, "hold", ""},
    {Action::gid_new, "gid", "new"},
    {Action::gid_remove, "gid", "remove"},
    {Action::gid_restore, "gid", "restore"},
    {Action::gid_move, "gid", "move"},
    {Action::kill, "kill", ""},
    {Action::revive, "revive", ""},
    {Action::device_fatal, "device", "fatal"},
    {Action::device_returns, "device", "returns"},
    {Action::qp_fatal, "qp", "fatal"},
    {Action::cq_error, "cq", "error"},
    {Action::cq_mute, "cq", "mute"},
    {Action::fence_takes, "fence", "takes"},
    {Action::fence_fails, "fence", "fails"},
    {Action::fence_hangs, "fence", "hangs"},
    {Action::call_fails, "call", "fails"},
    {Action::reset_breaks, "reset", "breaks"},
    {Action::reset_works, "reset", "works"},
}};

/// True for what is done to packets one by one.
[[nodiscard]] constexpr bool picks_packets(Action a) noexcept {
  return a >= Action::drop && a <= Action::hold;
}

/// Which packets. ack: acknowledgements, negative ones and read responses; oob: the bootstrap
/// network.
enum class PacketKind : std::uint8_t { data, cts, control, ack, oob, any };
inline constexpr std::array<std::string_view, 6> packet_kind_words{"data", "cts", "control",
                                                                   "ack",  "oob", "any"};

/// Which call of a lane.
enum class Call : std::uint8_t {
  post_send,
  post_receive,
  poll,
  flush,
  describe,
  connect,
  fence,
  register_memory,
};
inline constexpr std::array<std::string_view, 8> call_words{
    "post_send", "post_receive", "poll",  "flush",
    "describe",  "connect",      "fence", "register_memory"};

/// Errors that a call may give.
struct ErrorWord {
  std::string_view word;
  int number;
};
inline constexpr std::array<ErrorWord, 7> error_words{{{"EAGAIN", EAGAIN},
                                                       {"EBUSY", EBUSY},
                                                       {"EFAULT", EFAULT},
                                                       {"EINVAL", EINVAL},
                                                       {"EIO", EIO},
                                                       {"ENOMEM", ENOMEM},
                                                       {"EOPNOTSUPP", EOPNOTSUPP}}};

/// A port, all ports of a host, or everything.
struct Place {
  static constexpr std::uint32_t all = UINT32_MAX;
  std::uint32_t host = all;
  std::uint32_t port = all;  ///< Within the host.
  friend constexpr bool operator==(Place, Place) = default;
  [[nodiscard]] constexpr bool holds(std::uint32_t h, std::uint32_t p) const noexcept {
    return (host == all || host == h) && (port == all || port == p);
  }
};

/// Which step of a fence a fence fault is about.
enum class FenceSteps : std::uint8_t { both, error, reset };

/// One line of a script. Fields that an action does not use keep their defaults.
struct Fault {
  static constexpr std::uint32_t always = 1'000'000'000;

  Duration at{};  ///< After the script was given.
  std::uint64_t after_step =
      0;             ///< Once so many steps are on the wire since then; 0: does not matter.
  Place step_place;  ///< Whose steps.
  std::uint64_t after_packet = 0;  ///< Packets that match and pass before the first one is picked.
  std::uint64_t every = 1;         ///< Of those after them, the first of each so many.
  std::uint32_t chance = always;   ///< Per 10^9.
  Action action = Action::link_down;
  PacketKind packets = PacketKind::any;
  Place place;
  Duration by{};            ///< How much later; how long a fence takes; a latency.
  Duration lasts{};         ///< 0: for ever.
  std::uint64_t count = 0;  ///< Picks at most so many; 0: no limit.
  std::uint64_t rate = 0;   ///< Bytes per second; 0: no limit.
  std::uint32_t index = 0;  ///< Of the GID table.
  Call call = Call::post_send;
  std::uint64_t first = 1;  ///< Of the calls since then, from 1.
  std::uint64_t last = 1;   ///< 0: all from `first` on.
  int error = 0;            ///< errno.
  FenceSteps steps = FenceSteps::both;
  friend constexpr bool operator==(Fault const&, Fault const&) = default;
};

}  // namespace vccl::soft
