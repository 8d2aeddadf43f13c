// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What travels between two queue pairs: packets, their sequence numbers (PSN), the codes of
/// answers.

#include <vccl/op.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace vccl::soft {

class ComputedMemory;

// ---- Packet sequence numbers: 24 bits (IBTA vol. 1, 9.2.3: BTH.PSN) -----------------------------

inline constexpr std::uint32_t psn_mask = 0xff'ffff;
/// Half the numbers are "before", half "after" (IBTA vol. 1, 9.7.1).
inline constexpr std::uint32_t psn_half = 0x80'0000;

[[nodiscard]] constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint64_t n) noexcept {
  return static_cast<std::uint32_t>((psn + n) & psn_mask);
}
/// Steps from `from` forward to `to`, in [0, 2^24).
[[nodiscard]] constexpr std::uint32_t psn_distance(std::uint32_t from, std::uint32_t to) noexcept {
  return (to - from) & psn_mask;
}

/// Host order to network order and back (IBTA vol. 1, 9.2.7: ImmDt; big endian like all headers).
[[nodiscard]] constexpr std::uint32_t wire_order(std::uint32_t v) noexcept {
  if constexpr (std::endian::native == std::endian::big) return v;
  return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

// ---- Timers -------------------------------------------------------------------------------------

/// Local ACK timeout: 4.096 us x 2^code; 0 is for ever (IBTA vol. 1, 9.7.6.1.3).
[[nodiscard]] constexpr Duration ack_timeout(std::uint8_t code) noexcept {
  return Duration{std::int64_t{4'096} << (code & 31)};
}

/// RNR NAK timer field (IBTA vol. 1, 9.7.5.2.8, table of RNR NAK timer values), in units of 10 us.
[[nodiscard]] constexpr Duration rnr_timer(std::uint8_t code) noexcept {
  constexpr std::uint16_t tens_of_us[32] = {
      65'536 - 1, 1,     2,     3,     4,     6,      8,      12,     16,     24,    32,
      48,         64,    96,    128,   192,   256,    384,    512,    768,    1'024, 1'536,
      2'048,      3'072, 4'096, 6'144, 8'192, 12'288, 16'384, 24'576, 32'768, 49'152};
  std::uint8_t const n = code & 31;
  return Duration{(n == 0 ? 65'536 : std::int64_t{tens_of_us[n]}) * 10'000};
}

// ---- Packets ------------------------------------------------------------------------------------

/// What a packet asks or answers.
enum class Op : std::uint8_t { write, send, read_request, read_response, acknowledge };

/// What an acknowledge says (AETH syndromes, IBTA vol. 1, 9.7.5.1.1 and 9.7.5.2).
enum class Syndrome : std::uint8_t {
  ack,
  receiver_not_ready,
  sequence_error,
  invalid_request,
  access_error,
  operation_error,
};

/// Where the bytes of a packet are.
struct Payload {
  const std::byte* bytes = nullptr;          ///< Ordinary memory, when computed is null.
  ComputedMemory const* computed = nullptr;  ///< Content that follows from the offset.
  std::uint64_t offset = 0;                  ///< Within `computed`.
  std::uint64_t length = 0;

  [[nodiscard]] Payload part(std::uint64_t from, std::uint64_t n) const noexcept {
    return {bytes == nullptr ? nullptr : bytes + from, computed, offset + from, n};
  }
};

/// One packet, or a train of `count` packets with consecutive PSNs of one message.
struct Packet {
  Op op = Op::write;
  Traffic traffic = Traffic::data;
  Syndrome syndrome = Syndrome::ack;
  std::uint8_t rnr_code = 0;
  bool last = false;            ///< Holds the last packet of its message.
  bool has_immediate = false;   ///< With `last`.
  bool again = false;           ///< A retransmission.
  bool in_network = false;      ///< Left the sender's cable: what happens there cannot hurt it.
  std::uint32_t from_port = 0;  ///< Over all hosts.
  std::uint32_t to_port = 0;
  std::uint32_t from_gid = 0;
  std::uint32_t to_gid = 0;
  std::uint32_t from_qp = 0;
  std::uint32_t to_qp = 0;
  std::uint32_t psn = 0;  ///< Of the first; of an answer, the one that it is about.
  std::uint32_t count = 1;
  std::uint32_t immediate = 0;  ///< Network order.
  std::uint32_t key = 0;
  std::uint32_t from_downs = 0;  ///< How often the cables had been pulled when it left.
  std::uint32_t to_downs = 0;
  std::uint64_t remote = 0;   ///< Address of the first byte of this packet at the responder.
  std::uint64_t message = 0;  ///< Bytes of the whole message.
  std::uint64_t offset = 0;   ///< Of this packet in it.
  std::uint64_t mtu = 0;
  Payload payload;
  std::vector<std::byte> buffer;  ///< Holds the bytes of a packet that is under way for some time.
};

/// Packets by number. References stay good; memory is used again.
class PacketPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      packets_.emplace_back();
      return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    std::uint32_t const n = free_.back();
    free_.pop_back();
    return n;
  }
  void give_back(std::uint32_t n) {
    Packet& p = packets_[n];
    std::vector<std::byte> buffer = std::move(p.buffer);
    if (buffer.capacity() > keep) buffer = {};
    p = Packet{};
    p.buffer = std::move(buffer);
    free_.push_back(n);
  }
  [[nodiscard]] Packet& operator[](std::uint32_t n) noexcept { return packets_[n]; }
  [[nodiscard]] std::size_t in_use() const noexcept { return packets_.size() - free_.size(); }

 private:
  static constexpr std::size_t keep = 64 * 1024;
  std::deque<Packet> packets_;
  std::vector<std::uint32_t> free_;
};

}  // namespace vccl::soft
