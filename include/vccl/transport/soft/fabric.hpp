// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A network of hosts inside the process: the thing to make first, and where faults are ordered.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/config.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/engine.hpp>
#include <vccl/transport/soft/fault_script.hpp>
#include <vccl/transport/soft/host.hpp>
#include <vccl/transport/soft/link.hpp>
#include <vccl/transport/soft/nic.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace vccl::soft {

/// A buffer that takes no room. Register `address`; never follow it.
struct Computed {
  void* address = nullptr;
  std::uint64_t length = 0;
};

/// Hosts, ports, cables and time. Hosts, lanes, registrations, doors and pipes must not outlive it.
///
/// Real clock: nothing runs by itself; whoever calls a lane or a host makes happen what is due.
/// Virtual clock: time moves by advance() and step() only, and the same seed and calls give the
/// same results. Any thread may call anything.
class Fabric {
 public:
  /// Throws SetupError when a number is out of range.
  explicit Fabric(FabricConfig config = {}) : core_{checked(config)} {
    for (std::uint32_t h = 0; h < config.hosts; ++h) {
      HostState& host = core_.hosts.emplace_back();
      host.random = Random{mix(config.seed ^ mix(h + 1))};
      hosts_.emplace_back(core_, h);
      for (std::uint16_t n = 0; n < config.ports_per_host; ++n) {
        Port& p = core_.ports.emplace_back();
        p.index = static_cast<std::uint32_t>(core_.ports.size() - 1);
        p.host = static_cast<std::uint16_t>(h);
        p.number = n;
        p.speed = config.bytes_per_second;
        p.latency = config.latency;
        p.mtu = config.mtu;
        for (std::size_t g = 0; g < config.gids_per_port; ++g) p.gids[g] = ++p.last_gid;
      }
    }
  }
  Fabric(Fabric const&) = delete;
  Fabric& operator=(Fabric const&) = delete;

  /// Throws SetupError when there is no such host, here and below.
  [[nodiscard]] Host& host(std::size_t n) {
    need(n < hosts_.size(), "no such host in this fabric");
    return hosts_[n];
  }
  /// A port's end of its cable.
  [[nodiscard]] Link link(std::size_t host, std::size_t port) {
    need(host < hosts_.size() && port < core_.config.ports_per_host, "no such port in this fabric");
    return {core_, core_.port(host, port)};
  }
  [[nodiscard]] FabricConfig const& config() const noexcept { return core_.config; }

  [[nodiscard]] Time now() const noexcept {
    return core_.config.virtual_time ? core_.now() : monotonic_now();
  }
  /// Virtual time: everything due until then happens, in order; then time is `d` later.
  /// Real time: only lets what is due happen.
  void advance(Duration d) {
    std::scoped_lock const lock{core_.mutex};
    if (!core_.config.virtual_time) return catch_up(core_);
    Time const until = core_.now() + d;
    run_due(core_);
    while (core_.events.due(until)) {
      if (core_.events.top().at > core_.now()) core_.set_now(core_.events.top().at);
      run_due(core_);
    }
    core_.set_now(until);
  }
  /// Virtual time: to the next moment at which something happens. False when nothing ever will.
  bool step() {
    std::scoped_lock const lock{core_.mutex};
    if (!core_.config.virtual_time) {
      catch_up(core_);
      return !core_.events.empty();
    }
    run_due(core_);
    skip_stale(core_);
    if (core_.events.empty()) return false;
    if (core_.events.top().at > core_.now()) core_.set_now(core_.events.top().at);
    run_due(core_);
    return true;
  }
  /// When the next thing happens; `never` when nothing will.
  [[nodiscard]] Time next_event() {
    std::scoped_lock const lock{core_.mutex};
    skip_stale(core_);
    return core_.events.empty() ? never : core_.events.top().at;
  }

  /// The host's process is gone: its QPs, registrations, doors and pipes; its lanes say path_down.
  void kill(std::size_t host) {
    need(host < hosts_.size(), "no such host in this fabric");
    std::scoped_lock const lock{core_.mutex};
    kill_host(core_, static_cast<std::uint32_t>(host));
  }
  /// A new process on the same ports. Lanes, registrations and doors have to be made again.
  void revive(std::size_t host) {
    need(host < hosts_.size(), "no such host in this fabric");
    std::scoped_lock const lock{core_.mutex};
    revive_host(core_, static_cast<std::uint32_t>(host));
  }

