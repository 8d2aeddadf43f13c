// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The set-up messages: what a handle holds, what the ends tell each other, and how it is checked.

#include <vccl/detail/records.hpp>
#include <vccl/detail/secret.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace vccl {

/// What a sender needs to find a listener and to be let in. Ships by whatever the framework has;
/// whoever holds it may connect. Trivially copyable, at most 128 bytes.
struct Handle {
  static constexpr std::uint32_t expected_magic = 0x4c43'4356;  // "VCCL"
  static constexpr std::uint16_t expected_version = 1;
  std::uint32_t magic = expected_magic;
  std::uint16_t version = expected_version;
  std::uint16_t address_bytes = 0;
  std::array<std::byte, 64> address{};
  std::uint64_t incarnation = 0;
  std::array<std::uint64_t, 2> secret{};
};
static_assert(sizeof(Handle) <= 128);

namespace detail {

enum class Frame : std::uint8_t {
  hello = 1,  ///< Sender: my side, and the secret.
  welcome,    ///< Receiver: my side; my QPs are connected to yours.
  ready,      ///< Sender: mine are connected too.
  go,         ///< Receiver: seen.
  refuse,     ///< Receiver: no, because of `cause`.
  control,    ///< Either: a ControlFrame.
};

struct FrameHeader {
  std::uint32_t magic = Handle::expected_magic;
  std::uint16_t version = Handle::expected_version;
  Frame kind = Frame::hello;
  Cause cause = Cause::none;  ///< refuse only.
  std::uint32_t bytes = 0;    ///< Payload.
  std::uint32_t check = 0;    ///< Over all the rest.
  std::uint64_t session = 0;
};
static_assert(sizeof(FrameHeader) == 24);

/// One end's side of a path.
struct PathOffer {
  std::uint64_t block = 0;  ///< Address of the PathBlock.
  std::array<std::uint32_t, max_lanes> keys{};
  std::uint8_t lanes = 0;  ///< 0: this end has no such path.
  std::uint8_t qps = 0;
  std::uint8_t up = 0;  ///< 1: its ports are usable now.
  std::array<std::uint8_t, 5> reserved{};
  std::array<LaneAddress, max_lanes> addresses{};
};

/// One end's side of a connection.
struct Offer {
  Secret secret{};                ///< hello only.
  std::uint64_t incarnation = 0;  ///< hello: of the listener, from the handle. welcome: the same.
  std::uint64_t nonce = 0;        ///< Random; both nonces make the session.
  Step first_step = 0;
  std::uint64_t max_message = 0;
  Epoch first_epoch = 1;  ///< welcome only.
  std::uint32_t paths = 0;
  std::array<PathOffer, max_paths> path{};
};
inline constexpr std::size_t max_frame = sizeof(FrameHeader) + sizeof(Offer);
static_assert(max_frame <= 4096 && sizeof(ControlFrame) <= sizeof(Offer));

/// Checksum over a header (its own `check` left out) and a payload: FNV-1a, folded.
[[nodiscard]] inline std::uint32_t check_of(FrameHeader h,
                                            std::span<std::byte const> payload) noexcept {
  h.check = 0;
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325;
  auto const add = [&sum](std::span<std::byte const> bytes) {
    for (std::byte b : bytes) sum = (sum ^ static_cast<std::uint8_t>(b)) * 0x100'0000'01b3;
  };
  add(std::as_bytes(std::span{&h, 1}));
  add(payload);
  return static_cast<std::uint32_t>(sum ^ sum >> 32);
}

/// A frame as it travels.
struct FrameBuffer {
  alignas(8) std::array<std::byte, max_frame> bytes;
  std::size_t size = 0;
  [[nodiscard]] std::span<std::byte const> view() const noexcept { return {bytes.data(), size}; }
};

inline void write_frame(FrameBuffer& out, Frame kind, std::uint64_t session, const void* payload,
                        std::size_t bytes, Cause cause = Cause::none) noexcept {
  FrameHeader h;
  h.kind = kind;
  h.cause = cause;
  h.session = session;
  h.bytes = static_cast<std::uint32_t>(bytes);
  if (bytes != 0) std::memcpy(out.bytes.data() + sizeof h, payload, bytes);
  h.check = check_of(h, {out.bytes.data() + sizeof h, bytes});
  std::memcpy(out.bytes.data(), &h, sizeof h);
  out.size = sizeof h + bytes;
}

/// Checks a frame. False for anything that is not whole, of this version, and of a known kind.
[[nodiscard]] inline bool read_header(std::span<std::byte const> in, FrameHeader& h) noexcept {
  if (in.size() < sizeof h) return false;
  std::memcpy(&h, in.data(), sizeof h);
  if (h.magic != Handle::expected_magic || h.version != Handle::expected_version) return false;
  if (h.kind < Frame::hello || h.kind > Frame::control || h.bytes != in.size() - sizeof h)
    return false;
  return h.check == check_of(h, in.subspan(sizeof h));
}

/// Reads an offer, and refuses numbers that cannot be.
[[nodiscard]] inline bool read_offer(std::span<std::byte const> in, Offer& out) noexcept {
  if (in.size() != sizeof(FrameHeader) + sizeof(Offer)) return false;
  std::memcpy(&out, in.data() + sizeof(FrameHeader), sizeof out);
  if (out.paths == 0 || out.paths > max_paths || out.max_message == 0) return false;
  for (std::size_t q = 0; q < out.paths; ++q) {
    PathOffer const& p = out.path[q];
    if (p.lanes > max_lanes || p.up > 1) return false;
    if (p.lanes != 0 && (p.qps == 0 || p.qps > max_qps || p.block == 0)) return false;
  }
  return out.path[0].lanes != 0;
}

[[nodiscard]] inline bool read_control_frame(std::span<std::byte const> in,
                                             ControlFrame& out) noexcept {
  std::size_t const n = in.size() - sizeof(FrameHeader);
  if (n < offsetof(ControlFrame, addresses) || n > sizeof(ControlFrame)) return false;
  ControlFrame f;
  std::memcpy(&f, in.data() + sizeof(FrameHeader), n);
  if (f.lanes > max_lanes || frame_bytes(f) > n) return false;
  out = f;
  return true;
}

}  // namespace detail
}  // namespace vccl
