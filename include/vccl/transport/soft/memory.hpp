// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Memory as a NIC sees it: registered regions and their keys, buffers larger than RAM, device
/// memory.

#include <vccl/op.hpp>
#include <vccl/transport/soft/clock.hpp>
#include <vccl/transport/soft/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace vccl::soft {

// ---- Computed memory: content follows from seed and offset --------------------------------------

/// Bytes 8i to 8i+7 of the content, first byte lowest.
[[nodiscard]] constexpr std::uint64_t content_word(std::uint64_t seed, std::uint64_t i) noexcept {
  return mix(seed ^ (i * 0x9e3779b97f4a7c15u));
}
[[nodiscard]] constexpr std::byte content_byte(std::uint64_t seed, std::uint64_t offset) noexcept {
  return static_cast<std::byte>(content_word(seed, offset / 8) >> (offset % 8 * 8));
}
/// Writes the content of [offset, offset + n) to `to`.
inline void fill_content(std::uint64_t seed, std::uint64_t offset, std::byte* to,
                         std::uint64_t n) noexcept {
  std::uint64_t i = 0;
  for (; i < n && (offset + i) % 8 != 0; ++i) to[i] = content_byte(seed, offset + i);
  for (; i + 8 <= n; i += 8) {
    std::uint64_t w = content_word(seed, (offset + i) / 8);
    for (std::uint64_t k = 0; k < 8; ++k, w >>= 8) to[i + k] = static_cast<std::byte>(w);
  }
  for (; i < n; ++i) to[i] = content_byte(seed, offset + i);
}

/// A buffer that takes no room. What is written to it is compared with what it should hold.
class ComputedMemory {
 public:
  static constexpr std::uint64_t granule = 1 << 20;  ///< Coverage is counted per MiB.

  ComputedMemory(std::uint64_t base, std::uint64_t length, std::uint64_t seed)
      : base_{base}, length_{length}, seed_{seed}, covered_((length + granule - 1) / granule) {}

  [[nodiscard]] std::uint64_t base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t length() const noexcept { return length_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return written_; }
  [[nodiscard]] std::uint64_t wrong_bytes() const noexcept { return wrong_; }
  /// Bytes written to MiB number `i`, over all time: its size when it was written once.
  [[nodiscard]] std::uint64_t written_to(std::uint64_t i) const noexcept { return covered_[i]; }
  [[nodiscard]] std::uint64_t granules() const noexcept { return covered_.size(); }

  void write(std::uint64_t offset, Payload const& p) noexcept {
    written_ += p.length;
    for (std::uint64_t at = offset, left = p.length; left > 0;) {
      std::uint64_t const n = std::min(left, granule - at % granule);
      covered_[at / granule] += n;
      at += n;
      left -= n;
    }
    if (p.computed != nullptr && p.computed->seed_ == seed_ && p.offset == offset) return;
    for (std::uint64_t i = 0; i < p.length; ++i) {
      std::byte const got =
          p.computed != nullptr ? content_byte(p.computed->seed_, p.offset + i) : p.bytes[i];
      wrong_ += got != content_byte(seed_, offset + i) ? 1u : 0u;
    }
  }

 private:
  std::uint64_t base_;
  std::uint64_t length_;
  std::uint64_t seed_;
  std::uint64_t written_ = 0;
  std::uint64_t wrong_ = 0;
  std::vector<std::uint64_t> covered_;
};

