// SPDX-License-Identifier: Apache-2.0
#include <vccl/vccl.hpp>

#include "machine.hpp"
#include "options.hpp"
#include "stream.hpp"
#include <algorithm>
#include <vector>

namespace vccl::bench {
namespace {

/// Counts packets between two barriers, when nothing is under way.
class Packets {
 public:
  explicit Packets(Machine& m) : machine_{m} {
    m.meet();
    before_ = Machine::packets_sent();
    m.meet();
  }
  [[nodiscard]] std::uint64_t sent() {
    machine_.meet();
    std::this_thread::sleep_for(std::chrono::milliseconds{30});  // for the last acknowledgements
    return Machine::packets_sent() - before_;
  }

 private:
  Machine& machine_;
  std::uint64_t before_ = 0;
};

template <class End>
void bandwidth(Options const& o, Machine& m, Stream<End>& stream, std::size_t bytes) {
  std::size_t const all = std::max<std::size_t>(o.megabytes * 1'000'000 / bytes, o.window);
  Packets packets{m};
  stream.begin();
  if constexpr (Stream<End>::receives) stream.post(bytes, o.window, all);
  m.meet();
  Time const begun = m.host.now();
  while (stream.done() < all) {
    stream.post(bytes, o.window, all);
    if (stream.take()) continue;
    m.check_time("bandwidth");
    rest(o);
  }
  double const seconds = seconds_between(begun, m.host.now());
  fmt::print(R"({{"what": "bandwidth", "bytes": {}, "messages": {}, "seconds": {}, "packets": {}}})"
             "\n",
             bytes, all, seconds, packets.sent());
}

template <class Sender, class Receiver>
void latency(Options const& o, Machine& m, Stream<Sender>& out, Stream<Receiver>& in,
             std::size_t bytes) {
  std::size_t const all = o.round_trips;
  std::vector<double> took;
  took.reserve(all);
  Packets packets{m};
  in.begin();
  out.begin();
  in.post(bytes, o.window, all);
  m.meet();
  auto const send = [&](std::size_t number) {
    for (out.post(bytes, 2, number); out.posted() != number; out.post(bytes, 2, number))
      static_cast<void>(out.take());
  };
  Time last = m.host.now();
  for (std::size_t i = 1; i <= all; ++i) {
    if (o.sends) send(i);
    while (!in.take()) {
    }
    if (!o.sends) send(i);
    in.post(bytes, o.window, all);
    static_cast<void>(out.take());
    Time const now = m.host.now();
    took.push_back(seconds_between(last, now) / 2);
    last = now;
    if (i % 64 == 0) m.check_time("latency");
  }
  while (out.done() < all) static_cast<void>(out.take());
  std::sort(took.begin(), took.end());
  fmt::print(R"({{"what": "latency", "bytes": {}, "messages": {}, "seconds": {}, "packets": {}}})"
             "\n",
             bytes, 2 * all, took[took.size() / 2], packets.sent());
}

template <class Link>
void measure(Options const& o) {
  Machine m{o};
  typename Link::Context context{m.host};
  Route route{PortId{0}};
  if (Link::resilient) route.backups[0] = PortId{1};
  auto listener = context.listen(route);
  m.put_handle(o.sends ? "handle.back" : "handle", listener.handle());
  auto sender = context.connect(route, m.get_handle(o.sends ? "handle" : "handle.back"));
  auto receiver = listener.accept();
  until_ready(m, sender, receiver);
  std::size_t longest = 1;
  for (auto const* sizes : {&o.bandwidth, &o.latency}) {
    for (std::size_t n : *sizes) longest = std::max(longest, n);
  }
  Stream out{sender, longest};
  Stream in{receiver, longest};
  for (std::size_t bytes : o.bandwidth) {
    if (o.sends) {
      bandwidth(o, m, out, bytes);
    } else {
      bandwidth(o, m, in, bytes);
    }
  }
  for (std::size_t bytes : o.latency) latency(o, m, out, in, bytes);
  m.meet();
  // On a busy machine a slow path may look stalled.
  fmt::print(R"({{"what": "failovers", "count": {}}})"
             "\n",
             sender.status().counters.failovers + receiver.status().counters.failovers);
}

}  // namespace

void measure_speed(Options const& o) {
  if (o.bundle == "none") return measure<WithoutBackup>(o);
  measure<WithBackup<Resilient>>(o);
}

}  // namespace vccl::bench
