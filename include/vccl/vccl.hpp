// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Everything a user of the library needs but the transport: include that beside it.

#include <vccl/connection.hpp>
#include <vccl/policies/bundle.hpp>
#include <vccl/sync/no_sync.hpp>
#include <vccl/sync/receiver_decides.hpp>