/// Copies word by word, as a NIC writes: a polled record may be seen half written, a word never is.
inline void copy_words(std::byte* to, std::byte const* from, std::uint64_t bytes) noexcept {
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    auto const* f = reinterpret_cast<std::uint64_t const*>(from + i);
    auto* t = reinterpret_cast<std::uint64_t*>(to + i);
    __atomic_store_n(t, __atomic_load_n(f, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
  }
}

/// What may be a record that somebody polls, by its size and alignment. Larger or odd ones are
/// payload: whoever reads that waits for a completion.
[[nodiscard]] inline bool may_be_record(void const* to, void const* from,
                                        std::uint64_t bytes) noexcept {
  return bytes <= 4096 && bytes % 8 == 0 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(from) % 8 == 0;
}

/// Copies a payload to ordinary memory.
inline void copy_payload(std::byte* to, Payload const& p) noexcept {
  if (p.length == 0) return;
  if (p.computed != nullptr) {
    fill_content(p.computed->seed(), p.offset, to, p.length);
  } else if (may_be_record(to, p.bytes, p.length)) {
    copy_words(to, p.bytes, p.length);
  } else {
    std::memcpy(to, p.bytes, p.length);
  }
}

// ---- Regions and keys ---------------------------------------------------------------------------

/// One registration on one port, or on the ports of one card.
struct Region {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t port = 0;   ///< The first, over all hosts.
  std::uint32_t ports = 1;  ///< How many from there on.
  std::uint32_t generation = 0;
  bool live = false;
  bool remote_write = false;
  bool remote_read = false;
  bool relaxed = false;  ///< See LooseWrites.
  MemoryKind kind = MemoryKind::host;
  ComputedMemory* computed = nullptr;

  [[nodiscard]] bool covers(std::uint64_t a, std::uint64_t n) const noexcept {
    return a >= address && n <= length && a - address <= length - n;
  }
};

/// All registrations of a fabric. A key names one registration on one port of one host; no two keys
/// are equal, local and remote ones neither, and a key is not given out again soon.
class RegionTable {
 public:
  Keys add(Region region) {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(regions_.size());
      regions_.emplace_back();
    } else {
      slot = free_.front();  // the one unused longest, so that stale keys stay invalid for long
      free_.pop_front();
    }
    region.generation = regions_[slot].generation + 1;
    region.live = true;
    regions_[slot] = region;
    std::uint32_t const plain = ((region.generation & 0x7ff) << 21) | (slot << 1);
    return {scramble(plain), region.remote_write || region.remote_read ? scramble(plain | 1) : 0};
  }
  /// Gives up a registration; one that remove_all() has taken is no more.
  void remove(Keys keys) {
    std::uint32_t const plain = unscramble(keys.local);
    Region& r = regions_[slot_of(plain)];
    if (!r.live || (r.generation & 0x7ff) != plain >> 21) return;
    r.live = false;
    free_.push_back(slot_of(plain));
  }
  /// Gives up every registration on ports [from, to).
  void remove_all(std::size_t from, std::size_t to) {
    for (std::uint32_t slot = 0; slot < regions_.size(); ++slot) {
      Region& r = regions_[slot];
      if (!r.live || r.port < from || r.port >= to) continue;
      r.live = false;
      free_.push_back(slot);
    }
  }
  /// The region of a local key on that port, or null.
  [[nodiscard]] Region* local(std::uint32_t key, std::uint32_t port) noexcept {
    return find(key, port, 0);
  }
  /// The region of a remote key on that port, or null.
  [[nodiscard]] Region* remote(std::uint32_t key, std::uint32_t port) noexcept {
    return find(key, port, 1);
  }
  [[nodiscard]] std::size_t live() const noexcept { return regions_.size() - free_.size(); }

 private:
  // Multiplying by an odd number is a bijection of 32 bits; these two are each other's inverse.
  static constexpr std::uint32_t factor = 0x9e3779b1u;
  static constexpr std::uint32_t inverse = [] {
    std::uint32_t x = factor;
    for (int i = 0; i < 5; ++i) x *= 2 - factor * x;
    return x;
  }();
  static constexpr std::uint32_t scramble(std::uint32_t v) noexcept { return v * factor; }
  static constexpr std::uint32_t unscramble(std::uint32_t v) noexcept { return v * inverse; }
  static constexpr std::uint32_t slot_of(std::uint32_t plain) noexcept {
    return (plain >> 1) & 0xfffff;
  }

  Region* find(std::uint32_t key, std::uint32_t port, std::uint32_t side) noexcept {
    std::uint32_t const plain = unscramble(key);
    std::uint32_t const slot = slot_of(plain);
    if (key == 0 || (plain & 1) != side || slot >= regions_.size()) return nullptr;
    Region& r = regions_[slot];
    bool const same = r.live && port - r.port < r.ports && (r.generation & 0x7ff) == plain >> 21;
    return same ? &r : nullptr;
  }

  std::deque<Region> regions_;
  std::deque<std::uint32_t> free_;
};

