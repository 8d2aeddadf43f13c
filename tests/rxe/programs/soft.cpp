// SPDX-License-Identifier: Apache-2.0
/// @file The worker on the software network, both ends in one process: shows that the worker itself
/// is right before it is let loose in the lab.

#include <vccl/transport/soft/fabric.hpp>

#include <fmt/format.h>
#include <programs/options.hpp>
#include <programs/run.hpp>

#include <filesystem>
#include <thread>

namespace worker {
namespace {

struct SoftMachine {
  using Nic = vccl::SoftNic;

  vccl::soft::Fabric fabric{{.hosts = 2, .ports_per_host = 2}};

  [[nodiscard]] auto& host(vccl::End end) { return fabric.host(end == vccl::End::sender ? 0 : 1); }
  [[nodiscard]] static vccl::PortId port(vccl::End, std::string const& name) {
    if (name == "port0") return vccl::PortId{0};
    if (name == "port1") return vccl::PortId{1};
    throw UsageError{fmt::format("--ports: '{}' is none; take port0 or port1", name)};
  }
};

template <class Link>
int run_both(Options const& o) {
  std::filesystem::remove(std::filesystem::path{o.folder} / "address");  // of an earlier run
  SoftMachine machine;
  machine.fabric.inject(o.faults);
  int statuses[2] = {};
  {
    std::jthread const receiver{
        [&] { statuses[1] = run_end<Link>(o, machine, vccl::End::receiver); }};
    statuses[0] = run_end<Link>(o, machine, vccl::End::sender);
  }
  return statuses[0] != 0 || statuses[1] != 0 ? 1 : 0;
}

int run(Options const& o) {
  if (o.role != "both") throw UsageError{"--role: both ends are in this process"};
  for (auto const& name : o.ports) static_cast<void>(SoftMachine::port(vccl::End::sender, name));
  if (o.bundle == "quick") return run_both<WithBackup<SoftMachine::Nic, Quick>>(o);
  if (o.bundle == "no_backup") return run_both<WithoutBackup<SoftMachine::Nic>>(o);
  throw UsageError{fmt::format("--bundle: '{}' is none; take quick or no_backup", o.bundle)};
}

}  // namespace
}  // namespace worker

int main(int argc, char** argv) {
  return worker::main_of(argc, argv, "rxe_worker_soft", worker::run);
}
