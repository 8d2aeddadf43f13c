// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Error values: Errc on the hot path, Cause for why a path or a connection failed, SetupError in
/// setup.

#include <cstdint>
#include <exception>
#include <string_view>

namespace vccl {

/// Result of a call on the hot path, and of a finished request.
enum class [[nodiscard]] Errc : std::uint8_t {
  ok,
  would_block,       ///< No room or not ready now; nothing was taken; call again later.
  path_down,         ///< The path (QP, port or device) cannot carry it any more.
  invalid_argument,  ///< The caller's mistake; nothing was taken.
  message_too_long,  ///< A send is longer than the receive it met. Both ends get it; no byte is
                     ///< written.
  peer_closed,       ///< The peer closed before it took part in this operation.
  closed,            ///< This end was closed.
  refused,           ///< Set-up was refused; status().cause says why.
  aborted,           ///< The connection ended with the cause that status() tells.
  failed,            ///< A call below (verbs, socket) failed for good.
};

/// Why a path was left, or why a connection ended. Path causes come first, terminal ones after.
enum class Cause : std::uint8_t {
  none,
  // What may fail over.
  retry_exceeded,  ///< Completion status 12.
  flushed,         ///< Completion status 5 without an earlier cause.
  rnr_exhausted,   ///< Completion status 13, where the bundle says that it is a path fault.
  port_down,       ///< Port event, still down after the detector's hold.
  device_fatal,    ///< The device is gone.
  stall,           ///< No progress and no answer to a probe.
  address_gone,    ///< The port's GID or LID changed or vanished.
  queue_error,     ///< QP or CQ event without a completion.
  call_failed,     ///< A post or poll was refused by the provider.
  peer_report,     ///< The peer left the path.
  not_armed,       ///< The path never came up (port down at start).
  not_opened,      ///< Set-up: a backup's device or memory was refused; see path_error().
  // What ends the connection at both ends.
  local_error,      ///< Completion status 1 to 4, 6 to 8: would hit the backup too.
  remote_error,     ///< Completion status 9 to 11.
  protocol_error,   ///< An impossible record or message; also receiver-not-ready exhaustion.
  unknown_status,   ///< A completion status outside the table.
  fence_failed,     ///< The old path could not be made quiet. Buffers stay unsafe until the device
                    ///< closes.
  position_behind,  ///< The receiver lacks a step that the sender has already completed.
  outage_deadline,  ///< No path worked until the deadline.
  peer_restarted,   ///< The peer answers with another incarnation.
  peer_closed,      ///< The peer closed.
  closed,           ///< This end closed.
  user_abort,       ///< abort() was called.
  wrong_secret,     ///< Set-up: the handle's secret is not the listener's.
  bad_handshake,    ///< Set-up: malformed, truncated, or of another version.
  setup_deadline,   ///< Set-up: no answer in time.
};

/// True for the causes after which another path may be tried.
[[nodiscard]] constexpr bool is_path_cause(Cause c) noexcept {
  return c > Cause::none && c < Cause::local_error;
}

[[nodiscard]] constexpr std::string_view text(Errc e) noexcept {
  switch (e) {
    case Errc::ok:
      return "ok";
    case Errc::would_block:
      return "would block";
    case Errc::path_down:
      return "path down";
    case Errc::invalid_argument:
      return "invalid argument";
    case Errc::message_too_long:
      return "message longer than the posted receive";
    case Errc::peer_closed:
      return "peer closed";
    case Errc::closed:
      return "closed";
    case Errc::refused:
      return "refused";
    case Errc::aborted:
      return "aborted";
    case Errc::failed:
      return "failed";
  }
  return "unknown";
}

[[nodiscard]] constexpr std::string_view text(Cause c) noexcept {
  switch (c) {
    case Cause::none:
      return "none";
    case Cause::retry_exceeded:
      return "transport retries exceeded";
    case Cause::flushed:
      return "work flushed";
    case Cause::rnr_exhausted:
      return "receiver-not-ready retries exceeded";
    case Cause::port_down:
      return "port down";
    case Cause::device_fatal:
      return "device fatal";
    case Cause::stall:
      return "stalled, no answer to a probe";
    case Cause::address_gone:
      return "port address gone";
    case Cause::queue_error:
      return "queue error event";
    case Cause::call_failed:
      return "provider refused a call";
    case Cause::peer_report:
      return "peer left the path";
    case Cause::not_armed:
      return "path never came up";
    case Cause::not_opened:
      return "path could not be opened at set-up";
    case Cause::local_error:
      return "local error completion";
    case Cause::remote_error:
      return "remote error completion";
    case Cause::protocol_error:
      return "protocol error";
    case Cause::unknown_status:
      return "unknown completion status";
    case Cause::fence_failed:
      return "fence failed";
    case Cause::position_behind:
      return "receiver lacks a completed step";
    case Cause::outage_deadline:
      return "no path until the deadline";
    case Cause::peer_restarted:
      return "peer restarted";
    case Cause::peer_closed:
      return "peer closed";
    case Cause::closed:
      return "closed";
    case Cause::user_abort:
      return "aborted by the user";
    case Cause::wrong_secret:
      return "wrong secret";
    case Cause::bad_handshake:
      return "malformed handshake or another version";
    case Cause::setup_deadline:
      return "no answer to the set-up in time";
  }
  return "unknown";
}

/// Thrown in setup only (open, listen, connect, register). Names the call, the errno and what to
/// do.
class SetupError : public std::exception {
 public:
  /// @param call   the function that failed, a literal
  /// @param number errno, or 0 when there is none
  /// @param advice what was wrong and what to do; copied, cut to what fits
  SetupError(const char* call, int number, const char* advice) noexcept;

  [[nodiscard]] const char* what() const noexcept override { return text_; }
  [[nodiscard]] const char* call() const noexcept { return call_; }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  const char* call_;
  int number_;
  char text_[192] = {};
};

inline SetupError::SetupError(const char* call, int number, const char* advice) noexcept
    : call_{call}, number_{number} {
  std::size_t at = 0;
  auto put = [&](std::string_view s) {
    for (char c : s) {
      if (at + 1 < sizeof text_) text_[at++] = c;
    }
  };
  put(call);
  if (number != 0) {
    char digits[12];
    int n = 0;
    for (int v = number < 0 ? -number : number; v != 0; v /= 10) {
      digits[n++] = static_cast<char>('0' + v % 10);
    }
    put(" failed with errno ");
    while (n > 0) put({&digits[--n], 1});
  }
  put(": ");
  put(advice);
}

}  // namespace vccl
