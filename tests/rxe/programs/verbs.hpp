// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The worker on libibverbs: its devices, and the bundles, each compiled in one place.

#include <vccl/transport/tcp/bootstrap.hpp>
#include <vccl/transport/verbs/lane.hpp>

#include <fmt/format.h>
#include <programs/options.hpp>
#include <programs/run.hpp>

#include <algorithm>
#include <string>

namespace worker {

/// One host of the lab, or of a cluster.
class VerbsMachine {
 public:
  using Boot = vccl::TcpBootstrap<>;
  using Nic = vccl::IbVerbs<Boot>;

  explicit VerbsMachine(Options const& o)
      : options_{o},
        boot_{{.address = o.oob.c_str(), .port = o.oob_port}},
        host_{boot_, {.ports = o.ports}} {}

  [[nodiscard]] auto& host(vccl::End) { return host_; }
  /// The host counts ports in the order in which they were named.
  [[nodiscard]] vccl::PortId port(vccl::End, std::string const& name) const {
    auto const at = std::find(options_.ports.begin(), options_.ports.end(), name);
    return static_cast<vccl::PortId>(at - options_.ports.begin());
  }

 private:
  Options const& options_;
  Boot boot_;
  typename Nic::Host host_;
};

using VerbsNic = VerbsMachine::Nic;
using LinkResilient = WithBackup<VerbsNic, Resilient>;
using LinkQuick = WithBackup<VerbsNic, Quick>;
using LinkInBand = WithBackup<VerbsNic, Quick, InBand>;
using LinkOutOfBand = WithBackup<VerbsNic, Quick, OutOfBand>;
using LinkRetryTimeout = WithBackup<VerbsNic, RetryTimeout>;
using LinkLongHold = WithBackup<VerbsNic, LongHold>;
using LinkNoReturn = WithBackup<VerbsNic, NoReturn>;
using LinkNoBackup = WithoutBackup<VerbsNic>;

extern template int run_end<LinkResilient>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkQuick>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkInBand>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkOutOfBand>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkRetryTimeout>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkLongHold>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkNoReturn>(Options const&, VerbsMachine&, vccl::End);
extern template int run_end<LinkNoBackup>(Options const&, VerbsMachine&, vccl::End);

}  // namespace worker
