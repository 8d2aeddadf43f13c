// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A port's end of its cable, for tests and demos to pull, slow down and look at.

#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace vccl::soft {

/// A handle; valid as long as its fabric. Every change happens now.
class Link {
 public:
  Link(Core& core, Port& port) noexcept : core_{&core}, port_{&port} {}

  /// port_error at this end, and all packets lost, both ways. The far port stays active.
  void down() {
    change([this] { link_down(*core_, *port_); });
  }
  /// port_active at this end.
  void up() {
    change([this] { link_up(*core_, *port_); });
  }
  /// What the port negotiates and reports from now on, bytes per second; 0: no limit.
  void set_speed(std::uint64_t bytes_per_second) {
    change([&] { port_->speed = bytes_per_second; });
  }
  /// Slower than it reports, bytes per second; 0: not.
  void throttle(std::uint64_t bytes_per_second) {
    change([&] { port_->throttle = bytes_per_second; });
  }
  /// One way. Between two ports the larger of both counts.
  void set_latency(Duration d) {
    change([&] { port_->latency = d; });
  }
  /// Bytes: 256, 512, 1024, 2048 or 4096. Counts for QPs connected from now on.
  void set_mtu(std::uint32_t bytes) {
    change([&] { port_->mtu = bytes; });
  }
  [[nodiscard]] PortStats stats() {
    std::scoped_lock const lock{core_->mutex};
    return port_->stats;
  }
  /// Writes to device memory that no read through this port has pushed yet.
  [[nodiscard]] std::size_t held_writes() {
    std::scoped_lock const lock{core_->mutex};
    return port_->bus.size();
  }

 private:
  template <class F>
  void change(F what) {
    std::scoped_lock const lock{core_->mutex};
    read_clock(*core_);
    what();
    run_due(*core_);
  }

  Core* core_;
  Port* port_;
};

}  // namespace vccl::soft