// ---- Device memory ------------------------------------------------------------------------------

/// Writes to device memory that a port has taken but not yet pushed over its bus. A read through
/// the same port pushes them (PCI Express Base Specification, 2.4.1: a read completion does not
/// pass posted writes); nothing else does, which is the worst that real hardware may do.
class BusBuffer {
 public:
  void hold(Region const* region, std::uint64_t address, Payload const& p) {
    Held& h = held_.emplace_back();
    h.region = region;
    h.address = address;
    h.bytes.resize(p.length);
    copy_payload(h.bytes.data(), p);
  }
  /// Pushes everything, in order.
  void drain() noexcept {
    for (Held const& h : held_) std::memcpy(to_pointer(h.address), h.bytes.data(), h.bytes.size());
    held_.clear();
  }
  /// Drops what is held for a region that goes away.
  void forget(Region const* region) {
    std::erase_if(held_, [region](Held const& h) { return h.region == region; });
  }
  void clear() noexcept { held_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }

  static std::byte* to_pointer(std::uint64_t address) noexcept {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  }

 private:
  struct Held {
    Region const* region = nullptr;
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  std::deque<Held> held_;
};

/// What is at an address of a region, for a NIC to send.
[[nodiscard]] inline Payload read_region(Region const& r, std::uint64_t address,
                                         std::uint64_t n) noexcept {
  if (r.computed != nullptr) return {nullptr, r.computed, address - r.computed->base(), n};
  return {BusBuffer::to_pointer(address), nullptr, 0, n};
}

/// Places inbound bytes in a region: device memory gets them with the next read through that port.
inline void write_region(Region const& r, std::uint64_t address, Payload const& p, BusBuffer& bus) {
  if (p.length == 0) return;
  if (r.computed != nullptr) {
    r.computed->write(address - r.computed->base(), p);
  } else if (r.kind == MemoryKind::device) {
    bus.hold(&r, address, p);
  } else {
    copy_payload(BusBuffer::to_pointer(address), p);
  }
}

// ---- Relaxed ordering ---------------------------------------------------------------------------

/// Writes to relaxed memory that a port has taken and that have not landed yet, in pieces of a
/// cache line. They land in any order, but before whatever is ordered behind them: a write to other
/// memory, a completion, a read (PCI Express Base Specification, 2.4.1, relaxed ordering).
class LooseWrites {
 public:
  static constexpr std::uint64_t piece = 64;

  void hold(Region const& region, std::uint64_t address, Payload const& p) {
    for (std::uint64_t at = 0; at < p.length; at += piece) {
      Held& h = held_.emplace_back();
      h.region = &region;
      h.address = address + at;
      h.bytes.resize(std::min(piece, p.length - at));
      copy_payload(h.bytes.data(), p.part(at, h.bytes.size()));
    }
  }
  /// Lands `n` pieces, whichever.
  void land(std::size_t n, Random& random, BusBuffer& bus) {
    for (; n != 0; --n) {
      std::swap(held_[static_cast<std::size_t>(random.below(held_.size()))], held_.back());
      Held const& h = held_.back();
      write_region(*h.region, h.address, {h.bytes.data(), nullptr, 0, h.bytes.size()}, bus);
      held_.pop_back();
    }
  }
  void land_all(Random& random, BusBuffer& bus) { land(held_.size(), random, bus); }
  void forget(Region const* region) {
    std::erase_if(held_, [region](Held const& h) { return h.region == region; });
  }
  void clear() noexcept { held_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }

 private:
  struct Held {
    Region const* region = nullptr;
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Held> held_;
};

}  // namespace vccl::soft
