// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// detect::AnyOf: several detectors as one.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::detect {

/// Shows everything to each of its parts and says the gravest thing that any of them says: fatal
/// before path before probe, and of equals the first in order, whose cause is kept.
///
/// State: none; its parts have none either.
/// Hot path: that of its parts.
/// Thread safety: pure functions.
/// Use when one sign is not enough, which is nearly always:
/// `AnyOf<CompletionStatus<>, PortEvent<>, StallDeadline<>>`.
template <Detector... Parts>
  requires(sizeof...(Parts) > 0 && (std::is_empty_v<Parts> && ...))
struct AnyOf {
  [[nodiscard]] static constexpr Verdict on_completion(Status status, bool address_gone) noexcept {
    return gravest({Parts{}.on_completion(status, address_gone)...});
  }
  [[nodiscard]] static constexpr Verdict on_port(PortWatch const& port) noexcept {
    return gravest({Parts{}.on_port(port)...});
  }
  [[nodiscard]] static constexpr Verdict on_wait(Wait const& wait) noexcept {
    return gravest({Parts{}.on_wait(wait)...});
  }

  /// The shortest hold of the parts that have one.
  [[nodiscard]] static constexpr Duration hold() noexcept { return shortest({Parts::hold()...}); }
  /// The shortest stall of the parts that have one.
  [[nodiscard]] static constexpr Duration stall() noexcept { return shortest({Parts::stall()...}); }

 private:
  using Verdicts = Verdict[sizeof...(Parts)];
  using Durations = Duration[sizeof...(Parts)];

  static constexpr Verdict gravest(Verdicts const& all) noexcept {
    Verdict found{};
    for (Verdict const& verdict : all) {
      if (verdict.kind > found.kind) found = verdict;
    }
    return found;
  }

  // By number: under nvcc a defaulted comparison cannot be used yet while a bundle is checked.
  static constexpr Duration shortest(Durations const& all) noexcept {
    Duration found{};
    for (Duration const& duration : all) {
      if (duration.ns == 0) continue;
      if (found.ns == 0 || duration.ns < found.ns) found = duration;
    }
    return found;
  }

  static_assert(Verdict::Kind::nothing < Verdict::Kind::probe &&
                    Verdict::Kind::probe < Verdict::Kind::path &&
                    Verdict::Kind::path < Verdict::Kind::fatal,
                "gravest() compares kinds by their order");
};

}  // namespace vccl::detect
