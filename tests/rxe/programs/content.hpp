// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Bytes that tell whose they are, and the account of what was delivered.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace worker {

/// Whose bytes stand in a buffer.
enum class Owner : std::uint64_t { message = 1, released, consumed };

/// The first word of a message gives its number away.
inline constexpr std::uint64_t number_mask = 0x5a3c'96e1'0f78'd2b4;
inline constexpr std::uint64_t end_mark = 0xe4d0'f7a1'3b5c'8269;
inline constexpr std::uint64_t end_message_bytes = 24;

[[nodiscard]] constexpr std::uint64_t word_of(Owner owner, std::uint64_t message,
                                              std::uint64_t at) noexcept {
  if (owner != Owner::message) return static_cast<std::uint64_t>(owner) * 0x0101'0101'0101'0101;
  if (at == 0) return message ^ number_mask;
  return (message + 1) * 0x9e37'79b9'7f4a'7c15 + at * 0xd1b5'4a32'd192'ed03;
}

/// Calls `f(offset, bytes, word)` for each word of a buffer; the last one may be cut.
template <class F>
void each_word(std::size_t size, Owner owner, std::uint64_t message, F f) {
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) f(at, std::size_t{8}, word_of(owner, message, at / 8));
  if (at < size) f(at, size - at, word_of(owner, message, at / 8));
}

inline void fill(std::span<std::byte> to, Owner owner, std::uint64_t message) {
  each_word(to.size(), owner, message, [&](std::size_t at, std::size_t n, std::uint64_t word) {
    std::memcpy(to.data() + at, &word, n);
  });
}

/// Where the first byte is that is not the owner's; the size when there is none.
[[nodiscard]] inline std::size_t first_wrong(std::span<std::byte const> in, Owner owner,
                                             std::uint64_t message) {
  std::size_t wrong = in.size();
  each_word(in.size(), owner, message, [&](std::size_t at, std::size_t n, std::uint64_t word) {
    if (wrong == in.size() && std::memcmp(in.data() + at, &word, n) != 0) wrong = at;
  });
  return wrong;
}

/// The last message says how many came before it.
inline void fill_end(std::span<std::byte> to, std::uint64_t count) {
  std::uint64_t const words[] = {end_mark, count, ~count};
  static_assert(sizeof words == end_message_bytes);
  std::memcpy(to.data(), words, sizeof words);
}
[[nodiscard]] inline bool is_end(std::span<std::byte const> in, std::uint64_t& count) {
  std::uint64_t words[3];
  if (in.size() != sizeof words) return false;
  std::memcpy(words, in.data(), sizeof words);
  count = words[1];
  return words[0] == end_mark && words[2] == ~count;
}

/// What the consumer was given: each message must end at exactly one delivery, in order.
class Ledger {
 public:
  /// Takes message `expected`; `in` should have `size` bytes and its content.
  void take(std::span<std::byte const> in, std::uint64_t expected, std::uint64_t size);
  /// At the end: `count` messages were sent.
  void settle(std::uint64_t count);

  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string const& problem() const noexcept { return problem_; }
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

 private:
  std::vector<std::uint8_t> deliveries_;  ///< By message.
  std::uint64_t taken_ = 0;
  std::uint64_t bytes_ = 0;
  std::string problem_;  ///< The first one.
};

}  // namespace worker
