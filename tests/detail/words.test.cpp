// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/words.hpp>

#include <doctest/doctest.h>

using namespace vccl::detail;

namespace {
Words sample() {
  Words w{};
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0x0123'4567'89ab'cdef * (i + 1);
  return w;
}
}  // namespace

TEST_CASE("a record that is stored and loaded is the same") {
  Words const in = sample();
  alignas(8) Words place{};
  store_record(&place, in);
  CHECK(load_record<Words>(&place) == in);
}

TEST_CASE("the checksum changes with every bit of the element but its own") {
  Words const w = sample();
  std::uint32_t const check = check_of(w);
  for (std::size_t bit = 0; bit < 512; ++bit) {
    Words changed = w;
    changed[bit / 64] ^= std::uint64_t{1} << bit % 64;
    CAPTURE(bit);
    if (bit < 480) {
      CHECK(check_of(changed) != check);
    } else {
      CHECK(check_of(changed) == check);  // The last four bytes hold the checksum itself.
    }
  }
}

TEST_CASE("an element that is half old and half new is told from both, at every cut") {
  Words const old = sample();
  Words fresh = old;
  for (auto& v : fresh) v = v * 3 + 1;
  auto const seal = [](Words w) {
    w[7] = (w[7] & 0xffff'ffff) | std::uint64_t{check_of(w)} << 32;
    return w;
  };
  Words const a = seal(old);
  Words const b = seal(fresh);
  for (std::size_t cut = 1; cut < 8; ++cut) {
    Words torn = a;
    for (std::size_t i = 0; i < cut; ++i) torn[i] = b[i];
    CAPTURE(cut);
    CHECK(check_of(torn) != static_cast<std::uint32_t>(torn[7] >> 32));
  }
}
