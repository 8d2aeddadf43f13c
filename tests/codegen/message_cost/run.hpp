// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The program whose instructions message_cost.py counts.

#include <vccl/op.hpp>

#include <codegen/ends.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace vccl::codegen {

/// The calls, each a function of its own: what is measured should not depend on how much of a call
/// fits into this one caller.
template <class Ends>
struct Calls {
  using Sender = decltype(Ends::sender);
  using Receiver = decltype(Ends::receiver);
  [[gnu::noinline]] static Request irecv(Receiver& r, std::span<RecvOp const> into) {
    return r.irecv(into);
  }
  [[gnu::noinline]] static Request isend(Sender& s, Memory const& from, Tag tag) {
    return s.isend(from, tag);
  }
  [[gnu::noinline]] static Result test_receive(Receiver& r, Request q) { return r.test(q); }
  [[gnu::noinline]] static Result test_send(Sender& s, Request q) { return s.test(q); }
};

/// `count` messages of a step of receives each, posted before the sends, each waited for.
template <class Ends>
void exchange(Ends& ends, std::span<Memory const> from, std::span<RecvOp const> into, long count) {
  using Call = Calls<Ends>;
  std::array<Request, max_receives> sent;
  while (count-- > 0) {
    Request const received = Call::irecv(ends.receiver, into);
    for (std::size_t i = 0; i < from.size(); ++i)
      sent[i] = Call::isend(ends.sender, from[i], into[i].tag);
    for (std::size_t i = 0; i < from.size(); ++i) {
      while (!Call::test_send(ends.sender, sent[i]).done) {
      }
    }
    while (!Call::test_receive(ends.receiver, received).done) {
    }
  }
}

/// <bytes of a receive> <receives of a step> <messages>. The exit status tells whether the bytes
/// came through.
template <class Ends>
int message_cost(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: message_cost <bytes> <receives> <messages>\n", stderr);
    return 2;
  }
  std::size_t const bytes = std::strtoul(argv[1], nullptr, 10);
  std::size_t const receives = std::strtoul(argv[2], nullptr, 10);
  auto const made = std::make_unique<Ends>();
  Ends& ends = *made;
  std::vector<std::byte> source(bytes * receives), target(bytes * receives);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251 + 1);
  std::vector<Memory> from;
  std::vector<RecvOp> into;
  for (std::size_t r = 0; r < receives; ++r) {
    from.push_back(ends.source({source.data() + r * bytes, bytes}));
    into.push_back(
        {ends.target({target.data() + r * bytes, bytes}), Tag{static_cast<unsigned>(r)}});
  }
  if (!ends.ready) return 1;
  exchange(ends, from, into, std::strtol(argv[3], nullptr, 10));
  return target == source ? 0 : 1;
}

}  // namespace vccl::codegen
