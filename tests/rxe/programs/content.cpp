// SPDX-License-Identifier: Apache-2.0
#include <programs/content.hpp>

#include <fmt/format.h>

namespace worker {

void Ledger::take(std::span<std::byte const> in, std::uint64_t expected, std::uint64_t size) {
  ++taken_;
  bytes_ += in.size();
  std::uint64_t number = expected;  // what is too short to tell is what should come
  if (in.size() >= 8) {
    std::memcpy(&number, in.data(), 8);
    number ^= number_mask;
  }
  if (number > taken_ + 1'000'000)
    return note(fmt::format("message {}: bytes of no message", expected));
  if (number >= deliveries_.size()) deliveries_.resize(number + 1);
  if (deliveries_[number] < 255) ++deliveries_[number];
  if (number != expected)
    return note(fmt::format("message {} came as number {}", number, expected));
  if (in.size() != size)
    return note(fmt::format("message {} has {} bytes, expected {}", expected, in.size(), size));
  std::size_t const wrong = first_wrong(in, Owner::message, expected);
  if (wrong != in.size()) note(fmt::format("message {}: byte {} is wrong", expected, wrong));
}

void Ledger::settle(std::uint64_t count) {
  if (deliveries_.size() > count)
    note(fmt::format("message {} was delivered and not sent", deliveries_.size() - 1));
  deliveries_.resize(count);
  for (std::uint64_t n = 0; n < count; ++n) {
    if (deliveries_[n] != 1)
      note(fmt::format("message {} was delivered {} times", n, deliveries_[n]));
  }
}

}  // namespace worker
