// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The bundle of links::switched: policies that are chosen while running.

#include <support/ends.hpp>
#include <vccl/policies/bundle.hpp>
#include <vccl/policies/fence/local_error.hpp>
#include <vccl/policies/fence/no_fence.hpp>
#include <vccl/policies/release/on_confirm.hpp>
#include <vccl/policies/rollback/sender_done.hpp>

namespace vccl::test {

struct SwitchedFence {
  static bool fences(End end) noexcept {
    if (switches.fence == Switches::Fence::none) return fence::NoFence::fences(end);
    if (switches.fence == Switches::Fence::local) return fence::LocalError<>::fences(end);
    return fence::BothEndsError<>::fences(end);
  }
  static Duration deadline() noexcept { return fence::BothEndsError<>::deadline(); }
};
struct SwitchedRelease {
  static bool on_acknowledgement(bool needs_confirm) noexcept {
    if (switches.release == Switches::Release::ack)
      return release::OnAck::on_acknowledgement(needs_confirm);
    if (switches.release == Switches::Release::confirm)
      return release::OnConfirm::on_acknowledgement(needs_confirm);
    return release::AckOrConfirm::on_acknowledgement(needs_confirm);
  }
};
struct SwitchedRollback : rollback::ReceiverPosition {
  static Step resume(Step receiver, Step sender) noexcept {
    return switches.sender_done ? rollback::SenderDone::resume(receiver, sender)
                                : rollback::ReceiverPosition::resume(receiver, sender);
  }
};
struct SwitchedFailback {
  static bool returns() noexcept { return !switches.never_return; }
  static Duration probe_after(std::uint32_t attempt, std::uint32_t random) noexcept {
    return switches.never_return ? failback::Never::probe_after(attempt, random)
                                 : failback::Probed<>::probe_after(attempt, random);
  }
  static Duration good_for() noexcept { return failback::Probed<>::good_for(); }
};
struct SwitchedHealth : health::PerPort {
  PortWatch watch(PortId port, Time now) const noexcept {
    return switches.per_connection ? health::PerConnection{}.watch(port, now)
                                   : health::PerPort::watch(port, now);
  }
};
struct SwitchedDetector : Resilient::Detector {
  Verdict on_completion(Status s, bool address_gone) const noexcept {
    using Lenient = detect::CompletionStatus<detect::StatusRules{.rnr_is_path_fault = true}>;
    return switches.rnr_is_path_fault ? Lenient::on_completion(s, address_gone)
                                      : Resilient::Detector::on_completion(s, address_gone);
  }
  Verdict on_port(PortWatch const& p) const noexcept {
    return switches.blind ? Verdict{} : Resilient::Detector::on_port(p);
  }
  Verdict on_wait(Wait const& w) const noexcept {
    return switches.blind ? Verdict{} : Resilient::Detector::on_wait(w);
  }
};
struct Switched : Resilient {
  using Detector = SwitchedDetector;
  using Fence = SwitchedFence;
  using Release = SwitchedRelease;
  using Rollback = SwitchedRollback;
  using Failback = SwitchedFailback;
  using Health = SwitchedHealth;
};

}  // namespace vccl::test
