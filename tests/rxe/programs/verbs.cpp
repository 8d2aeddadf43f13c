// SPDX-License-Identifier: Apache-2.0
/// @file The worker on libibverbs: one end of a connection. `rxe_worker --help`.

#include <programs/verbs.hpp>

#include <array>
#include <string_view>

namespace worker {
namespace {

struct Bundle {
  std::string_view name;
  int (*run)(Options const&, VerbsMachine&, vccl::End);
};
constexpr std::array bundles{
    Bundle{"resilient", run_end<LinkResilient>},
    Bundle{"quick", run_end<LinkQuick>},
    Bundle{"in_band", run_end<LinkInBand>},
    Bundle{"out_of_band", run_end<LinkOutOfBand>},
    Bundle{"long_hold", run_end<LinkLongHold>},
    Bundle{"retry_timeout", run_end<LinkRetryTimeout>},
    Bundle{"no_failback", run_end<LinkNoReturn>},
    Bundle{"no_backup", run_end<LinkNoBackup>},
};

int run(Options const& o) {
  if (o.role == "both") throw UsageError{"--role: one end a process; take sender or receiver"};
  auto const* const bundle = std::find_if(bundles.begin(), bundles.end(),
                                          [&](Bundle const& b) { return b.name == o.bundle; });
  if (bundle == bundles.end()) throw UsageError{fmt::format("--bundle: '{}' is none", o.bundle)};
  vccl::End const end = o.role == "sender" ? vccl::End::sender : vccl::End::receiver;
  try {
    VerbsMachine machine{o};
    return bundle->run(o, machine, end);
  } catch (vccl::SetupError const& e) {  // no such device
    Report{end}.final({}, {}, {}, e.what());
    return 1;
  }
}

}  // namespace
}  // namespace worker

int main(int argc, char** argv) { return worker::main_of(argc, argv, "rxe_worker", worker::run); }
