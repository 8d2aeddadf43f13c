// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The records that ends write into each other's memory, and the 32 bits of a notify.
///
/// All are self-validating, because a polled record can be seen half written: 64-byte elements,
/// each with its step or sequence, its epoch and a checksum. Little endian, as the GPUs and hosts
/// served are.

#include <vccl/detail/words.hpp>
#include <vccl/op.hpp>
#include <vccl/sync/message.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace vccl::detail {

static_assert(std::endian::native == std::endian::little, "records are little endian");

/// Steps that may be announced and not yet received. Far below half of the immediate's 16 bits.
inline constexpr std::size_t window = 64;

// ---- Immediate

/// [epoch 8, step 16, part 8]: of the part, bit 7 says that the sizes are those posted (no size
/// record was written), bits 0 to 3 are the part's index.
struct Notify {
  std::uint8_t epoch = 0;
  std::uint16_t step = 0;
  std::uint8_t part = 0;
  bool exact = false;
};

[[nodiscard]] constexpr std::uint32_t pack(Notify n) noexcept {
  return std::uint32_t{n.epoch} << 24 | std::uint32_t{n.step} << 8 | (n.exact ? 0x80u : 0u) |
         (n.part & 0x0fu);
}

[[nodiscard]] constexpr Notify unpack(std::uint32_t v) noexcept {
  return {static_cast<std::uint8_t>(v >> 24), static_cast<std::uint16_t>(v >> 8),
          static_cast<std::uint8_t>(v & 0x0f), (v & 0x80) != 0};
}

// ---- CTS: where the receiver wants a step, one element per receive

/// A remote key per lane, two in a word: copied as words, read one at a time.
class LaneKeys {
 public:
  constexpr LaneKeys() = default;
  constexpr LaneKeys(std::uint64_t first_two, std::uint64_t last_two) noexcept
      : words_{first_two, last_two} {}
  [[nodiscard]] std::uint32_t operator[](std::size_t lane) const noexcept {
    std::uint32_t key;
    std::memcpy(&key, reinterpret_cast<const std::byte*>(words_.data()) + lane * sizeof key,
                sizeof key);
    return key;
  }
  /// A buffer's keys on a path.
  constexpr explicit LaneKeys(std::array<Keys, max_lanes> const& of) noexcept
      : words_{std::uint64_t{of[1].remote} << 32 | of[0].remote,
               std::uint64_t{of[3].remote} << 32 | of[2].remote} {}
  [[nodiscard]] constexpr std::uint64_t word(std::size_t i) const noexcept { return words_[i]; }

 private:
  std::array<std::uint64_t, max_lanes / 2> words_{};
};

struct CtsElement {
  Step step = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  Step confirmed = 0;  ///< The receiver has all below this step, flushed.
  LaneKeys keys{};
  Tag tag{};
  Epoch epoch = 0;
  std::uint8_t count = 0;  ///< Receives in this step.
  std::uint8_t index = 0;
  std::uint8_t needs_confirm = 0;
  std::uint8_t reserved = 0;
  std::uint32_t check = 0;
};
static_assert(sizeof(CtsElement) == 64);

/// What a bit_cast makes of an element, field by field: so it is made and checked in registers,
/// where a bit_cast goes through memory. One is written and one read per receive.
[[nodiscard]] constexpr Words to_words(CtsElement const& e) noexcept {
  auto const pair = [](std::uint32_t low, std::uint32_t high) {
    return std::uint64_t{high} << 32 | low;
  };
  return {e.step,
          e.address,
          e.length,
          e.confirmed,
          e.keys.word(0),
          e.keys.word(1),
          pair(static_cast<std::uint32_t>(e.tag), e.epoch),
          pair(std::uint32_t{e.reserved} << 24 | std::uint32_t{e.needs_confirm} << 16 |
                   std::uint32_t{e.index} << 8 | e.count,
               e.check)};
}
[[nodiscard]] constexpr CtsElement to_cts(Words const& w) noexcept {
  auto const low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  auto const high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  return {.step = w[0],
          .address = w[1],
          .length = w[2],
          .confirmed = w[3],
          .keys = {w[4], w[5]},
          .tag = Tag{low(w[6])},
          .epoch = high(w[6]),
          .count = static_cast<std::uint8_t>(w[7]),
          .index = static_cast<std::uint8_t>(w[7] >> 8),
          .needs_confirm = static_cast<std::uint8_t>(w[7] >> 16),
          .reserved = static_cast<std::uint8_t>(w[7] >> 24),
          .check = high(w[7])};
}

