// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copies a file between two hosts while the cable in use is pulled and plugged in again, and
/// shows what came of it. `scripts/demo --help`.

#include <demo/conclusion.hpp>
#include <demo/director.hpp>
#include <demo/files.hpp>
#include <demo/options.hpp>

#include <fmt/format.h>

#include <exception>
#include <filesystem>

namespace demo {
namespace {

bool same_file(std::string const& a, std::string const& b) {
  std::error_code no_such_file;
  return std::filesystem::equivalent(a, b, no_such_file);
}

int run(Options const& options) {
  File const file = File::open_to_read(options.file);
  if (same_file(options.file, options.output) || same_file(options.file, options.svg))
    throw UsageError{fmt::format("{} would be overwritten; name another file", options.file)};
  File const svg = File::open_to_write(options.svg, "--svg: ");
  File const output =
      options.output.empty() ? File{} : File::open_to_write(options.output, "--output: ");
  if (output.is_open() && !output.make_empty())
    throw UsageError{fmt::format("--output: {} cannot be emptied", options.output)};

  return conclude(options, run_copy(options, file, output), svg);
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  try {
    auto const options = demo::read_options(argc, argv);
    return options ? demo::run(*options) : 0;
  } catch (demo::UsageError const& e) {
    fmt::print(stderr, "demo: {}\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    fmt::print("demo: FAILED {}\n", e.what());
    return 1;
  }
}
