// SPDX-License-Identifier: Apache-2.0
#include <demo/programs.hpp>

#include <demo/copy.hpp>
#include <vccl/policies/failback/never.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <exception>

namespace demo {
namespace {

// A bundle is inherited; the line that should be different is shadowed.
struct Recorded : vccl::Resilient {
  using Telemetry = vccl::telemetry::EventLog<256>;
};
struct RecordedNoFailback : Recorded {
  using Failback = vccl::failback::Never;
};
struct RecordedNoBackup : vccl::DefaultPolicies {
  using Telemetry = vccl::telemetry::EventLog<256>;
};

template <class Policies>
using WithBackup =
    vccl::Connection<vccl::SoftNic, vccl::SoftNic, vccl::sync::ReceiverDecides<>, Policies>;
using WithoutBackup =
    vccl::Connection<vccl::SoftNic, vccl::NoBackup, vccl::sync::NoSync, RecordedNoBackup>;

template <class Program>
std::jthread start(Board& board, Program program) {
  return std::jthread{[&board, program] {
    try {
      program();
    } catch (std::exception const& e) {
      board.fail(e.what());
    }
  }};
}

vccl::Route const primary{vccl::PortId{0}};

template <class Link>
Programs start_both(vccl::soft::Fabric& fabric, Board& board, Plan const& plan, File const& file,
                    File const& output) {
  return {
      .sender = start(board, [&] { send_file<Link>(fabric.host(0), primary, board, plan, file); }),
      .receiver =
          start(board, [&] { receive_file<Link>(fabric.host(1), primary, board, plan, output); })};
}

}  // namespace

Programs start_programs(Bundle bundle, vccl::soft::Fabric& fabric, Board& board, Plan const& plan,
                        File const& file, File const& output) {
  switch (bundle) {
    case Bundle::resilient:
      return start_both<WithBackup<Recorded>>(fabric, board, plan, file, output);
    case Bundle::no_failback:
      return start_both<WithBackup<RecordedNoFailback>>(fabric, board, plan, file, output);
    case Bundle::no_backup:
      return start_both<WithoutBackup>(fabric, board, plan, file, output);
  }
  return {};
}

}  // namespace demo
