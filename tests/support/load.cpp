// SPDX-License-Identifier: Apache-2.0
#include <support/load.hpp>

#include <vccl/transport/soft/clock.hpp>

#include <algorithm>

namespace vccl::test {

namespace {

std::uint64_t word(Owner owner, std::size_t step, std::size_t piece, std::size_t i) {
  std::uint64_t const base =
      soft::mix((static_cast<std::uint64_t>(owner) << 56) ^ (std::uint64_t{piece} << 48) ^ step);
  return base + i * 0x9e37'79b9'7f4a'7c15u;
}

std::size_t words(std::uint64_t bytes) { return static_cast<std::size_t>((bytes + 7) / 8); }

}  // namespace

std::size_t offset_of(std::vector<Piece> const& pieces, std::size_t r, bool source) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < r; ++i)
    at += (words(source ? pieces[i].send : pieces[i].receive) + 8) / 8 * 8;
  return at;
}

void fill(std::vector<std::uint64_t>& to, std::size_t at, std::uint64_t bytes, Owner owner,
          std::size_t step, std::size_t piece) {
  for (std::size_t i = 0; i < words(bytes); ++i) to[at + i] = word(owner, step, piece, i);
}

std::uint64_t wrong(std::vector<std::uint64_t> const& in, std::size_t at, std::uint64_t from,
                    std::uint64_t to, Owner owner, std::size_t step, std::size_t piece) {
  std::uint64_t n = 0;
  for (std::uint64_t b = from; b < to;) {
    std::size_t const i = static_cast<std::size_t>(b / 8);
    std::uint64_t const difference = in[at + i] ^ word(owner, step, piece, i);
    std::uint64_t const end = std::min<std::uint64_t>(to, (i + 1) * 8);
    if (difference == 0) {
      b = end;
      continue;
    }
    for (; b < end; ++b) n += (difference >> (b % 8 * 8) & 0xff) != 0 ? 1u : 0u;
  }
  return n;
}

Load Load::uniform(std::size_t steps, std::uint64_t bytes, std::size_t receives) {
  Load l;
  l.steps.assign(steps, std::vector<Piece>(receives, Piece{bytes, bytes}));
  return l;
}

Load Load::random(std::uint64_t seed, std::size_t steps, std::uint64_t bytes) {
  soft::Random random{seed};
  Load l;
  l.depth = 1 + random.below(32);
  for (std::size_t n = 0; n < steps; ++n) {
    auto& pieces = l.steps.emplace_back(random.below(4) != 0 ? 1 : 1 + random.below(max_receives));
    for (Piece& p : pieces) {
      p.receive = random.below(8) == 0 ? 0 : random.below(bytes + 1);
      p.send = random.below(4) == 0 ? random.below(p.receive + 1) : p.receive;
    }
  }
  return l;
}

}  // namespace vccl::test
