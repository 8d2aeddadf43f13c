// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every Transport must keep, beyond its syntax: run on two connected lanes.

#include <vccl/concepts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vccl::contracts {

/// Two ends of a transport: where each lane lives, and a way to let what is under way happen.
template <Transport T, class Wait>
struct TransportPair {
  typename T::Host& a;
  typename T::Host& b;
  PortId port;
  Wait wait;  ///< Called between polls.
};

namespace transport_detail {

inline std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

/// Polls until `n` completions have come, or the way is gone too long.
template <class T, class Wait>
std::vector<Completion> collect(T& lane, std::size_t n, Wait& wait) {
  std::vector<Completion> all;
  for (int tries = 0; tries < 2000 && all.size() < n; ++tries) {
    std::array<Completion, 4> some;
    std::size_t const got = lane.poll(some);
    for (std::size_t i = 0; i < got; ++i) all.push_back(some[i]);
    if (got == 0) wait();
  }
  return all;
}

}  // namespace transport_detail

/// The first sentence that T breaks, or nothing.
template <Transport T, class Wait>
std::string_view transport(TransportPair<T, Wait> p) {
  using namespace transport_detail;
  LaneConfig config;
  config.port = p.port;
  config.send_depth = 16;
  config.receive_depth = 8;
  T a{p.a, config};
  T b{p.b, config};
  std::vector<std::uint64_t> source(64, 0x1122), target(64, 0);
  auto from = T::register_memory(p.a, p.port, source.data(), 512, Access::local, MemoryKind::host);
  auto into =
      T::register_memory(p.b, p.port, target.data(), 512, Access::remote_write, MemoryKind::host);

  LaneAddress at_a, at_b;
  if (a.describe(at_a) != Errc::ok || b.describe(at_b) != Errc::ok)
    return "describes a usable port";
  if (at_a.qps != 1 || at_a.max_message == 0) return "an address says how many QPs and how much";
  for (std::uint64_t i = 0; i < 8; ++i) {
    if (b.post_receive(0, 100 + i) != Errc::ok) return "takes receives before it is connected";
  }
  if (a.connect(at_b) != Errc::ok || b.connect(at_a) != Errc::ok)
    return "connects what is described";

  WorkRequest w;
  w.local = address_of(source.data());
  w.remote = address_of(target.data());
  w.length = 512;
  w.keys = {from.keys().local, into.keys().remote};
  w.id = 1;
  w.signaled = false;
  WorkRequest notify = w;
  notify.kind = WorkRequest::Kind::write_with_immediate;
  notify.length = 8;
  notify.id = 2;
  notify.signaled = true;
  notify.immediate = 0xfeed'0001;
  if (a.post(w) != Errc::ok || a.post(notify) != Errc::ok) return "takes work";
  if (a.flush() != Errc::ok) return "rings";
  auto const seen = collect(b, 1, p.wait);
  if (seen.size() != 1 || seen[0].status != Status::success || seen[0].id != 100) {
    return "a notify consumes the first receive";
  }
  if (seen[0].kind != Completion::Kind::received_with_immediate ||
      seen[0].immediate != 0xfeed'0001) {
    return "a notify brings its immediate, in host order";
  }
  for (std::uint64_t v : target) {
    if (v != 0x1122) return "what was written before a notify is there when the notify is seen";
  }
  auto const done = collect(a, 1, p.wait);
  if (done.size() != 1 || done[0].id != 2) return "only signaled work completes, with its own id";

  w.length = 0;
  w.local = w.remote = 0;
  w.keys = {};
  w.signaled = true;
  w.id = 3;
  if (a.post(w) != Errc::ok || a.flush() != Errc::ok) return "takes an empty write without keys";
  if (collect(a, 1, p.wait).size() != 1) return "an empty write completes";

  if (a.fence(FenceStep::error) != Errc::ok || b.fence(FenceStep::error) != Errc::ok) {
    return "goes to ERR";
  }
  auto const flushed = collect(b, 7, p.wait);
  if (flushed.size() != 7) return "every receive is flushed in ERR";
  for (Completion const& c : flushed) {
    if (c.status == Status::success) return "a flushed receive is no success";
  }
  for (int twice = 0; twice < 2; ++twice) {
    if (a.fence(FenceStep::reset) != Errc::ok || b.fence(FenceStep::reset) != Errc::ok) {
      return "goes to RESET, and again";
    }
  }
  if (a.post(notify) == Errc::ok && a.flush() == Errc::ok && !collect(b, 1, p.wait).empty()) {
    return "nothing leaves a lane that was reset";
  }

  LaneAddress again_a, again_b;
  if (a.describe(again_a) != Errc::ok || b.describe(again_b) != Errc::ok) return "describes again";
  if (again_a.packet_numbers[0] == at_a.packet_numbers[0] &&
      again_b.packet_numbers[0] == at_b.packet_numbers[0]) {
    return "packet numbers are new each time";
  }
  if (b.post_receive(0, 200) != Errc::ok) return "takes receives again";
  if (a.connect(again_b) != Errc::ok || b.connect(again_a) != Errc::ok) return "connects again";
  if (a.post(notify) != Errc::ok || a.flush() != Errc::ok) return "takes work again";
  auto const later = collect(b, 1, p.wait);
  if (later.size() != 1 || later[0].id != 200) return "works again after a fence";
  return {};
}

}  // namespace vccl::contracts
