// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The two programs of the copy, compiled once for each bundle.

#include <demo/board.hpp>
#include <demo/files.hpp>
#include <demo/options.hpp>
#include <demo/plan.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <thread>

namespace demo {

/// Two running threads, one for each host. Their failures go to the board.
struct Programs {
  std::jthread sender, receiver;
};
[[nodiscard]] Programs start_programs(Bundle bundle, vccl::soft::Fabric& fabric, Board& board,
                                      Plan const& plan, File const& file, File const& output);

}  // namespace demo
