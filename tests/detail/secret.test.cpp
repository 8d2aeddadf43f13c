// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/secret.hpp>

#include <doctest/doctest.h>

using namespace vccl::detail;

TEST_CASE("secrets are the same when every bit is") {
  Secret const a{0x0123'4567'89ab'cdef, 0xfedc'ba98'7654'3210};
  CHECK(same_secret(a, a));
  CHECK(same_secret({}, {}));
  for (std::size_t word = 0; word < 2; ++word) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      Secret b = a;
      b[word] ^= std::uint64_t{1} << bit;
      CAPTURE(bit);
      CHECK_FALSE(same_secret(a, b));
    }
  }
  // A difference in one word does not undo that in the other.
  CHECK_FALSE(same_secret({1, 2}, {2, 1}));
}
