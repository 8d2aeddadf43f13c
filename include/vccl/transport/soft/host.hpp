// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A host of a fabric: its clock, its ports' states and events, and how its set-up messages travel.

#include <vccl/concepts.hpp>
#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/engine.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

namespace vccl::soft {

class Nic;
class Registration;

/// One end of a message pipe. In order, each message at most once, at most 4096 bytes; what is
/// under way to a killed host is lost.
class HostPipe {
 public:
  HostPipe() noexcept = default;
  HostPipe(Core& core, std::uint32_t end) noexcept : core_{&core}, end_{end} {}
  HostPipe(HostPipe&& other) noexcept
      : core_{std::exchange(other.core_, nullptr)}, end_{other.end_} {}
  HostPipe& operator=(HostPipe&& other) noexcept {
    if (this != &other) {
      close();
      core_ = std::exchange(other.core_, nullptr);
      end_ = other.end_;
    }
    return *this;
  }
  ~HostPipe() { close(); }

  /// invalid_argument: longer than 4096 bytes, or empty. path_down: this end's host is gone.
  [[nodiscard]] Errc send(std::span<std::byte const> message) noexcept {
    if (message.empty() || message.size() > 4096) return Errc::invalid_argument;
    if (core_ == nullptr) return Errc::path_down;
    std::scoped_lock const lock{core_->mutex};
    read_clock(*core_);
    if (!core_->wire.open(end_)) return Errc::path_down;
    post_message(*core_, core_->wire.write(end_, message, false));
    return Errc::ok;
  }
  /// Bytes of the oldest message, cut to the size of `into`; 0: none waits.
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) noexcept {
    if (core_ == nullptr) return 0;
    std::scoped_lock const lock{core_->mutex};
    catch_up(*core_);
    return core_->wire.read(end_, into);
  }

  /// Lets a message travel: latency, faults, never past an earlier one.
  static void post_message(Core& core, std::uint32_t message) {
    Wire::Message const& m = core.wire.message(message);
    Time at = core.now() + core.config.oob_latency;
    MessageFate const fate = core.faults.on_message(m.from_host, at);
    if (fate.lost) return core.wire.drop(message);
    at = fate.at;
    Time& last = core.wire.arrival(m.to_end);
    last = at < last ? last : at;
    if (last <= core.now()) return core.wire.deliver(message);
    core.events.push(last, Event::Kind::wire, message);
  }

 private:
  void close() noexcept {
    if (core_ == nullptr) return;
    std::scoped_lock const lock{core_->mutex};
    core_->wire.close_end(end_);
    core_ = nullptr;
  }

  Core* core_ = nullptr;
  std::uint32_t end_ = 0;
};

/// Where others dial.
class HostDoor {
 public:
  HostDoor(Core& core, std::uint32_t host, std::uint32_t door) noexcept
      : core_{&core}, address_{host, door} {}
  HostDoor(HostDoor&& other) noexcept
      : core_{std::exchange(other.core_, nullptr)}, address_{other.address_} {}
  HostDoor& operator=(HostDoor&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~HostDoor() {
    if (core_ == nullptr) return;
    std::scoped_lock const lock{core_->mutex};
    core_->wire.close_door(address_.door);
  }

  [[nodiscard]] WireAddress address() const noexcept { return address_; }
  /// True with a new pipe; false when nobody waits.
  [[nodiscard]] bool accept(HostPipe& into) noexcept {
    if (core_ == nullptr) return false;
    std::uint32_t end = Wire::no_end;
    {
      std::scoped_lock const lock{core_->mutex};
      catch_up(*core_);
      end = core_->wire.accept(address_.door);
    }
    if (end == Wire::no_end) return false;
    into = HostPipe{*core_, end};
    return true;
  }

 private:
  Core* core_;
  WireAddress address_;
};

/// A machine with ports. Lives in its fabric; any thread may call it.
class Host {
 public:
  using Address = WireAddress;
  using Door = HostDoor;
  using Pipe = HostPipe;

  Host(Core& core, std::uint32_t index) noexcept : core_{&core}, index_{index} {}
  Host(Host const&) = delete;
  Host& operator=(Host const&) = delete;

  [[nodiscard]] Time now() const noexcept {
    return core_->config.virtual_time ? core_->now() : monotonic_now();
  }
  [[nodiscard]] bool real_time() const noexcept { return !core_->config.virtual_time; }

  [[nodiscard]] std::size_t port_count() noexcept { return core_->config.ports_per_host; }
  [[nodiscard]] PortState port_state(PortId id) noexcept {
    std::size_t const n = static_cast<std::size_t>(id);
    if (n >= core_->config.ports_per_host) return {};
    std::scoped_lock const lock{core_->mutex};
    catch_up(*core_);
    Port const& p = core_->port(index_, n);
    return {p.usable() && core_->hosts[index_].alive,
            static_cast<std::uint16_t>(n / core_->config.ports_per_card), p.speed_mbps()};
  }
  [[nodiscard]] bool poll_event(PortEvent& into) noexcept {
    std::scoped_lock const lock{core_->mutex};
    catch_up(*core_);
    HostState& h = core_->hosts[index_];
    if (h.events.empty()) return false;
    into = h.events.front();
    h.events.pop_front();
    return true;
  }
  /// From the seed when time is virtual, from the machine's entropy otherwise.
  [[nodiscard]] std::uint64_t random() noexcept {
    if (!core_->config.virtual_time) return entropy();
    std::scoped_lock const lock{core_->mutex};
    return core_->hosts[index_].random.next();
  }

  /// Throws SetupError when the host is killed.
  [[nodiscard]] Door listen() {
    std::scoped_lock const lock{core_->mutex};
    need_alive("listen");
    return {*core_, index_, core_->wire.open_door(index_)};
  }
  /// A pipe to whoever accepts there. If nobody ever does, it just stays silent.
  [[nodiscard]] Pipe dial(Address const& to) {
    std::scoped_lock const lock{core_->mutex};
    read_clock(*core_);
    need_alive("dial");
    if (to.host >= core_->config.hosts)
      throw SetupError{"dial", EHOSTUNREACH, "no such host in this fabric"};
    std::uint32_t const end = core_->wire.dial(index_, to);
    HostPipe::post_message(*core_, core_->wire.write(end, {}, true));
    return {*core_, end};
  }

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// The fabric's state, for another kind of device on the same network. Hold its mutex.
  [[nodiscard]] Core& core() noexcept { return *core_; }

 private:
  friend class Nic;
  friend class Registration;

  void need_alive(const char* call) const {
    if (!core_->hosts[index_].alive)
      throw SetupError{call, ENETDOWN, "this host was killed; revive it first"};
  }

  Core* core_;
  std::uint32_t index_;
};
static_assert(vccl::Host<Host>);

}  // namespace vccl::soft
