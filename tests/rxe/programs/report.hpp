// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What an end tells: a JSON object a line.

#include <vccl/concepts.hpp>
#include <vccl/status.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace worker {

/// How requests ended.
struct Tally {
  std::uint64_t messages = 0;  ///< Done and ok.
  std::uint64_t bytes = 0;
  std::uint64_t failed = 0;
  std::uint64_t failed_yes = 0;  ///< Of these: the peer is known to have them, ...
  std::uint64_t failed_no = 0;   ///< ... or not to.
};

class Report {
 public:
  explicit Report(vccl::End end) : end_{end} {}

  /// `more`: further members, or nothing.
  void line(std::string_view event, vccl::Time t, std::string_view more = {}) const;
  void event(vccl::Event const& e) const;
  void position(vccl::Time t, Tally const& tally, vccl::ConnectionStatus const& s) const;
  /// `problem` is empty when all is well.
  void final(vccl::Time t, Tally const& tally, vccl::ConnectionStatus const& s,
             std::string_view problem) const;

 private:
  vccl::End end_;
};

}  // namespace worker
