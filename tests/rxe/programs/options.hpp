// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What the worker is told.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace worker {

/// What a sender does wrong on purpose, so that the receiver shows that it notices.
enum class Mistake : std::uint8_t { none, byte, skip, twice };

struct Options {
  std::string role;                ///< sender, receiver; both: where one process has both hosts.
  std::vector<std::string> ports;  ///< Exact names, the primary first, then the backups.
  std::string folder;              ///< Where the files address, stop and end are.
  std::string bundle = "resilient";
  std::vector<std::uint64_t> sizes{
      65536};                     ///< Bytes; message n has the n-th of them, round and round.
  std::uint64_t count = 0;        ///< Messages; 0: until there is a file stop.
  std::uint32_t window = 8;       ///< Steps under way.
  std::uint32_t group = 1;        ///< Messages of a step.
  std::uint64_t rate = 0;         ///< Bytes per second; 0: as fast as it goes.
  std::uint64_t pause_after = 0;  ///< Messages done, after which it neither posts nor polls ...
  double pause = 0;               ///< ... for so many seconds.
  std::uint64_t first_step = 0;
  std::uint32_t qps = 1;
  double limit = 120;  ///< Seconds until it gives up.
  std::string oob = "127.0.0.1";
  std::uint16_t oob_port = 0;
  std::string faults;  ///< For the software network only.
  Mistake mistake = Mistake::none;

  [[nodiscard]] std::uint64_t size_of(std::uint64_t message) const {
    return sizes[message % sizes.size()];
  }
  [[nodiscard]] std::uint64_t longest() const;
};

/// A mistake on the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Nothing when help was asked for. Throws UsageError.
[[nodiscard]] std::optional<Options> read_options(int argc, char** argv);

/// What a worker's main() does: the exit status of `run`, or 2 and one line for a usage error.
[[nodiscard]] int main_of(int argc, char** argv, const char* program, int (*run)(Options const&));

}  // namespace worker
