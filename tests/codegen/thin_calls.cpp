// SPDX-License-Identifier: Apache-2.0
// post() and poll() of an end without a backup, against the same calls on a lane that a connection
// written by hand owns. Both in front of a lane behind a function call (as a verbs library is) and
// of one that is compiled into the caller.
#include <archetypes/transport.hpp>
#include <vccl/connection.hpp>

#include <codegen/wire.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace vccl::codegen {
namespace {

/// A lane that compiles into its caller: a ring of requests, a ring of completions.
struct InlineLane : archetype::Transport {
  using archetype::Transport::Transport;

  Errc post(WorkRequest const& w) noexcept {
    if (posted - taken == requests.size()) return Errc::would_block;
    requests[posted++ % requests.size()] = w;
    return Errc::ok;
  }
  std::size_t poll(std::span<Completion> out) noexcept {
    std::size_t n = 0;
    while (n < out.size() && seen != finished) out[n++] = completions[seen++ % completions.size()];
    return n;
  }

  std::size_t posted = 0, taken = 0, finished = 0, seen = 0;
  std::array<WorkRequest, 64> requests{};
  std::array<Completion, 64> completions{};
};

/// Owns its lane where a Connection's ends do: behind the pointer to the memory of the records, on
/// a cache line of its own.
template <class Lane>
struct HandWritten {
  void* records;
  alignas(64) Lane lane;
};

template <class Lane>
using SenderOn = typename Connection<Lane>::Sender;
template <class Lane>
using ReceiverOn = typename Connection<Lane>::Receiver;
using Opaque = wire::Lane;

}  // namespace

extern "C" {

Errc ours_post(SenderOn<Opaque>& s, WorkRequest const& w) { return s.post(w); }
Errc bare_post(HandWritten<Opaque>& s, WorkRequest const& w) { return s.lane.post(w); }

std::size_t ours_poll(SenderOn<Opaque>& s, std::span<Completion> out) { return s.poll(out); }
std::size_t bare_poll(HandWritten<Opaque>& s, std::span<Completion> out) {
  return s.lane.poll(out);
}

Errc ours_post_inline(SenderOn<InlineLane>& s, WorkRequest const& w) { return s.post(w); }
Errc bare_post_inline(HandWritten<InlineLane>& s, WorkRequest const& w) { return s.lane.post(w); }

std::size_t ours_poll_inline(ReceiverOn<InlineLane>& r, std::span<Completion> out) {
  return r.poll(out);
}
std::size_t bare_poll_inline(HandWritten<InlineLane>& r, std::span<Completion> out) {
  return r.lane.poll(out);
}

/// Several requests behind one another, as a caller that knows them would post them.
Errc ours_post_two(SenderOn<Opaque>& s, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = 0; i < 2; ++i) {
    WorkRequest const w{.id = i, .local = from + i * 64, .length = 64, .remote = to + i * 64};
    if (Errc const e = s.post(w); e != Errc::ok) return e;
  }
  return Errc::ok;
}
Errc bare_post_two(HandWritten<Opaque>& s, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = 0; i < 2; ++i) {
    WorkRequest const w{.id = i, .local = from + i * 64, .length = 64, .remote = to + i * 64};
    if (Errc const e = s.lane.post(w); e != Errc::ok) return e;
  }
  return Errc::ok;
}

}  // extern "C"
}  // namespace vccl::codegen
