// SPDX-License-Identifier: Apache-2.0
#include <support/failover_cost.hpp>

#include <support/world.hpp>

#include <string>
#include <vector>

namespace vccl::test {
namespace {

constexpr Duration latency{50'000};  // One way: 50 us.
/// Both ends are polled this often: owners that spin. What is measured is exact to a few of these.
constexpr Duration poll_period{100};
/// The bootstrap network is too slow to help: everything travels in band.
constexpr Duration oob_latency{50'000'000};

Event const* find(std::vector<Event> const& events, Event::Kind kind) {
  for (Event const& e : events) {
    if (e.kind == kind) return &e;
  }
  return nullptr;
}

/// When something first happened at an end.
Time time_of(World& w, End end, Event::Kind kind) {
  std::vector<Event> const events = w.ends->events(end);
  Event const* const e = find(events, kind);
  return e != nullptr ? e->at : Time{};
}

/// Time since the loss of the path that its fence took.
Duration fence_of(World& w, End end) {
  return time_of(w, end, Event::Kind::fenced) - time_of(w, end, Event::Kind::path_lost);
}

}  // namespace

FailoverCost failover_cost(End detects, std::size_t outstanding, std::uint64_t bytes,
                           Duration fence) {
  FailoverCost cost;
  cost.round_trip = {2 * latency.ns};
  World w{{.link = links::resilient,
           .fabric = {.virtual_time = true, .latency = latency, .oob_latency = oob_latency}}};
  w.settle();
  w.idle(1_s);  // What the set-up left is over.
  std::size_t const host = detects == End::sender ? 0 : 1;
  Load load = Load::uniform(outstanding == 0 ? 4 : 512, bytes);
  load.depth = 64;
  if (outstanding == 0) {
    w.load(load);
    w.run();
  } else {
    load.ahead = outstanding;
    w.load(load);
    w.run_until(128);
    w.until([&] { return w.data_bytes(0, 0) == (w.received() + outstanding) * bytes; });
  }
  if (fence.ns != 0) w.inject("fence any takes " + std::to_string(fence.ns) + "ns");
  w.inject(host == 0 ? "link host0.port0 down" : "link host1.port0 down");
  w.until([&] { return time_of(w, detects, Event::Kind::path_lost) != Time{}; });
  Time const detected = time_of(w, detects, Event::Kind::path_lost);

  std::size_t const received = w.received();
  std::uint64_t const written = w.data_bytes(0, 0);
  cost.missing_bytes = written - received * bytes;
  cost.outstanding = static_cast<std::size_t>(cost.missing_bytes / bytes);
  if (outstanding == 0) w.load(load);
  Time const limit = w.now() + 1_s;
  while (w.received() == received && w.now() < limit) {
    while (w.round()) {
    }
    if (w.received() == received) w.pass(w.now() + poll_period);
  }
  cost.to_new_byte = w.now() - detected;
  // The receiver's fence comes before its decision. The sender makes its own meanwhile: it was the
  // first to know, or was told at once.
  cost.fence = fence_of(w, End::receiver);

  w.run();
  cost.problems = w.problems();
  cost.resent_bytes = w.sender().counters.resent_bytes;
  cost.faults = w.fired(soft::Action::link_down);
  cost.failovers = w.sender().counters.failovers + w.receiver().counters.failovers;
  return cost;
}

}  // namespace vccl::test
