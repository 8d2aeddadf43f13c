// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What can happen next in the model, and its words for a trace.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace vccl::model {

/// One thing that happens. `path` and `choice` mean what the kind says.
struct Event {
  enum class Kind : std::uint8_t {
    // The world.
    link_down,
    link_up,
    sender_detects,
    receiver_detects,
    // Work that a machine asked for is done.
    sender_fenced,
    receiver_fenced,
    sender_prepared,
    receiver_prepared,
    probe_reaches_sender,
    receiver_probed,
    sender_probed,
    sender_prepare_fails,
    receiver_prepare_fails,
    sender_probe_fails,
    receiver_probe_fails,
    // Messages and timers; choice: which of the messages under way.
    deliver_to_receiver,
    deliver_to_sender,
    sender_tick,
    receiver_tick,
    foreign_message,
    retry,
    retry_timeout,
    plan_return,
    // Data.
    grant_lands,
    post,
    execute,
    execute_stray,
    acknowledge,
    poll_receiver,
    flush,
    confirm,
    drained,
    // The end.
    sender_closes,
    receiver_closes,
    sender_fatal,
    receiver_fatal,
    sender_outage,
    receiver_outage,
    sender_fence_fails,
    receiver_fence_fails,
    sender_lingers,
    receiver_lingers,
  };
  Kind kind{};
  std::uint8_t path = 0;
  std::uint8_t choice = 0;
};

struct Events {
  std::array<Event, 96> items{};
  unsigned count = 0;
  void add(Event::Kind k, unsigned path = 0, unsigned choice = 0) {
    if (count < items.size())
      items[count++] = {k, static_cast<std::uint8_t>(path), static_cast<std::uint8_t>(choice)};
  }
  [[nodiscard]] Event const* begin() const { return items.data(); }
  [[nodiscard]] Event const* end() const { return items.data() + count; }
};

inline std::string words(Event const& e) {
  using K = Event::Kind;
  std::string q{' '};
  q += std::to_string(e.path);
  switch (e.kind) {
    case K::link_down:
      return "link" + q + " goes down";
    case K::link_up:
      return "link" + q + " comes up";
    case K::sender_detects:
      return "S: path" + q + " failed";
    case K::receiver_detects:
      return "R: path" + q + " failed";
    case K::sender_fenced:
      return "S: path" + q + " is quiet";
    case K::receiver_fenced:
      return "R: path" + q + " is quiet";
    case K::sender_prepared:
      return "S: path" + q + " prepared";
    case K::receiver_prepared:
      return "R: path" + q + " prepared";
    case K::probe_reaches_sender:
      return "R's probe of path" + q + " reaches S";
    case K::receiver_probed:
      return "R: probe of path" + q + " acknowledged";
    case K::sender_probed:
      return "S: probe of path" + q + " acknowledged";
    case K::sender_prepare_fails:
      return "S: path" + q + " cannot be prepared";
    case K::receiver_prepare_fails:
      return "R: path" + q + " cannot be prepared";
    case K::sender_probe_fails:
      return "S: probe of path" + q + " fails";
    case K::receiver_probe_fails:
      return "R: probe of path" + q + " fails";
    case K::deliver_to_receiver:
      return "R hears S (" + std::to_string(e.choice) + " older ones lost)";
    case K::deliver_to_sender:
      return "S hears R (" + std::to_string(e.choice) + " older ones lost)";
    case K::sender_tick:
      return "S repeats";
    case K::receiver_tick:
      return "R repeats";
    case K::foreign_message:
      return "S hears a message of another incarnation";
    case K::retry:
      return "R tries path" + q;
    case K::retry_timeout:
      return "R gives up trying path" + q;
    case K::plan_return:
      return "R plans the return to path" + q;
    case K::grant_lands:
      return "a CTS lands on path" + q;
    case K::post:
      return "S posts a step on path" + q;
    case K::execute:
      return "R's NIC takes in a step on path" + q;
    case K::execute_stray:
      return "R's NIC takes in an old packet on path" + q;
    case K::acknowledge:
      return "S sees an acknowledgement on path" + q;
    case K::poll_receiver:
      return "R polls a completion of path" + q;
    case K::flush:
      return "R flushes a step";
    case K::confirm:
      return "R's position reaches S on the data path";
    case K::drained:
      return "S: nothing outstanding";
    case K::sender_closes:
      return "S closes";
    case K::receiver_closes:
      return "R closes";
    case K::sender_fatal:
      return "S: fatal fault";
    case K::receiver_fatal:
      return "R: fatal fault";
    case K::sender_outage:
      return "S: outage deadline";
    case K::receiver_outage:
      return "R: outage deadline";
    case K::sender_fence_fails:
      return "S: path" + q + " cannot be made quiet";
    case K::receiver_fence_fails:
      return "R: path" + q + " cannot be made quiet";
    case K::sender_lingers:
      return "S: linger deadline";
    case K::receiver_lingers:
      return "R: linger deadline";
  }
  return "?";
}

}  // namespace vccl::model
