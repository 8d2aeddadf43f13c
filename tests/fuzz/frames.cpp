// SPDX-License-Identifier: Apache-2.0
// What comes on a socket of the TCP channel may be anything, cut anywhere.
#include <vccl/transport/tcp/frames.hpp>

#include <fuzz/fuzz.hpp>

#include <cstring>
#include <vector>

using namespace vccl;
using fuzz::must;

namespace {

/// What a connection made of its bytes.
struct Read {
  bool bad = false;
  std::vector<std::vector<std::byte>> messages;
  friend bool operator==(Read const&, Read const&) = default;
};

/// Reads all of `bytes` in pieces as `pieces` says, round and round; empty: as much as fits.
Read read(std::span<std::byte const> bytes, std::span<std::byte const> pieces, bool greets) {
  Read r;
  tcp::Inbox inbox;
  tcp::Greeting g;
  std::vector<std::byte> into(2 * tcp::max_message);
  for (std::size_t at = 0, turn = 0; !r.bad;) {
    std::span<std::byte> const room = inbox.room();
    std::size_t n = std::min(room.size(), bytes.size() - at);
    must(n != 0 || at == bytes.size());  // Or it would wait for ever.
    if (!pieces.empty()) {
      auto const most = std::to_integer<std::size_t>(pieces[turn++ % pieces.size()]);
      n = std::min(n, 1 + most * most);
    }
    if (n != 0) std::memcpy(room.data(), bytes.data() + at, n);
    inbox.filled(n);
    at += n;
    if (greets) {
      tcp::Parsed const parsed = inbox.greeting(g);
      r.bad = parsed == tcp::Parsed::bad;
      if (parsed == tcp::Parsed::one) {
        must(g.magic == tcp::Greeting::expected_magic && g.bytes == sizeof g && g.attempt != 0);
        must(g.version == tcp::Greeting::expected_version);
        greets = false;
      }
    }
    while (!greets && !r.bad) {
      std::size_t size = 0;
      tcp::Parsed const parsed = inbox.message(into, size);
      r.bad = parsed == tcp::Parsed::bad;
      if (parsed != tcp::Parsed::one) break;
      must(size >= 1 && size <= tcp::max_message);
      r.messages.emplace_back(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
    }
    if (at == bytes.size()) break;
  }
  return r;
}

/// What was read goes back into an outbox, and comes out the same.
void returns(Read const& r) {
  tcp::Outbox outbox{0};
  tcp::Inbox inbox;
  std::vector<std::byte> into(tcp::max_message);
  for (auto const& m : r.messages) {
    must(outbox.push(m));
    auto const unsent = outbox.unsent();
    must(inbox.room().size() >= unsent.size());
    std::memcpy(inbox.room().data(), unsent.data(), unsent.size());
    inbox.filled(unsent.size());
    outbox.sent(unsent.size());
    std::size_t size = 0;
    must(inbox.message(into, size) == tcp::Parsed::one);
    must(size == m.size() && std::memcmp(into.data(), m.data(), size) == 0);
  }
}

}  // namespace

/// One byte: greets or not, and how many of the next say how the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::span<std::byte const> const in = std::as_bytes(std::span{data, size});
  bool const greets = (data[0] & 0x80) != 0;
  std::size_t const cuts = std::min<std::size_t>(data[0] & 0x0f, size - 1);
  std::vector<std::byte> const bytes(in.begin() + 1 + static_cast<std::ptrdiff_t>(cuts), in.end());
  Read const whole = read(bytes, {}, greets);
  must(read(bytes, in.subspan(1, cuts), greets) == whole);
  // A byte at a time is slow.
  must(bytes.size() > 500 || read(bytes, std::vector<std::byte>(1), greets) == whole);
  returns(whole);
  return 0;
}
