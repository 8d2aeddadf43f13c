// SPDX-License-Identifier: Apache-2.0
// Messages through the software NIC as fast as it goes, against memcpy between the same buffers in
// the same run. One thread drives both ends. Only ratios mean anything on another machine.
#include <vccl/transport/soft/fabric.hpp>
#include <vccl/vccl.hpp>

#include "row.hpp"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace vccl::bench {
namespace {

constexpr std::size_t depth = 16;   ///< Messages under way: buffers at each end.
constexpr std::size_t rounds = 31;  ///< Of memcpy and messages in turn.

double seconds_of(auto&& work) {
  auto const start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Buffers {
  explicit Buffers(std::size_t each) : bytes{each}, source(each * depth), target(each * depth) {
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 7);
  }
  void copy(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const at = i % depth * bytes;
      std::memcpy(target.data() + at, source.data() + at, bytes);
      asm volatile("" : : "r"(target.data() + at) : "memory");  // It is really copied.
    }
  }
  std::size_t bytes;
  std::vector<char> source, target;
};

/// A connection over a fabric without a speed limit, in real time.
template <class Link>
struct Pair {
  soft::Fabric fabric{{.hosts = 2, .ports_per_host = 2}};
  typename Link::Context a{fabric.host(0)}, b{fabric.host(1)};
  typename Link::Listener listener = b.listen(PortId{0});
  typename Link::Sender sender = a.connect(PortId{0}, listener.handle());
  typename Link::Receiver receiver = listener.accept();

  Pair() {
    for (bool one = false, other = false; !one || !other;) {
      one = sender.ready();
      other = receiver.ready();
    }
  }

  /// `count` messages, `depth` under way. False when one failed.
  bool send(std::size_t bytes, std::size_t count, auto const& from, auto const& into) {
    std::array<Request, depth> sends, receives;
    std::size_t posted = 0, received = 0, sent = 0;
    bool ok = true;
    auto const post = [&] {
      std::size_t const slot = posted % depth;
      receives[slot] = receiver.irecv(into.part(slot * bytes, bytes));
      sends[slot] = sender.isend(from.part(slot * bytes, bytes));
      ++posted;
    };
    while (posted < count && posted < depth) post();
    while (received < count || sent < count) {
      if (sent < posted) {
        if (Result const r = sender.test(sends[sent % depth]); r.done) {
          ok = ok && r.error == Errc::ok;
          ++sent;
        }
      }
      if (received < posted) {
        if (Result const r = receiver.test(receives[received % depth]); r.done) {
          ok = ok && r.error == Errc::ok;
          ++received;
        }
      }
      while (posted < count && posted - std::min(sent, received) < depth) post();
    }
    return ok;
  }
};

template <class Link>
bool measure(const char* variant, std::size_t bytes, std::size_t count) {
  Buffers buffers{bytes};
  Pair<Link> pair;
  auto const from = pair.sender.register_memory(buffers.source);
  auto const into = pair.receiver.register_memory(buffers.target);
  bool ok = pair.send(bytes, depth, from, into);
  buffers.copy(depth);
  std::vector<double> ratios, rates;
  for (std::size_t i = 0; i < rounds; ++i) {
    double const copies = seconds_of([&] { buffers.copy(count); });
    double const messages = seconds_of([&] { ok = pair.send(bytes, count, from, into) && ok; });
    ratios.push_back(copies / messages);
    rates.push_back(static_cast<double>(count) / messages);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(rates.begin(), rates.end());
  double const median = rates[rounds / 2];
  row("messages_per_second", variant, bytes, median, "1/s");
  row("bandwidth", variant, bytes, median * static_cast<double>(bytes) / 1e9, "GB/s");
  if (bytes >= 1 << 20) {
    row("memcpy_ratio", variant, bytes, ratios[rounds / 2], "of_memcpy");
    row("memcpy_ratio_least", variant, bytes, ratios.front(), "of_memcpy");
    row("memcpy_ratio_most", variant, bytes, ratios.back(), "of_memcpy");
  }
  ok = ok && buffers.source == buffers.target;
  if (!ok) std::fprintf(stderr, "%s, %zu B: messages failed or bytes are wrong\n", variant, bytes);
  return ok;
}

using None = Connection<SoftNic>;
using WithBackup = Connection<SoftNic, SoftNic, sync::ReceiverDecides<>, Resilient>;

bool measure_all(std::size_t bytes, std::size_t count) {
  bool const none = measure<None>("none", bytes, count);
  return measure<WithBackup>("resilient", bytes, count) && none;
}

}  // namespace
}  // namespace vccl::bench

int main() {
  using vccl::bench::measure_all;
  bool const small = measure_all(8, 20'000);
  bool const medium = measure_all(4096, 20'000);
  bool const large = measure_all(std::size_t{1} << 20, 128);
  return small && medium && large ? 0 : 1;
}
