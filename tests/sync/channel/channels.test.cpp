// SPDX-License-Identifier: Apache-2.0
#include <vccl/sync/channel/channels.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using vccl::sync::InBand;
using vccl::sync::OutOfBand;

TEST_CASE("each channel is one way for messages to travel and keeps nothing in the machine") {
  CHECK(InBand::in_band);
  CHECK_FALSE(InBand::out_of_band);
  CHECK(OutOfBand::out_of_band);
  CHECK_FALSE(OutOfBand::in_band);
  CHECK(std::is_empty_v<InBand>);
  CHECK(std::is_empty_v<OutOfBand>);
}

}  // namespace
