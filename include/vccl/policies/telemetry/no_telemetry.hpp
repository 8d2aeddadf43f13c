// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// telemetry::NoTelemetry: nothing is recorded.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::telemetry {

/// Forgets every event. Status still tells the present state of a connection.
///
/// State: none.
/// Hot path: nothing; events are never per message.
/// Thread safety: any.
/// Use when nobody asks afterwards what happened.
struct NoTelemetry {
  constexpr void record(Event const&) const noexcept {}
};

static_assert(Telemetry<NoTelemetry>);
static_assert(std::is_empty_v<NoTelemetry>);

}  // namespace vccl::telemetry
