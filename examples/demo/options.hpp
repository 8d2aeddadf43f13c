// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What the user wants: the command line, read and checked.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace demo {

/// Which policies the copy runs with.
enum class Bundle : std::uint8_t {
  resilient,    ///< A backup, and back to the primary once it is repaired.
  no_failback,  ///< A backup, and stays there: Resilient with failback::Never.
  no_backup,    ///< One path, DefaultPolicies: a pulled cable ends the copy.
};

struct Options {
  std::string file;                   ///< What is copied.
  Bundle bundle = Bundle::resilient;  ///< Of the connection.
  std::string bundle_name;            ///< As written on the command line.
  std::optional<std::string> faults;  ///< A script in place of the cable that is pulled.
  std::uint64_t seed = 1;             ///< Of what a fault script leaves to chance.
  double seconds = 8;                 ///< The ports are as fast as makes the copy last so long.
  std::string svg;                    ///< Where the timeline goes.
  std::string output;                 ///< Where the copy goes; empty: it is only hashed.
  bool quiet = false;                 ///< The last line only.
};

/// One line that says what was wrong with the command line, and what to do.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nothing when only help was asked for, which is then printed. Throws UsageError.
[[nodiscard]] std::optional<Options> read_options(int argc, char** argv);

}  // namespace demo
