// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Detector must keep, beyond its syntax.

#include <vccl/concepts.hpp>

#include <array>
#include <string_view>

namespace vccl::contracts {

/// The first sentence that D breaks, or nothing.
template <Detector D>
std::string_view detector() {
  using Kind = Verdict::Kind;
  D const d{};
  auto const well_formed = [](Verdict v) {
    switch (v.kind) {
      case Kind::nothing:
      case Kind::probe:
        return v.cause == Cause::none;
      case Kind::path:
        return is_path_cause(v.cause);
      case Kind::fatal:
        return v.cause != Cause::none && !is_path_cause(v.cause);
    }
    return false;
  };

  for (unsigned number = 0; number < 256; ++number) {
    auto const status = static_cast<Status>(number);
    for (bool const gone : {false, true}) {
      Verdict const v = d.on_completion(status, gone);
      if (v != d.on_completion(status, gone)) return "the same status means the same each time";
      if (!well_formed(v)) return "the cause of a status fits its verdict";
      if (status == Status::success && v != Verdict{}) return "success says nothing";
      bool const may_be_path = status == Status::retry_exceeded || status == Status::flushed ||
                               status == Status::rnr_retry_exceeded ||
                               (status == Status::local_qp_operation && gone);
      if (v.kind == Kind::path && !may_be_path) return "what would hit the backup is no path fault";
    }
  }

  Duration const hold = D::hold();
  Duration const stall = D::stall();
  if (hold < Duration{} || stall < Duration{}) return "deadlines are not negative";

  // Ascending, around the deadlines and far beyond. 1 s stands for a deadline that is not used.
  auto const times = [](Duration deadline) {
    Duration const middle = deadline == Duration{} ? 1_s : deadline;
    return std::array{Duration{}, middle - 1_ns,  middle,       middle + 1_ns,
                      middle * 2, middle * 1'000, 946'080'000_s};
  };

  Kind before = Kind::nothing;
  for (Duration const down_for : times(hold)) {
    if (d.on_port({.down = false, .down_for = down_for}) != Verdict{}) {
      return "a port that is up says nothing";
    }
    Verdict const v = d.on_port({.down = true, .down_for = down_for});
    if (v != d.on_port({.down = true, .down_for = down_for}))
      return "a port means the same each time";
    if (!well_formed(v)) return "the cause of a port fits its verdict";
    if (v.kind < before) return "a port that is down longer says no less";
    if (hold == Duration{} && v != Verdict{}) return "without a hold a port says nothing";
    if (down_for < hold && v != Verdict{}) return "below the hold a port says nothing";
    if (hold > Duration{} && down_for >= hold && v == Verdict{}) {
      return "from the hold on a port says something";
    }
    before = v.kind;
  }

  for (std::uint64_t const bytes : {0ULL, 1ULL, 1ULL << 20, 1ULL << 40, ~0ULL}) {
    before = Kind::nothing;
    for (Duration const waiting : times(stall)) {
      Wait const wait{.waiting = waiting, .probing = {}, .outstanding = bytes};
      Verdict const v = d.on_wait(wait);
      if (v != d.on_wait(wait)) return "a wait means the same each time";
      if (!well_formed(v)) return "the cause of a wait fits its verdict";
      if (v.kind < before) return "a longer wait says no less";
      if (stall == Duration{} && v != Verdict{}) return "without a stall a wait says nothing";
      if (waiting < stall && v != Verdict{}) return "below the stall a wait says nothing";
      if (stall > Duration{} && waiting >= stall && bytes == 0 && v == Verdict{}) {
        return "from the stall on a wait for nothing sent says something";
      }
      if (v.kind > d.on_wait({.waiting = waiting, .probing = {}, .outstanding = bytes / 2}).kind) {
        return "more outstanding says no more";
      }
      before = v.kind;
    }

    before = Kind::nothing;
    for (Duration const probing : times(stall)) {
      if (probing == Duration{}) continue;
      Wait const wait{.waiting = probing + stall, .probing = probing, .outstanding = bytes};
      Verdict const v = d.on_wait(wait);
      if (!well_formed(v)) return "the cause of a probe fits its verdict";
      if (v.kind == Kind::probe) return "there is one probe at a time";
      if (v.kind < before) return "a longer probe says no less";
      if (stall == Duration{} && v != Verdict{}) return "without a stall a probe says nothing";
      before = v.kind;
    }
    if (stall > Duration{} && bytes < 1ULL << 21 && before == Kind::nothing) {
      return "a probe is not waited for for ever";
    }
  }
  return {};
}

}  // namespace vccl::contracts