  /// Plain writes of a QP may land in any order; a write with immediate completes after all before
  /// it.
  void adaptive_routing(bool on) {
    std::scoped_lock const lock{core_.mutex};
    core_.adaptive_routing = on;
  }

  /// A buffer of any size whose content is content_word(seed, offset / 8).
  [[nodiscard]] Computed computed_memory(std::uint64_t bytes, std::uint64_t seed) {
    std::scoped_lock const lock{core_.mutex};
    std::uint64_t base = std::uint64_t{1} << 62;  // in no process's address space
    if (!core_.computed.empty()) {
      ComputedMemory const& last = *core_.computed.back();
      base = ((last.base() + last.length()) | 0xfff'ffff) + 1;
    }
    core_.computed.push_back(std::make_unique<ComputedMemory>(base, bytes, seed));
    return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(base)), bytes};
  }
  /// What was written to it: a copy, with written_bytes(), wrong_bytes(), written_to(MiB).
  [[nodiscard]] ComputedMemory computed(Computed const& c) {
    std::scoped_lock const lock{core_.mutex};
    for (auto const& m : core_.computed) {
      if (m->base() == reinterpret_cast<std::uintptr_t>(c.address)) return *m;
    }
    throw SetupError{"computed", EINVAL, "not a buffer of this fabric"};
  }

  /// Orders faults, one a line (docs/faults.md); times count from now. Throws ScriptError, which
  /// names line, word and what was expected, and SetupError for a host or port that is not there;
  /// then no fault of the script is in force.
  void inject(std::string_view script) {
    std::vector<Fault> const faults = parse_faults(script);
    for (Fault const& f : faults) {
      for (Place const p : {f.place, f.step_place}) {
        need(p.host == Place::all || p.host < core_.config.hosts,
             "a fault names a host that is not there");
        need(p.port == Place::all || p.port < core_.config.ports_per_host,
             "a fault names a port that is not there");
      }
    }
    std::scoped_lock const lock{core_.mutex};
    read_clock(core_);
    for (Fault const& f : faults) core_.faults.add(f, core_.now(), core_.events);
    run_due(core_);
  }

  // ---- What happened ----

  /// How often a kind of fault struck: packets picked, calls refused, completions lost, cables
  /// pulled.
  [[nodiscard]] std::uint64_t fired(Action a) {
    std::scoped_lock const lock{core_.mutex};
    return core_.faults.fired(a);
  }
  /// The same for one line; lines are numbered from 0 over all scripts, empty ones not counted.
  [[nodiscard]] std::uint64_t fired_by_rule(std::size_t n) {
    std::scoped_lock const lock{core_.mutex};
    return core_.faults.fired_by_rule(n);
  }

  /// Messages of kind data that a QP has put on the wire, by its number; also of QPs that are gone.
  [[nodiscard]] std::uint64_t messages_by_qp(std::uint32_t number) {
    std::scoped_lock const lock{core_.mutex};
    return core_.qps.messages(number);
  }
  /// Posts to a QP that was not in RTS, whether taken or not.
  [[nodiscard]] std::uint64_t posts_not_rts() {
    std::scoped_lock const lock{core_.mutex};
    return core_.posts_not_rts;
  }
  /// What exists now, to find leaks.
  struct Census {
    std::size_t queue_pairs = 0;
    std::size_t registrations = 0;
    std::size_t packets = 0;  ///< Under way.
  };
  [[nodiscard]] Census census() {
    std::scoped_lock const lock{core_.mutex};
    return {core_.qps.live(), core_.regions.live(), core_.packets.in_use()};
  }

 private:
  static void need(bool ok, const char* advice) {
    if (!ok) throw SetupError{"Fabric", EINVAL, advice};
  }
  static FabricConfig const& checked(FabricConfig const& c) {
    need(c.hosts >= 1 && c.hosts <= 0xffff && c.ports_per_host >= 1 && c.ports_per_host < 0xffff,
         "there are 1 to 65535 hosts with 1 to 65534 ports");
    need(c.ports_per_card >= 1, "a card has at least one port");
    need(c.mtu >= 256 && c.mtu <= 4096 && (c.mtu & (c.mtu - 1)) == 0,
         "the MTU is 256, 512, 1024, 2048 or 4096");
    need(c.gids_per_port <= Port::gid_slots, "a port has at most 8 GIDs");
    need(c.max_message >= 1 && c.max_in_flight >= c.mtu,
         "max_message and max_in_flight hold a packet");
    return c;
  }

  Core core_;
  std::deque<Host> hosts_;
};

}  // namespace vccl::soft
