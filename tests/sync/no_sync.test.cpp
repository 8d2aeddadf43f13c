// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/no_sync.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using vccl::sync::NoSync;

TEST_CASE("without agreement no backup is armed, no channel is used and no state is kept") {
  CHECK_FALSE(NoSync::arms_backup);
  CHECK_FALSE(NoSync::in_band);
  CHECK_FALSE(NoSync::out_of_band);
  CHECK(std::is_empty_v<NoSync>);
  CHECK(vccl::SyncPolicy<NoSync>);
}

}  // namespace
