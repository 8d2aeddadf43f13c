// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Reads and writes of records that a NIC may be writing at the same time: whole 8-byte words.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace vccl::detail {

/// One 64-byte element: what a NIC writes into, and what is checked before it is believed.
using Words = std::array<std::uint64_t, 8>;

/// Loads an element word by word. A word is never torn; the element may be: check it.
[[nodiscard, gnu::always_inline]] inline Words load_words(const void* from) noexcept {
  auto const* p = static_cast<const std::uint64_t*>(from);
  return [p]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return Words{__atomic_load_n(p + I, __ATOMIC_ACQUIRE)...};
  }(std::make_index_sequence<8>{});
}
template <class Record>
[[nodiscard]] inline Record load_record(const void* from) noexcept {
  static_assert(sizeof(Record) == 64 && std::is_trivially_copyable_v<Record>);
  return std::bit_cast<Record>(load_words(from));
}

/// Stores an element word by word.
[[gnu::always_inline]] inline void store_words(void* to, Words const& w) noexcept {
  auto* p = static_cast<std::uint64_t*>(to);
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (__atomic_store_n(p + I, w[I], __ATOMIC_RELAXED), ...);
  }(std::make_index_sequence<8>{});
}
template <class Record>
inline void store_record(void* to, Record const& r) noexcept {
  static_assert(sizeof(Record) == 64 && std::is_trivially_copyable_v<Record>);
  store_words(to, std::bit_cast<Words>(r));
}

/// 32-bit checksum of an element whose last four bytes (little endian: the upper half of the last
/// word) hold it. Multiply-and-rotate over words: enough to tell an element that is half old, half
/// new; not a defence against forgery.
[[nodiscard]] constexpr std::uint32_t check_of(Words const& w) noexcept {
  std::uint64_t h = 0x9e37'79b9'7f4a'7c15;
  for (std::size_t i = 0; i < 7; ++i) h = std::rotl(h ^ w[i], 23) * 0xff51'afd7'ed55'8ccd;
  h = std::rotl(h ^ (w[7] & 0xffff'ffff), 23) * 0xff51'afd7'ed55'8ccd;
  return static_cast<std::uint32_t>(h >> 32);
}

template <class Record>
[[nodiscard]] constexpr std::uint32_t check_of(Record const& r) noexcept {
  return check_of(std::bit_cast<Words>(r));
}

}  // namespace vccl::detail
