// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Connection: composes transports, the rules by which two ends agree, and policies.

#include <vccl/concepts.hpp>
#include <vccl/context.hpp>
#include <vccl/detail/paths.hpp>
#include <vccl/listener.hpp>
#include <vccl/policies/bundle.hpp>
#include <vccl/receiver.hpp>
#include <vccl/sender.hpp>
#include <vccl/sync/no_sync.hpp>
#include <vccl/transport/no_backup.hpp>

namespace vccl {

/// A one-way connection that keeps a primary and backup paths, moves to a backup when the primary
/// fails, sends again exactly what the receiver does not have, and moves back when the primary
/// heals.
///
/// Never made itself: it names the types that belong together. A process makes one Context, listens
/// and connects with it, and gets Senders and Receivers.
///
/// Without a backup (NoBackup, NoSync) nothing of failover is left in the binary.
template <Transport PrimaryT, BackupTransport BackupT = NoBackup,
          SyncPolicyFor<PrimaryT, BackupT> SyncT = sync::NoSync,
          PolicyBundle PoliciesT = DefaultPolicies>
  requires ConsistentTiming<PoliciesT>
struct Connection {
  using Primary = PrimaryT;
  using Backup = BackupT;
  using Sync = SyncT;
  using PoliciesType = PoliciesT;
  using Transports = detail::TransportsOf<PrimaryT, BackupT>;
  static constexpr bool resilient = SyncT::arms_backup;

  using Context = vccl::Context<Connection>;
  using Listener = vccl::Listener<Connection>;
  using Sender = vccl::Sender<Connection>;
  using Receiver = vccl::Receiver<Connection>;
};

}  // namespace vccl
