// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What travels on a socket: a greeting each way, then messages. Read from bytes that may be
/// anything, cut anywhere; queued until the socket takes them. No I/O.

#include <vccl/transport/tcp/address.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace vccl::tcp {

inline constexpr std::size_t max_message = 4096;

/// The first thing that either side says. The caller names its pipe, so that a later connection
/// goes on with it; the answer repeats what was said.
struct Greeting {
  static constexpr std::uint32_t expected_magic = 0x5043'4356;  // "VCCP"
  static constexpr std::uint16_t expected_version = 1;
  enum class Kind : std::uint8_t {
    first = 1,  ///< Caller: this pipe was never welcomed.
    again,      ///< Caller: it was, and lost its connection.
    welcome,    ///< Door.
    gone,       ///< Door: nobody is at the other end of that pipe any more.
  };
  std::uint32_t magic = expected_magic;
  std::uint16_t version = expected_version;
  std::uint16_t bytes = 48;
  Kind kind = Kind::first;
  std::array<std::uint8_t, 3> reserved{};
  std::uint32_t attempt =
      0;  ///< Of the caller, counted from 1: a late one does not displace a new.
  Secret pipe{};
  Secret secret{};  ///< The door's.
};
static_assert(sizeof(Greeting) == 48 && std::is_trivially_copyable_v<Greeting>);

struct MessageHeader {
  static constexpr std::uint32_t expected_magic = 0x4d43'4356;  // "VCCM"
  std::uint32_t magic = expected_magic;
  std::uint32_t bytes = 0;  ///< 1 to 4096.
};
static_assert(sizeof(MessageHeader) == 8);

enum class Parsed : std::uint8_t {
  wait,  ///< Not whole yet.
  one,   ///< One was taken.
  bad,   ///< Neither now nor with what comes: drop the connection.
};

/// Bytes that came, in order. Holds two whole messages at most: what it has no room for stays with
/// the sender.
class Inbox {
 public:
  /// Where more may be put.
  [[nodiscard]] std::span<std::byte> room() noexcept {
    if (begin_ != 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return std::span{bytes_}.subspan(end_);
  }
  void filled(std::size_t n) noexcept { end_ += n; }

  /// What can be told from the first bytes is told from them.
  [[nodiscard]] Parsed greeting(Greeting& out) noexcept {
    static constexpr std::size_t checked = offsetof(Greeting, kind);
    if (size() < checked) return Parsed::wait;
    Greeting g;
    std::memcpy(static_cast<void*>(&g), bytes_.data() + begin_, checked);
    if (g.magic != Greeting::expected_magic || g.version != Greeting::expected_version ||
        g.bytes != sizeof g)
      return Parsed::bad;
    if (size() < sizeof g) return Parsed::wait;
    std::memcpy(&g, bytes_.data() + begin_, sizeof g);
    if (g.kind < Greeting::Kind::first || g.kind > Greeting::Kind::gone || g.attempt == 0)
      return Parsed::bad;
    begin_ += sizeof g;
    out = g;
    return Parsed::one;
  }

  /// Copies the oldest message, cut to the size of `into`, and its size there.
  [[nodiscard]] Parsed message(std::span<std::byte> into, std::size_t& n) noexcept {
    MessageHeader h;
    if (size() < sizeof h) return Parsed::wait;
    std::memcpy(&h, bytes_.data() + begin_, sizeof h);
    if (h.magic != MessageHeader::expected_magic || h.bytes == 0 || h.bytes > max_message)
      return Parsed::bad;
    if (size() < sizeof h + h.bytes) return Parsed::wait;
    n = std::min<std::size_t>(h.bytes, into.size());
    if (n != 0) std::memcpy(into.data(), bytes_.data() + begin_ + sizeof h, n);
    begin_ += sizeof h + h.bytes;
    return Parsed::one;
  }

 private:
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }

  std::array<std::byte, 2 * (sizeof(MessageHeader) + max_message)> bytes_;
  std::size_t begin_ = 0, end_ = 0;
};

/// Messages that wait for the socket: at most so many bytes, headers included.
class Outbox {
 public:
  /// @param capacity allocated once; room for a longest message at least
  explicit Outbox(std::size_t capacity)
      : bytes_(std::max(capacity, sizeof(MessageHeader) + max_message)) {}

  /// False when there is no room. @param message 1 to 4096 bytes
  [[nodiscard]] bool push(std::span<std::byte const> message) noexcept {
    MessageHeader const h{.bytes = static_cast<std::uint32_t>(message.size())};
    std::size_t const n = sizeof h + message.size();
    if (bytes_.size() - end_ < n && begin_ != 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      next_ -= begin_;
      begin_ = 0;
    }
    if (bytes_.size() - end_ < n) return false;
    std::memcpy(bytes_.data() + end_, &h, sizeof h);
    std::memcpy(bytes_.data() + end_ + sizeof h, message.data(), message.size());
    end_ += n;
    return true;
  }
  [[nodiscard]] std::span<std::byte const> unsent() const noexcept {
    return {bytes_.data() + next_, end_ - next_};
  }
  /// The socket took so many of them.
  void sent(std::size_t n) noexcept {
    next_ += n;
    while (begin_ < next_ && begin_ + first_bytes() <= next_) begin_ += first_bytes();
  }
  /// A new socket: the message that was cut off goes again, whole. The peer had no use for its
  /// part. Those that the old socket took whole may be lost; they never go again.
  void restart() noexcept { next_ = begin_; }

 private:
  [[nodiscard]] std::size_t first_bytes() const noexcept {
    MessageHeader h;
    std::memcpy(&h, bytes_.data() + begin_, sizeof h);
    return sizeof h + h.bytes;
  }

  std::vector<std::byte> bytes_;
  /// The first message that did not go whole, what goes next, and where the next is put.
  std::size_t begin_ = 0, next_ = 0, end_ = 0;
};

}  // namespace vccl::tcp
