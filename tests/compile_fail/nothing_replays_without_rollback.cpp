// SPDX-License-Identifier: Apache-2.0
// A rollback that replays nothing is no use with a backup.
// EXPECT: ReplayableBy
#include <vccl/policies/rollback/no_rollback.hpp>
#include <vccl/policies/rollback/receiver_position.hpp>

#ifdef VCCL_CONTROL
using Rollback = vccl::rollback::ReceiverPosition;
#else
using Rollback = vccl::rollback::NoRollback;
#endif

template <vccl::Rollback R>
  requires vccl::ReplayableBy<vccl::OrderedNotify, R>
struct WithBackup {};

WithBackup<Rollback> with_backup;
