// SPDX-License-Identifier: Apache-2.0
#include <archetypes/bundle.hpp>

#include <vccl/concepts.hpp>

#include <concepts/one_fault.hpp>

namespace vccl::test {
namespace {

template <class B>
constexpr int broken_requirements() {
  return !requires { requires PathSelector<typename B::PathSelector>; } +
         !requires { requires Detector<typename B::Detector>; } + !requires {
           requires Fence<typename B::Fence>;
         } + !requires { requires Release<typename B::Release>; } + !requires {
           requires Rollback<typename B::Rollback>;
         } + !requires { requires Failback<typename B::Failback>; } + !requires {
           requires Health<typename B::Health>;
         } + !requires { requires Aggregator<typename B::Aggregator>; } + !requires {
           requires Telemetry<typename B::Telemetry>;
         } + !requires { requires std::convertible_to<decltype(B::timing), Timing>; };
}

/// Two bundles: one that does not name the policy of a role, and one that names no such policy.
#define VCCL_BUNDLE_FAULTS(Role)                                                                  \
  VCCL_ONE_FAULT(PolicyBundle, PolicyBundle, Without##Role, private : using PolicyBundle::Role;); \
  VCCL_ONE_FAULT(PolicyBundle, PolicyBundle, WithInt##Role, using Role = int;)

VCCL_BUNDLE_FAULTS(PathSelector);
VCCL_BUNDLE_FAULTS(Detector);
VCCL_BUNDLE_FAULTS(Fence);
VCCL_BUNDLE_FAULTS(Release);
VCCL_BUNDLE_FAULTS(Rollback);
VCCL_BUNDLE_FAULTS(Failback);
VCCL_BUNDLE_FAULTS(Health);
VCCL_BUNDLE_FAULTS(Aggregator);
VCCL_BUNDLE_FAULTS(Telemetry);
VCCL_ONE_FAULT(PolicyBundle, PolicyBundle, TimingHidden, private : using PolicyBundle::timing;);
VCCL_ONE_FAULT(PolicyBundle, PolicyBundle, TimingIsANumber, static constexpr int timing = 0;);

}  // namespace
}  // namespace vccl::test
