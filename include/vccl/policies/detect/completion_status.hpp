// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// detect::CompletionStatus: what the status of a failed completion means.

#include <vccl/concepts.hpp>

#include <type_traits>

namespace vccl::detect {

/// What opinions may differ on.
struct StatusRules {
  /// Receiver-not-ready exhaustion (13) leaves the path instead of ending the connection. Our
  /// receive queues are filled to the notify window before they are announced, so it takes a bug
  /// to run them dry, and a bug is on the backup too.
  bool rnr_is_path_fault = false;
};

/// Calls a path failed when the NIC gave up on it (12), flushed its work (5), or lost its own
/// address (2 with the port's GID or LID gone). Any other status would hit the backup too, so it
/// ends the connection. Numbers and meanings: ibv_wc_status, InfiniBand Architecture Specification
/// vol. 1, 11.6.2.
///
/// State: none.
/// Hot path: one switch, on failed completions only.
/// Thread safety: pure functions.
/// Use when always; alone it detects as slowly as the NIC gives up (Timing::nic_retry_window), and
/// never while nothing is outstanding. Add PortEvent and StallDeadline by AnyOf.
template <StatusRules Rules = StatusRules{}>
struct CompletionStatus {
  /// `address_gone`: the port's GID or LID is not there any more.
  [[nodiscard]] static constexpr Verdict on_completion(Status status, bool address_gone) noexcept {
    switch (status) {
      case Status::success:
        return {};
      case Status::retry_exceeded:
        return leave(Cause::retry_exceeded);
      case Status::flushed:
        return leave(Cause::flushed);
      case Status::rnr_retry_exceeded:
        return Rules.rnr_is_path_fault ? leave(Cause::rnr_exhausted) : end(Cause::protocol_error);
      case Status::local_qp_operation:
        return address_gone ? leave(Cause::address_gone) : end(Cause::local_error);
      case Status::local_length:
      case Status::local_eec_operation:
      case Status::local_protection:
      case Status::memory_window_bind:
      case Status::bad_response:
      case Status::local_access:
      case Status::fatal:
        return end(Cause::local_error);
      case Status::remote_invalid_request:
      case Status::remote_access:
      case Status::remote_operation:
        return end(Cause::remote_error);
      case Status::local_rdd_violation:
      case Status::remote_invalid_rd_request:
      case Status::remote_aborted:
      case Status::invalid_eecn:
      case Status::invalid_eec_state:
      case Status::response_timeout:
      case Status::general:
      case Status::tag_matching:
      case Status::tag_matching_rndv:
        return end(Cause::unknown_status);
    }
    return end(Cause::unknown_status);  // A number that is not in the table.
  }

  [[nodiscard]] static constexpr Verdict on_port(PortWatch const&) noexcept { return {}; }
  [[nodiscard]] static constexpr Verdict on_wait(Wait const&) noexcept { return {}; }
  [[nodiscard]] static constexpr Duration hold() noexcept { return {}; }
  [[nodiscard]] static constexpr Duration stall() noexcept { return {}; }

 private:
  static constexpr Verdict leave(Cause cause) noexcept { return {Verdict::Kind::path, cause}; }
  static constexpr Verdict end(Cause cause) noexcept { return {Verdict::Kind::fatal, cause}; }
};

static_assert(Detector<CompletionStatus<>>);
static_assert(std::is_empty_v<CompletionStatus<>>);

}  // namespace vccl::detect