/// Writes an element with its checksum.
inline void write_cts(CtsElement& to, CtsElement const& e) noexcept {
  Words w = to_words(e);
  w[7] |= std::uint64_t{check_of(w)} << 32;
  store_words(&to, w);
}

/// Reads the element of receive `index` of a step. False when it is not there, or not whole.
[[nodiscard]] inline bool read_cts(CtsElement const& from, Step step, std::size_t index,
                                   Epoch epoch, CtsElement& out) noexcept {
  if (__atomic_load_n(&from.step, __ATOMIC_RELAXED) != step) return false;
  Words const w = load_words(&from);
  out = to_cts(w);
  return out.step == step && out.epoch == epoch && out.index == index && out.count != 0 &&
         out.count <= max_receives && out.check == check_of(w);
}

/// The same for the one element of a step of one receive that needs no confirmation: the common
/// one, told from all others by a single compare. False also when it is another.
[[nodiscard, gnu::always_inline]] inline bool read_plain_cts(CtsElement const& from, Step step,
                                                             Epoch epoch,
                                                             CtsElement& out) noexcept {
  if (__atomic_load_n(&from.step, __ATOMIC_RELAXED) != step) return false;
  Words const w = load_words(&from);
  out = to_cts(w);
  bool const plain = static_cast<std::uint32_t>(w[7]) == 1;  // count 1, and all else 0.
  return plain && out.step == step && out.epoch == epoch && out.check == check_of(w);
}

/// The ring at the sender that a path's CTS go into.
struct CtsSlot {
  alignas(64) std::array<CtsElement, max_receives> elements;
};

/// What the newest CTS of an epoch confirms, from step `s` on; `otherwise` when there is none.
[[nodiscard]] inline Step newest_confirmed(std::array<CtsSlot, window> const& ring, Step s,
                                           Epoch epoch, Step otherwise) noexcept {
  CtsElement cts;
  for (std::size_t n = 0; n < window; ++n, ++s) {
    if (!read_cts(ring[s % window].elements[0], s, 0, epoch, cts)) break;
    otherwise = cts.confirmed;
  }
  return otherwise;
}

// ---- Sizes: what the sender really sent, where it is not what was posted

struct SizeElement {
  static constexpr std::size_t per_element = 5;
  Step step = 0;
  std::array<std::uint64_t, per_element> sizes{};
  Epoch epoch = 0;
  std::uint8_t parts = 0;
  std::uint8_t count = 0;
  std::uint8_t too_long =
      0;  ///< Bit per receive of the whole step: longer than posted, not written.
  std::uint8_t reserved = 0;
  std::uint32_t reserved2 = 0;
  std::uint32_t check = 0;
};
static_assert(sizeof(SizeElement) == 64);

struct SizeSlot {
  alignas(64) std::array<SizeElement, 2> elements;
};
[[nodiscard]] constexpr std::size_t size_elements(std::size_t count) noexcept {
  return count > SizeElement::per_element ? 2 : 1;
}

/// Writes a size record: `head` in every element, and `size_of(receive)` for each receive. Returns
/// the bytes to send.
template <class SizeOf>
std::size_t write_size_record(SizeSlot& to, SizeElement const& head, SizeOf size_of) noexcept {
  std::size_t const n = size_elements(head.count);
  for (std::size_t i = 0; i < n; ++i) {
    SizeElement e = head;
    for (std::size_t k = 0, r = i * e.per_element; k < e.per_element && r < e.count; ++k, ++r)
      e.sizes[k] = size_of(r);
    e.check = check_of(e);
    store_record(&to.elements[i], e);
  }
  return n * sizeof(SizeElement);
}

// ---- Control: the latest state of an end

/// A message with the addresses of the path that it arms, as it travels in band and out of band.
struct ControlFrame {
  sync::Message message;
  std::uint64_t lanes = 0;  ///< How many addresses count.
  std::array<LaneAddress, max_lanes> addresses{};
};
static_assert(std::is_trivially_copyable_v<ControlFrame>);

