// SPDX-License-Identifier: Apache-2.0
/// @file
/// One end of a measurement in the lab; rxe.py starts one in each host. Prints lines of JSON.

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "options.hpp"
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  vccl::bench::Options o;
  std::string end, what;
  int limit = 60;
  CLI::App app{"Measures connections between the lab's hosts, one end in each.", "rxe_bench"};
  app.add_option("END", end, "send or receive")
      ->required()
      ->check(CLI::IsMember({"send", "receive"}));
  app.add_option("WHAT", what, "speed or failover")
      ->required()
      ->check(CLI::IsMember({"speed", "failover"}));
  app.add_option("--folder", o.folder, "shared by both hosts")->required();
  app.add_option("--address", o.address, "of this host, out of band")->required();
  app.add_option("--bundle", o.bundle, "of policies")
      ->required()
      ->check(CLI::IsMember({"none", "resilient", "retry_timeout"}));
  app.add_option("--bandwidth", o.bandwidth, "sizes of messages")->delimiter(',');
  app.add_option("--latency", o.latency, "sizes of messages")->delimiter(',');
  app.add_option("--megabytes", o.megabytes, "for each bandwidth");
  app.add_option("--round-trips", o.round_trips, "for each latency");
  app.add_option("--window", o.window, "messages under way")->check(CLI::Range(1, 64));
  app.add_option("--rest", o.rest, "microseconds after a poll that found nothing; -1: none");
  app.add_option("--bytes", o.bytes, "of a message, for failover");
  app.add_option("--limit", limit, "seconds until it gives up");
  CLI11_PARSE(app, argc, argv);
  o.sends = end == "send";
  o.deadline = std::chrono::steady_clock::now() + std::chrono::seconds{limit};
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    if (what == "speed") {
      measure_speed(o);
    } else {
      measure_failover(o);
    }
  } catch (std::exception const& e) {
    fmt::print("{{\"what\": \"problem\", \"text\": \"{}\"}}\n", e.what());
    return 1;
  }
  return 0;
}
