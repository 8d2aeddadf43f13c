// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Plain data that every layer speaks: time, names, memory, operations, work requests, completions.

#include <vccl/error.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace vccl {

// ---- Time

/// A span of time in nanoseconds. Structural, so it can be part of a template argument.
struct Duration {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) noexcept { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) noexcept { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) noexcept { return {a.ns * n}; }
  friend constexpr Duration operator/(Duration a, std::int64_t n) noexcept { return {a.ns / n}; }
};

/// A point on the clock of a host, in nanoseconds since an arbitrary start.
struct Time {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time t, Duration d) noexcept { return {t.ns + d.ns}; }
  friend constexpr Duration operator-(Time a, Time b) noexcept { return {a.ns - b.ns}; }
};

inline namespace literals {
consteval Duration operator""_ns(unsigned long long v) { return {static_cast<std::int64_t>(v)}; }
consteval Duration operator""_us(unsigned long long v) {
  return {static_cast<std::int64_t>(v) * 1'000};
}
consteval Duration operator""_ms(unsigned long long v) {
  return {static_cast<std::int64_t>(v) * 1'000'000};
}
consteval Duration operator""_s(unsigned long long v) {
  return {static_cast<std::int64_t>(v) * 1'000'000'000};
}
}  // namespace literals

// ---- Names and numbers

inline constexpr std::size_t max_paths = 4;     ///< Primary and up to three backups.
inline constexpr std::size_t max_lanes = 4;     ///< Ports of one path (a merged NIC).
inline constexpr std::size_t max_qps = 4;       ///< QPs of one lane.
inline constexpr std::size_t max_receives = 8;  ///< Receives of one step (as NCCL's maximum).

/// Position of a path in its connection: 0 is the primary, then the backups in order.
using PathId = std::uint8_t;
inline constexpr PathId no_path = 0xff;

/// A port of a host, counted from 0 over all its devices.
enum class PortId : std::uint16_t {};
inline constexpr PortId no_port{0xffff};

/// What a send carries and a receive asks for, to meet inside one step.
enum class Tag : std::uint32_t {};

/// Number of a send of a connection, for its whole life. Never reused, so an acknowledgement lost
/// at the end of an operation can still be made good in the next.
using Step = std::uint64_t;

/// A period in which one path is in use. Serial number: compare with newer().
using Epoch = std::uint32_t;

/// True when serial number `a` comes after `b` (RFC 1982: half the range is "after").
template <class U>
[[nodiscard]] constexpr bool newer(U a, U b) noexcept {
  return static_cast<std::make_signed_t<U>>(static_cast<U>(a - b)) > 0;
}

/// Which end of a connection.
enum class End : std::uint8_t { sender, receiver };

// ---- Memory

/// What kind of memory a buffer is, which decides whether a receive ends with a flush.
enum class MemoryKind : std::uint8_t {
  host,    ///< Written when the completion is seen.
  device,  ///< Behind a bus that may still hold the data: flushed by a read of the NIC that wrote
           ///< it.
};

/// What the peer may do to a registered block.
enum class Access : std::uint8_t {
  local,
  remote_write,          ///< Writes land in the order in which they were sent: records.
  remote_write_relaxed,  ///< Writes may land in any order, all before the notify behind them is
                         ///< seen (PCI Express relaxed ordering): payload.
};

/// Keys of one registration on one port.
struct Keys {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
};

/// Keys of one buffer on every lane of every path.
using KeyTable = std::array<std::array<Keys, max_lanes>, max_paths>;

/// A part of a registered buffer. Does not own anything; the registration must outlive its use.
struct Memory {
  std::uint64_t address = 0;
  std::uint64_t length = 0;  ///< Bytes. 0 needs no registration: any address will do.
  const KeyTable* keys = nullptr;
  MemoryKind kind = MemoryKind::host;
};

// ---- What users post

/// One receive of a step.
struct RecvOp {
  Memory into;
  Tag tag{};
};

/// Whether the receiver is known to have a send that failed.
enum class Delivered : std::uint8_t { no, yes, unknown };

/// Names a posted send or receive until test() has reported it done once.
struct Request {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  ///< 0: nothing was posted; `why` says why.
  Errc why = Errc::would_block;
  [[nodiscard]] explicit constexpr operator bool() const noexcept { return generation != 0; }
};

/// What test() says of a request.
struct Result {
  bool done = false;
  Errc error = Errc::ok;
  Delivered delivered = Delivered::unknown;         ///< Sends only.
  std::uint8_t receives = 0;                        ///< Receives: how many of `sizes` count.
  std::array<std::uint64_t, max_receives> sizes{};  ///< Bytes each receive got (sends: sizes[0]).
};

// ---- What a transport carries

/// What a work request is for. A transport may choose a service level by it; the software NIC's
/// fault script picks packets by it.
enum class Traffic : std::uint8_t { data, cts, control };

/// One work request for one QP of a lane.
struct WorkRequest {
  enum class Kind : std::uint8_t { write, write_with_immediate, read, send };
  Kind kind = Kind::write;
  Traffic traffic = Traffic::data;
  std::uint8_t qp = 0;  ///< Index within the lane.
  bool signaled = true;
  bool inlined = false;         ///< Copy the data now; at most Limits::max_inline bytes.
  std::uint32_t immediate = 0;  ///< Host order here, network order on the wire.
  std::uint64_t id = 0;         ///< Comes back in the completion.
  std::uint64_t local = 0;      ///< Local address.
  std::uint64_t length = 0;     ///< Bytes, at most the lane's max_message().
  std::uint64_t remote = 0;     ///< Remote address.
  Keys keys{};                  ///< keys.local of this end, keys.remote of the peer.
};

/// Completion status; the numbers are those of ibv_wc_status (rdma-core, libibverbs/verbs.h).
enum class Status : std::uint8_t {
  success = 0,
  local_length = 1,
  local_qp_operation = 2,
  local_eec_operation = 3,
  local_protection = 4,
  flushed = 5,
  memory_window_bind = 6,
  bad_response = 7,
  local_access = 8,
  remote_invalid_request = 9,
  remote_access = 10,
  remote_operation = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  local_rdd_violation = 14,
  remote_invalid_rd_request = 15,
  remote_aborted = 16,
  invalid_eecn = 17,
  invalid_eec_state = 18,
  fatal = 19,
  response_timeout = 20,
  general = 21,
  tag_matching = 22,
  tag_matching_rndv = 23,
};

/// A completion. Of a failed one only id, status, qp_num and vendor_error mean anything
/// (InfiniBand Architecture Specification vol. 1, 11.6.2; man ibv_poll_cq).
struct Completion {
  enum class Kind : std::uint8_t { sent, received, received_with_immediate };
  std::uint64_t id = 0;
  Status status = Status::success;
  Kind kind = Kind::sent;
  std::uint32_t qp_num = 0;
  std::uint32_t vendor_error = 0;
  std::uint32_t immediate = 0;  ///< Host order.
  std::uint32_t bytes = 0;
};

/// How a lane is made. Numbers are those of ibv_qp_attr (IBTA: timeout is 4.096 us x 2^timeout).
struct LaneConfig {
  PortId port = no_port;
  std::uint8_t qps = 1;
  std::uint16_t send_depth = 256;
  std::uint16_t receive_depth = 64;
  std::uint32_t cq_depth = 0;  ///< Completions that the CQ holds; 0: enough for all queues.
  std::uint8_t timeout = 16;
  std::uint8_t retry_count = 6;
  std::uint8_t rnr_retry = 7;  ///< 7 is for ever.
  std::uint8_t min_rnr_timer = 12;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
};

/// What a device offers for setting connections up its own way (ibv_query_ece). All 0: nothing.
struct EnhancedEstablishment {
  std::uint32_t vendor = 0;
  std::uint32_t options = 0;
  friend constexpr bool operator==(EnhancedEstablishment const&,
                                   EnhancedEstablishment const&) = default;
};

/// What a peer needs to reach a lane. Travels as it is, little endian.
struct LaneAddress {
  std::array<std::uint8_t, 16> gid{};
  std::array<std::uint32_t, max_qps> qp_numbers{};
  std::array<std::uint32_t, max_qps> packet_numbers{};  ///< First PSN that the QP will send.
  std::uint64_t max_message = 0;                        ///< Bytes.
  std::uint32_t speed_mbps = 0;
  std::uint16_t lid = 0;
  std::uint8_t mtu = 0;  ///< 256 << (mtu - 1) bytes.
  std::uint8_t qps = 0;
  EnhancedEstablishment ece{};
  friend constexpr bool operator==(LaneAddress const&, LaneAddress const&) = default;
};
static_assert(sizeof(LaneAddress) == 72);

/// A port as queried now.
struct PortState {
  bool active = false;
  std::uint16_t card = 0;  ///< Ports of one card share it.
  std::uint32_t speed_mbps = 0;
  friend constexpr bool operator==(PortState const&, PortState const&) = default;
};

/// What a device tells of itself without being asked.
struct PortEvent {
  enum class Kind : std::uint8_t {
    port_error,
    port_active,
    address_change,
    device_fatal,
    qp_fatal,
    cq_error
  };
  Kind kind = Kind::port_error;
  PortId port = no_port;
  std::uint32_t qp_num = 0;  ///< qp_fatal only.
};

/// An operation of the proxy, as far as deciding on aggregation needs it.
struct ProxyOp {
  std::uint64_t op_count = 0;  ///< Batch index << 1, low bit 1 for point-to-point.
  std::uint32_t peer = 0;
  std::uint32_t connection = 0;
};

}  // namespace vccl
