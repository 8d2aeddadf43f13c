// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/records.hpp>

#include <doctest/doctest.h>

using namespace vccl;
using namespace vccl::detail;

TEST_CASE(
    "a notify's immediate carries epoch, step, part and exactness, at the edges of each field") {
  for (std::uint32_t epoch : {0u, 1u, 127u, 255u}) {
    for (std::uint32_t step : {0u, 1u, 0x7fffu, 0xffffu}) {
      for (std::uint32_t part : {0u, 1u, 15u}) {
        for (bool exact : {false, true}) {
          Notify const n{static_cast<std::uint8_t>(epoch), static_cast<std::uint16_t>(step),
                         static_cast<std::uint8_t>(part), exact};
          Notify const back = unpack(pack(n));
          CHECK(back.epoch == n.epoch);
          CHECK(back.step == n.step);
          CHECK(back.part == n.part);
          CHECK(back.exact == n.exact);
        }
      }
    }
  }
}

TEST_CASE("the window stays far below half of the immediate's step field") {
  CHECK(window < (1u << 15) / 4);
}

TEST_CASE("parts cover a message exactly once, 128-byte aligned, whatever its size") {
  for (std::size_t qps : {1u, 2u, 3u, 4u, 16u}) {
    for (std::uint64_t bytes : std::initializer_list<std::uint64_t>{
             0, 1, 127, 128, 129, 2 * min_part - 1, 2 * min_part, 2 * min_part + 1,
             10 * min_part + 77, (std::uint64_t{4} << 30) + 1}) {
      std::uint8_t const parts = parts_of(bytes, qps);
      std::uint64_t const stride = part_stride(bytes, parts);
      CAPTURE(qps);
      CAPTURE(bytes);
      REQUIRE(parts >= 1);
      CHECK(parts <= qps);
      if (parts > 1) CHECK(stride % 128 == 0);
      std::uint64_t covered = 0;
      for (std::uint8_t k = 0; k < parts; ++k) {
        std::uint64_t const from = k * stride < bytes ? k * stride : bytes;
        std::uint64_t const to = (k + 1u) * stride < bytes ? (k + 1u) * stride : bytes;
        CHECK(from == covered);
        covered = to;
        if (bytes >= 2 * min_part) CHECK(to > from);  // No part of a large message is empty.
      }
      CHECK(covered == bytes);
    }
  }
}

namespace {
ControlFrame sample(std::uint32_t sequence, std::uint64_t lanes) {
  ControlFrame f;
  f.message.session = 77;
  f.message.sequence = sequence;
  f.message.position = 1234567890123;
  f.message.epoch = 9;
  f.lanes = lanes;
  for (std::size_t l = 0; l < lanes && l < max_lanes; ++l) {
    f.addresses[l].gid[3] = static_cast<std::uint8_t>(l + sequence);
    f.addresses[l].qp_numbers[1] = 0xabcdefu + static_cast<std::uint32_t>(l);
  }
  return f;
}
}  // namespace

TEST_CASE("a control frame comes back as it was written, with and without addresses") {
  for (std::uint64_t lanes = 0; lanes <= max_lanes; ++lanes) {
    ControlRecord r{};
    std::size_t const bytes = write_control(r, sample(5, lanes));
    CHECK(bytes <= sizeof r);
    CHECK(bytes % 64 == 0);
    ControlFrame back;
    REQUIRE(read_control(r, back));
    CHECK(back.message == sample(5, lanes).message);
    CHECK(back.lanes == lanes);
    for (std::size_t l = 0; l < lanes; ++l)
      CHECK(back.addresses[l] == sample(5, lanes).addresses[l]);
  }
}

TEST_CASE("a record that nobody wrote, or that is half written, is not read") {
  ControlRecord r{};
  ControlFrame out;
  CHECK_FALSE(read_control(r, out));
  ControlRecord old{};
  ControlRecord fresh{};
  write_control(old, sample(5, max_lanes));
  write_control(fresh, sample(6, max_lanes));
  for (std::size_t cut = 1; cut < control_elements; ++cut) {
    ControlRecord torn = old;
    for (std::size_t i = 0; i < cut; ++i) torn.elements[i] = fresh.elements[i];
    CAPTURE(cut);
    CHECK_FALSE(read_control(torn, out));
  }
}

TEST_CASE("no flipped bit in a control record is taken for a frame") {
  ControlRecord good{};
  std::size_t const bytes = write_control(good, sample(5, 2));
  for (std::size_t i = 0; i < bytes; ++i) {
    ControlRecord bad = good;
    reinterpret_cast<std::uint8_t*>(&bad)[i] ^= 0x10;
    ControlFrame out;
    CAPTURE(i);
    CHECK_FALSE(read_control(bad, out));
  }
}

TEST_CASE("five sizes fit one element, eight need two") {
  CHECK(size_elements(1) == 1);
  CHECK(size_elements(5) == 1);
  CHECK(size_elements(6) == 2);
  CHECK(size_elements(max_receives) == 2);
}
