// SPDX-License-Identifier: Apache-2.0
// What would count twice is not replayed.
// EXPECT: ReplayableBy
#include <vccl/policies/rollback/receiver_position.hpp>

#ifdef VCCL_CONTROL
using Op = vccl::Idempotent;
#else
using Op = vccl::Atomic;
#endif

template <vccl::ReplayableBy<vccl::rollback::ReceiverPosition> T>
struct Posts {};

Posts<Op> posts;
