// SPDX-License-Identifier: Apache-2.0
#include <demo/options.hpp>

#include <demo/files.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

namespace demo {
namespace {

std::string read_script(std::string const& name) {
  File const file = File::open_to_read(name, "--faults: ");
  std::ifstream in{name};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A throw-away fabric says whether a script fits the demo's two hosts, and which line does not.
void check_script(std::string const& name, std::string_view script) {
  vccl::soft::Fabric fabric{{.hosts = 2, .ports_per_host = 2, .virtual_time = true}};
  std::size_t number = 0;
  try {
    if (vccl::soft::parse_faults(script).empty())
      throw UsageError{fmt::format(
          "--faults: {} holds no fault; leave the option out for the usual pulled cable", name)};
    while (!script.empty()) {
      ++number;
      std::size_t const end = script.find('\n');
      fabric.inject(script.substr(0, end));
      script = end == std::string_view::npos ? std::string_view{} : script.substr(end + 1);
    }
  } catch (vccl::soft::ScriptError const& e) {
    throw UsageError{
        fmt::format("--faults: {}: {}; docs/faults.md has the grammar", name, e.what())};
  } catch (vccl::SetupError const&) {
    throw UsageError{
        fmt::format("--faults: {}: line {}: no such host or port; there are host0 and host1 with "
                    "port0 and port1",
                    name, number)};
  }
}

/// CLI11 may say several things in several lines; users get one.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv) {
  Options o;
  std::string faults;
  std::int64_t seed = 1;
  std::map<std::string, Bundle> const bundles{{"resilient", Bundle::resilient},
                                              {"no-failback", Bundle::no_failback},
                                              {"no-backup", Bundle::no_backup}};
  o.bundle_name = "resilient";
  o.svg = VCCL_DEMO_SVG;

  CLI::App app{
      "Copies a file between two hosts in this process, over software network cards with two "
      "ports\n"
      "each; pulls the cable of the port in use at 30 % and plugs it in again at 60 %.\n"
      "Exit status: 0 the copy is whole, 1 it is not, 2 a bad option, 130 interrupted.",
      "scripts/demo"};
  app.add_option("FILE", o.file, "what to copy [the largest file under /usr/lib, up to 512 MB]")
      ->type_name("");
  app.add_option("--bundle", o.bundle_name,
                 "policies [resilient]: resilient;\n"
                 "no-failback, which stays on the backup;\n"
                 "no-backup, which has one path only: the cable ends the copy")
      ->type_name("NAME");
  app.add_option("--faults", faults,
                 "a fault script (docs/faults.md) instead of the pulled cable;\n"
                 "times count from the start of the copy, the primary is\n"
                 "host0.port0 with host1.port0, the backup the two ports 1")
      ->type_name("FILE");
  app.add_option("--seed", seed, "of what a fault script leaves to chance [1]")->type_name("N");
  app.add_option("--seconds", o.seconds,
                 "the ports are as fast as makes the copy last so long, 1 to 3600 [8]")
      ->type_name("N");
  app.add_option("--svg", o.svg, "where the timeline goes [" VCCL_DEMO_SVG "]")->type_name("FILE");
  app.add_option("--output", o.output, "where the copy goes [nowhere, it is only hashed]")
      ->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "print the last line only");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    fmt::print("{}", app.help());
    return std::nullopt;
  } catch (CLI::ParseError const& e) {
    throw UsageError{one_line(e.what()) + "; see scripts/demo --help"};
  }

  auto const bundle = bundles.find(o.bundle_name);
  if (bundle == bundles.end())
    throw UsageError{fmt::format("--bundle: '{}' is none; take resilient, no-failback or no-backup",
                                 o.bundle_name)};
  o.bundle = bundle->second;
  if (!(o.seconds >= 1 && o.seconds <= 3600))
    throw UsageError{fmt::format("--seconds: {} is out of range; take 1 to 3600", o.seconds)};
  if (seed < 0) throw UsageError{fmt::format("--seed: {} is negative; take 0 or more", seed)};
  o.seed = static_cast<std::uint64_t>(seed);
  if (app.count("--faults") != 0) {
    o.faults = read_script(faults);
    check_script(faults, *o.faults);
  }
  if (app.count("FILE") == 0) o.file = largest_file("/usr/lib", 512'000'000);
  return o;
}

}  // namespace demo
