// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The bootstrap network inside a fabric: doors to listen at, pipes of whole messages.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

namespace vccl::soft {

/// Where a door is. Serial numbers are never used again, so a restarted host answers at new ones
/// only.
struct WireAddress {
  std::uint32_t host = 0;
  std::uint32_t door = 0;
  friend bool operator==(WireAddress const&, WireAddress const&) = default;
};

/// All doors, pipe ends and messages of a fabric. Timing and faults are the caller's.
///
/// A pipe is two ends; the one at the door exists from the first message that reaches the door on,
/// so a lost first message only delays it.
class Wire {
 public:
  struct Message {
    std::uint32_t from_host = 0, to_host = 0;
    std::uint32_t to_end = 0;
    std::vector<std::byte> bytes;
    bool hello = false;  ///< Opens the pipe, carries nothing.
    bool in_use = false;
  };

  std::uint32_t open_door(std::uint32_t host) {
    doors_.push_back({host, true, {}});
    return static_cast<std::uint32_t>(doors_.size() - 1);
  }
  void close_door(std::uint32_t door) noexcept { doors_[door].open = false; }

  /// Both ends of a pipe towards an address; returns the dialling one.
  std::uint32_t dial(std::uint32_t host, WireAddress const& to) {
    std::uint32_t const near = new_end(host);
    std::uint32_t const far = new_end(to.host);
    ends_[near].other = far;
    ends_[far].other = near;
    ends_[far].door = to.door;
    ends_[near].known = ends_[near].open = true;
    return near;
  }
  /// An end that a message has opened at that door, or no_end.
  std::uint32_t accept(std::uint32_t door) noexcept {
    Door& d = doors_[door];
    if (d.waiting.empty()) return no_end;
    std::uint32_t const e = d.waiting.front();
    d.waiting.pop_front();
    return e;
  }
  void close_end(std::uint32_t end) noexcept {
    ends_[end].open = false;
    ends_[end].inbox.clear();
  }
  /// A message from `end` to the other one. It still has to be delivered.
  std::uint32_t write(std::uint32_t end, std::span<std::byte const> bytes, bool hello) {
    std::uint32_t m;
    if (free_.empty()) {
      m = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
    } else {
      m = free_.back();
      free_.pop_back();
    }
    End const& from = ends_[end];
    messages_[m] = {
        from.host, ends_[from.other].host, from.other, {bytes.begin(), bytes.end()}, hello, true};
    return m;
  }
  void deliver(std::uint32_t message) {
    Message& m = messages_[message];
    End& e = ends_[m.to_end];
    if (!e.known && e.door < doors_.size() && doors_[e.door].open &&
        doors_[e.door].host == e.host) {
      e.known = e.open = true;
      doors_[e.door].waiting.push_back(m.to_end);
    }
    if (e.open && !m.hello) e.inbox.push_back(std::move(m.bytes));
    drop(message);
  }
  void drop(std::uint32_t message) {
    messages_[message] = {};
    free_.push_back(message);
  }
  /// Bytes of the oldest message, copied as far as it fits; 0 when there is none.
  std::size_t read(std::uint32_t end, std::span<std::byte> into) {
    std::deque<std::vector<std::byte>>& inbox = ends_[end].inbox;
    if (inbox.empty()) return 0;
    std::size_t const n = inbox.front().size() < into.size() ? inbox.front().size() : into.size();
    if (n != 0) std::memcpy(into.data(), inbox.front().data(), n);
    inbox.pop_front();
    return n;
  }
  /// Everything of a host is gone: doors, ends, what they held.
  void kill(std::uint32_t host) noexcept {
    for (Door& d : doors_) {
      if (d.host == host) d.open = false;
    }
    for (End& e : ends_) {
      if (e.host != host) continue;
      e.open = false;
      e.known = true;
      e.inbox.clear();
    }
  }
  [[nodiscard]] Message& message(std::uint32_t m) noexcept { return messages_[m]; }
  [[nodiscard]] bool open(std::uint32_t end) const noexcept { return ends_[end].open; }
  /// Arrival of the last message to an end: later ones do not overtake it.
  [[nodiscard]] Time& arrival(std::uint32_t end) noexcept { return ends_[end].arrival; }

  static constexpr std::uint32_t no_end = UINT32_MAX;

 private:
  struct Door {
    std::uint32_t host = 0;
    bool open = false;
    std::deque<std::uint32_t> waiting;
  };
  struct End {
    std::uint32_t host = 0;
    std::uint32_t other = 0;
    std::uint32_t door = UINT32_MAX;
    bool known = false;  ///< Has been opened once.
    bool open = false;
    Time arrival{INT64_MIN};
    std::deque<std::vector<std::byte>> inbox;
  };

  std::uint32_t new_end(std::uint32_t host) {
    End& e = ends_.emplace_back();
    e.host = host;
    return static_cast<std::uint32_t>(ends_.size() - 1);
  }

  std::deque<Door> doors_;
  std::deque<End> ends_;
  std::deque<Message> messages_;
  std::vector<std::uint32_t> free_;
};

}  // namespace vccl::soft
