// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Brings the two ends together, whatever moves their bytes.

#include <fmt/format.h>
#include <programs/links.hpp>
#include <programs/receiving.hpp>
#include <programs/sending.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace worker {

/// A handle travels in a file that is there as a whole or not at all.
inline void leave_handle(Options const& o, vccl::Handle const& h) {
  auto const path = std::filesystem::path{o.folder} / "address";
  auto const fresh = std::filesystem::path{o.folder} / "address.new";
  std::ofstream{fresh, std::ios::binary}.write(reinterpret_cast<const char*>(&h), sizeof h);
  std::filesystem::rename(fresh, path);
}
inline vccl::Handle wait_for_handle(Options const& o) {
  auto const path = std::filesystem::path{o.folder} / "address";
  for (double waited = 0; waited < o.limit; waited += 0.02) {
    std::ifstream in{path, std::ios::binary};
    vccl::Handle h;
    if (in.read(reinterpret_cast<char*>(&h), sizeof h)) return h;
    rest(std::chrono::milliseconds{20});
  }
  throw std::runtime_error{fmt::format("no {} after {} s", path.string(), o.limit)};
}

/// `Machine` has `Host`, `Nic`, `host(end)` and `port(end, name)`.
template <class Machine>
vccl::Route route_of(Options const& o, Machine& machine, vccl::End end) {
  vccl::Route r{machine.port(end, o.ports.at(0))};
  for (std::size_t i = 1; i < o.ports.size() && i < vccl::max_paths; ++i)
    r.backups[i - 1] = vccl::Ports{machine.port(end, o.ports[i])};
  r.qps_per_lane = static_cast<std::uint8_t>(o.qps);
  r.first_step = o.first_step;
  return r;
}

template <class Link, class Machine>
int run_sender(Options const& o, Machine& machine) {
  auto& host = machine.host(vccl::End::sender);
  typename Link::Context context{host};
  vccl::Handle const handle = wait_for_handle(o);
  auto sender = context.connect(route_of(o, machine, vccl::End::sender), handle);
  return Sending<Link>{o, host, sender}.run();
}

template <class Link, class Machine>
int run_receiver(Options const& o, Machine& machine) {
  auto& host = machine.host(vccl::End::receiver);
  typename Link::Context context{host};
  auto listener = context.listen(route_of(o, machine, vccl::End::receiver));
  leave_handle(o, listener.handle());
  auto receiver = listener.accept();
  return Receiving<Link>{o, host, receiver}.run();
}

template <class Link, class Machine>
int run_end(Options const& o, Machine& machine, vccl::End end) {
  try {
    return end == vccl::End::sender ? run_sender<Link>(o, machine) : run_receiver<Link>(o, machine);
  } catch (std::exception const& e) {  // set-up failed
    Report{end}.final(machine.host(end).now(), {}, {}, e.what());
    return 1;
  }
}

}  // namespace worker
