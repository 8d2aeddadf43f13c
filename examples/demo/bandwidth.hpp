// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Bytes received over time, in a bounded number of equal spans.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace demo {

/// Starts with fine spans and doubles them when there are too many.
class Bandwidth {
 public:
  static constexpr std::size_t most = 4096;

  Bandwidth() = default;
  /// As span() and bytes() told it.
  Bandwidth(double span, std::vector<std::uint64_t> bytes)
      : span_{span}, spans_{std::move(bytes)} {}

  /// `at`: seconds since the start.
  void add(double at, std::uint64_t bytes) {
    auto index = [&] { return static_cast<std::size_t>(at < 0 ? 0 : at / span_); };
    while (index() >= most) merge(2);
    if (index() >= spans_.size()) spans_.resize(index() + 1);
    spans_[index()] += bytes;
  }

  /// Joins each `n` spans into one.
  void merge(std::size_t n) {
    std::vector<std::uint64_t> joined((spans_.size() + n - 1) / n);
    for (std::size_t i = 0; i < spans_.size(); ++i) joined[i / n] += spans_[i];
    spans_ = std::move(joined);
    span_ *= static_cast<double>(n);
  }

  [[nodiscard]] double span() const noexcept { return span_; }  ///< Seconds.
  [[nodiscard]] std::vector<std::uint64_t> const& bytes() const noexcept { return spans_; }

 private:
  double span_ = 0.025;
  std::vector<std::uint64_t> spans_;
};

}  // namespace demo
