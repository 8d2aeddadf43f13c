// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Forward declarations of what users name. connection.hpp holds the one with default arguments.

namespace vccl {

struct NoBackup;
template <class... Transports>
struct Backups;

struct DefaultPolicies;
struct Resilient;

namespace sync {
struct NoSync;
}  // namespace sync

}  // namespace vccl
