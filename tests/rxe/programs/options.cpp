// SPDX-License-Identifier: Apache-2.0
#include <programs/options.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <programs/content.hpp>

#include <algorithm>
#include <map>

namespace worker {

std::uint64_t Options::longest() const {
  return std::max(*std::max_element(sizes.begin(), sizes.end()), end_message_bytes);
}

std::optional<Options> read_options(int argc, char** argv) {
  Options o;
  std::map<std::string, Mistake> const mistakes{
      {"byte", Mistake::byte}, {"skip", Mistake::skip}, {"twice", Mistake::twice}};
  CLI::App app{
      "One end of a connection: sends messages that tell whose they are, or receives and checks\n"
      "them. Prints JSON lines. Exit status: 0 all is well, 1 it is not, 2 a bad option.",
      "rxe_worker"};
  app.add_option("--role", o.role, "sender, receiver, or both")
      ->required()
      ->check(CLI::IsMember({"sender", "receiver", "both"}));
  app.add_option("--ports", o.ports, "the primary, then the backups, by exact name: rxe0:1,rxe1:1")
      ->required()
      ->delimiter(',');
  app.add_option("--folder", o.folder,
                 "where the receiver leaves its address, and files stop and end are waited for")
      ->required();
  app.add_option("--bundle", o.bundle, "policies [resilient]");
  app.add_option("--sizes", o.sizes, "bytes of the messages, round and round [65536]")
      ->delimiter(',');
  app.add_option("--count", o.count, "messages; 0: until there is a file stop [0]");
  app.add_option("--window", o.window, "steps under way [8]")->check(CLI::Range(1, 64));
  app.add_option("--group", o.group, "messages of a step [1]")->check(CLI::Range(1, 8));
  app.add_option("--rate", o.rate, "bytes per second; 0: as fast as it goes [0]");
  app.add_option("--pause", o.pause, "seconds in which it neither posts nor polls, ...");
  app.add_option("--pause-after", o.pause_after, "... after so many messages [0]");
  app.add_option("--first-step", o.first_step, "number of the first step [0]");
  app.add_option("--qps", o.qps, "QPs of a lane [1]")->check(CLI::Range(1, 4));
  app.add_option("--limit", o.limit, "seconds until it gives up [120]");
  app.add_option("--oob", o.oob, "this host's address for out-of-band messages [127.0.0.1]");
  app.add_option("--oob-port", o.oob_port, "and TCP port; 0: any [0]");
  app.add_option("--faults", o.faults, "faults of the software network, where it is one");
  app.add_option("--mistake", o.mistake, "what the sender does wrong on purpose: byte, skip, twice")
      ->transform(CLI::CheckedTransformer(mistakes));
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    fmt::print("{}", app.help());
    return std::nullopt;
  } catch (CLI::ParseError const& e) {
    throw UsageError{e.what()};
  }
  if (o.count % o.group != 0) throw UsageError{"--count: take a multiple of --group"};
  return o;
}

int main_of(int argc, char** argv, const char* program, int (*run)(Options const&)) {
  try {
    auto const options = read_options(argc, argv);
    return options ? run(*options) : 0;
  } catch (UsageError const& e) {
    fmt::print(stderr, "{}: {}\n", program, e.what());
    return 2;
  }
}

}  // namespace worker