struct ControlElement {
  static constexpr std::size_t payload = 48;
  std::uint32_t sequence = 0;
  std::uint16_t index = 0;
  std::uint16_t total = 0;
  std::array<std::byte, payload> bytes{};
  std::uint32_t reserved = 0;
  std::uint32_t check = 0;
};
static_assert(sizeof(ControlElement) == 64);

inline constexpr std::size_t control_elements =
    (sizeof(ControlFrame) + ControlElement::payload - 1) / ControlElement::payload;

struct ControlRecord {
  alignas(64) std::array<ControlElement, control_elements> elements;
};

/// Room for a probe: the control record, then filler up to the largest RoCE path MTU.
inline constexpr std::size_t probe_bytes = 4096;

/// Bytes of a frame that carry something.
[[nodiscard]] constexpr std::size_t frame_bytes(ControlFrame const& f) noexcept {
  return offsetof(ControlFrame, addresses) + f.lanes * sizeof(LaneAddress);
}

/// Writes a frame into a record. Returns the bytes to send.
inline std::size_t write_control(ControlRecord& to, ControlFrame const& f) noexcept {
  std::size_t const bytes = frame_bytes(f);
  std::size_t const total = (bytes + ControlElement::payload - 1) / ControlElement::payload;
  auto const* from = reinterpret_cast<const std::byte*>(&f);
  for (std::size_t i = 0; i < total; ++i) {
    ControlElement e;
    e.sequence = f.message.sequence;
    e.index = static_cast<std::uint16_t>(i);
    e.total = static_cast<std::uint16_t>(total);
    std::size_t const at = i * ControlElement::payload;
    std::memcpy(e.bytes.data(), from + at,
                bytes - at < ControlElement::payload ? bytes - at : ControlElement::payload);
    e.check = check_of(e);
    store_record(&to.elements[i], e);
  }
  return total * sizeof(ControlElement);
}

/// Reads a frame. False when no whole one is there: half written, or not written yet.
inline bool read_control(ControlRecord const& from, ControlFrame& out) noexcept {
  auto const first = load_record<ControlElement>(&from.elements[0]);
  if (first.check != check_of(first) || first.total == 0 || first.total > control_elements)
    return false;
  ControlFrame f;
  auto* to = reinterpret_cast<std::byte*>(&f);
  for (std::size_t i = 0; i < first.total; ++i) {
    auto const e = load_record<ControlElement>(&from.elements[i]);
    if (e.check != check_of(e) || e.sequence != first.sequence || e.index != i ||
        e.total != first.total)
      return false;
    std::size_t const at = i * ControlElement::payload;
    std::size_t const left = sizeof f - at;
    std::memcpy(to + at, e.bytes.data(),
                left < ControlElement::payload ? left : ControlElement::payload);
  }
  if (f.lanes > max_lanes || frame_bytes(f) > first.total * ControlElement::payload) return false;
  out = f;
  return true;
}

// ---- How a message is split over the QPs of a path

/// Below this many bytes per QP a message is not split further: the cost of a second notify
/// outweighs what a second queue brings.
inline constexpr std::uint64_t min_part = 32 * 1024;

/// Number of parts of a step of `bytes` over `qps` queues; the same at both ends.
[[nodiscard]] constexpr std::uint8_t parts_of(std::uint64_t bytes, std::size_t qps) noexcept {
  if (qps == 1 || bytes < 2 * min_part) return 1;
  std::uint64_t const wanted = bytes / min_part;
  return static_cast<std::uint8_t>(wanted < qps ? wanted : qps);
}

/// Bytes of each part but the last of one receive: 128-byte aligned.
[[nodiscard]] constexpr std::uint64_t part_stride(std::uint64_t bytes,
                                                  std::uint8_t parts) noexcept {
  if (parts == 1) return bytes;
  std::uint64_t const each = (bytes + parts - 1) / parts;
  return (each + 127) / 128 * 128;
}

/// What one path's records need at an end: what the peer writes, and where ours are made. The
/// layout is the same at both ends, so a record's place at the peer follows from its place here.
struct PathBlock {
  std::array<CtsSlot, window> cts;     ///< Receiver: made here. Sender: arrive here.
  std::array<SizeSlot, window> sizes;  ///< Sender: made here. Receiver: arrive here.
  alignas(64) std::array<std::byte, probe_bytes> control_in;
  alignas(64) std::array<std::byte, probe_bytes> control_out;
};

}  // namespace vccl::detail
