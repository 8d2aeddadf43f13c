// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/no_backup.hpp>

#include <archetypes/transport.hpp>
#include <vccl/sync/no_sync.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using T = archetype::Transport;

TEST_CASE("a backup is a transport, several, or none") {
  CHECK(BackupTransport<T>);
  CHECK(BackupTransport<NoBackup>);
  CHECK(BackupTransport<Backups<T, T>>);
  CHECK_FALSE(BackupTransport<int>);
}

TEST_CASE("a sync policy fits when it has something to switch to, and only then") {
  CHECK(SyncPolicyFor<sync::NoSync, T, NoBackup>);
  CHECK_FALSE(SyncPolicyFor<sync::NoSync, T, T>);
  CHECK(SyncPolicyFor<sync::ReceiverDecides<>, T, T>);
  CHECK(SyncPolicyFor<sync::ReceiverDecides<>, T, Backups<T, T>>);
  CHECK_FALSE(SyncPolicyFor<sync::ReceiverDecides<>, T, NoBackup>);
}
