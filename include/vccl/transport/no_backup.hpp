// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// No backup path, and several: what may stand in a Connection's second place beside a transport.

#include <vccl/concepts.hpp>
#include <vccl/fwd.hpp>

#include <concepts>
#include <type_traits>

namespace vccl {

/// There is no backup: nothing of failover is left in the binary.
struct NoBackup {};

/// Several backups, tried in this order.
template <class... Transports>
struct Backups {
  static_assert((Transport<Transports> && ...), "Backups<...> takes transports");
  static_assert(sizeof...(Transports) >= 1 && sizeof...(Transports) < max_paths,
                "one to three backups");
};

namespace detail {
template <class T>
inline constexpr bool is_backups = false;
template <class... Ts>
inline constexpr bool is_backups<Backups<Ts...>> = true;
}  // namespace detail

/// A transport, Backups of transports, or NoBackup.
template <class B>
concept BackupTransport = std::same_as<B, NoBackup> || detail::is_backups<B> || Transport<B>;

/// A sync policy that can serve these paths: one that agrees on switches where there is something
/// to switch to.
template <class S, class Primary, class Backup>
concept SyncPolicyFor = SyncPolicy<S> && Transport<Primary> && BackupTransport<Backup> &&
                        (S::arms_backup != std::same_as<Backup, NoBackup>);

}  // namespace vccl
