// SPDX-License-Identifier: Apache-2.0
// Bytes of memory that a connection takes: everything that is allocated while a Sender and a
// Receiver are made, themselves included, over a transport that keeps nothing. Not in it: lanes and
// QPs, which are the transport's; the Context, which a process has once; the user's buffers.
#include <memory>

#include <archetypes/transport.hpp>
#include <vccl/connection.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include "row.hpp"
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::size_t allocated = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  allocated += bytes;
  void* const p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc{};
  return p;
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace vccl::bench {
namespace {

/// Two ports of one card.
struct Host : archetype::Host {
  std::size_t port_count() noexcept { return 2; }
  PortState port_state(PortId) noexcept { return {.active = true}; }
};
struct Nothing : archetype::Transport {
  using Host = bench::Host;
  Nothing(Host& host, LaneConfig const& c) : archetype::Transport{host, c} {}
  static Registration register_memory(Host&, PortId, void*, std::size_t, Access, MemoryKind) {
    return {};
  }
};

template <class Link>
void measure(const char* variant) {
  constexpr std::size_t connections = 8;
  Host here, there;
  typename Link::Context a{here}, b{there};
  typename Link::Listener listener = b.listen(PortId{0});
  std::unique_ptr<typename Link::Sender> senders[connections];
  std::unique_ptr<typename Link::Receiver> receivers[connections];
  std::size_t const before = allocated;
  for (std::size_t i = 0; i < connections; ++i) {
    senders[i].reset(new auto(a.connect(PortId{0}, listener.handle())));
    receivers[i].reset(new auto(listener.accept()));
  }
  row("memory_per_connection", variant, 0, static_cast<double>(allocated - before) / connections,
      "B");
}

struct Logged : Resilient {
  using Telemetry = telemetry::EventLog<>;
};

}  // namespace
}  // namespace vccl::bench

int main() {
  using namespace vccl;
  bench::measure<Connection<bench::Nothing>>("none");
  using Sync = sync::ReceiverDecides<>;
  bench::measure<Connection<bench::Nothing, bench::Nothing, Sync, Resilient>>("resilient");
  bench::measure<Connection<bench::Nothing, bench::Nothing, Sync, bench::Logged>>(
      "resilient_eventlog");
}
