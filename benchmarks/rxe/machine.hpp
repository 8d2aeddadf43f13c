// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// One host of the lab: its ports, its counters of packets, and meeting the other host.

#include <vccl/connection.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>
#include <vccl/transport/tcp/bootstrap.hpp>
#include <vccl/transport/verbs/lane.hpp>

#include <fmt/format.h>

#include "options.hpp"
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace vccl::bench {

using Nic = IbVerbs<TcpBootstrap<>>;

struct Recorded : Resilient {
  using Telemetry = telemetry::EventLog<1024>;
};
/// What detects when the NIC gives up, and no earlier: 4.096 us x 2^18 x 7 = 7.5 s.
struct RetryTimeout : Recorded {
  using Detector = detect::CompletionStatus<>;
  static constexpr Timing timing{.nic_timeout = 18, .nic_retry_count = 6};
};
template <class Policies>
using WithBackup = Connection<Nic, Nic, sync::ReceiverDecides<>, Policies>;
using WithoutBackup = Connection<Nic>;

class Machine {
 public:
  explicit Machine(Options const& o)
      : options_{o},
        boot_{{.address = o.address.c_str()}},
        host{boot_, {.ports = {"rxe0:1", "rxe1:1"}}} {}

  /// Throws when the whole measurement takes too long.
  void check_time(const char* what) const {
    if (std::chrono::steady_clock::now() > options_.deadline)
      throw std::runtime_error{fmt::format("deadline passed: {}", what)};
  }

  void put(std::string const& name, std::string const& content) const {
    std::string const file = options_.folder + '/' + name;
    std::ofstream{file + ".new"} << content;
    std::filesystem::rename(file + ".new", file);
  }
  [[nodiscard]] std::string get(std::string const& name) const {
    std::string const file = options_.folder + '/' + name;
    while (!std::filesystem::exists(file)) {
      check_time(name.c_str());
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  void put_handle(std::string const& name, Handle const& h) const {
    put(name, std::string{reinterpret_cast<const char*>(&h), sizeof h});
  }
  [[nodiscard]] Handle get_handle(std::string const& name) const {
    std::string const text = get(name);
    Handle h;
    if (text.size() != sizeof h) throw std::runtime_error{"no handle: " + name};
    std::memcpy(static_cast<void*>(&h), text.data(), sizeof h);
    return h;
  }
  /// Both ends are here.
  void meet() {
    ++barrier_;
    put(fmt::format("{}.{}", barrier_, options_.sends), "");
    static_cast<void>(get(fmt::format("{}.{}", barrier_, !options_.sends)));
  }

  /// Packets that both ports have sent, of every kind.
  [[nodiscard]] static std::uint64_t packets_sent() {
    std::uint64_t sum = 0;
    for (const char* port : {"rxe0", "rxe1"}) {
      std::ifstream in{fmt::format("/sys/class/infiniband/{}/ports/1/hw_counters/sent_pkts", port)};
      std::uint64_t n = 0;
      in >> n;
      sum += n;
    }
    return sum;
  }

 private:
  Options const& options_;
  TcpBootstrap<> boot_;
  unsigned barrier_ = 0;

 public:
  Nic::Host host;
};

inline double seconds_between(Time a, Time b) { return static_cast<double>((b - a).ns) / 1e9; }

/// Waits for set-up, of all of them together: without a backup nobody else steps them.
template <class... Ends>
void until_ready(Machine& m, Ends&... ends) {
  auto const ready = [&m](auto& end) {
    m.check_time("set-up");
    if (end.ready()) return true;
    if (auto const s = end.status(); s.ended)
      throw std::runtime_error{fmt::format("set-up failed: {}", text(s.cause))};
    return false;
  };
  while (!(int{ready(ends)} & ...)) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

}  // namespace vccl::bench
