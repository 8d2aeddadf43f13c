// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What is seen while the copy runs: a bar on a terminal, plain lines elsewhere.

#include <cstdint>
#include <string>
#include <string_view>

namespace demo {

class Progress {
 public:
  explicit Progress(bool quiet);
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;
  ~Progress() { clear(); }

  /// `part`: 0 to 1. Draws when that is due.
  void update(double seconds, double part, std::uint64_t bytes, unsigned path);
  /// Something happened: a line that stays.
  void note(double seconds, std::string_view what);

 private:
  void clear();

  bool quiet_;
  bool terminal_;
  bool colours_;
  bool drawn_ = false;
  double next_ = 0;       ///< Seconds, of the bar.
  double next_part_ = 0;  ///< Of the plain lines.
  double rate_at_ = 0;
  double rate_ = 0;
  std::uint64_t rate_bytes_ = 0;
};

/// "139.2 MB", "17 B".
[[nodiscard]] std::string bytes_text(double bytes);
/// 0: "primary", 1: "backup".
[[nodiscard]] std::string_view path_name(unsigned path);

}  // namespace demo
