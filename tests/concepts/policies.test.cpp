// SPDX-License-Identifier: Apache-2.0
#include <archetypes/aggregator.hpp>
#include <archetypes/detector.hpp>
#include <archetypes/failback.hpp>
#include <archetypes/fence.hpp>
#include <archetypes/health.hpp>
#include <archetypes/path_selector.hpp>
#include <archetypes/release.hpp>
#include <archetypes/rollback.hpp>
#include <archetypes/telemetry.hpp>
#include <vccl/concepts.hpp>

#include <concepts/one_fault.hpp>

namespace vccl::test {
namespace {

// A policy role is one concept, so what derives from its archetype breaks that one or none.
template <class T>
constexpr int broken_requirements() {
  if constexpr (std::is_base_of_v<archetype::PathSelector, T>) return !PathSelector<T>;
  if constexpr (std::is_base_of_v<archetype::Detector, T>) return !Detector<T>;
  if constexpr (std::is_base_of_v<archetype::Fence, T>) return !Fence<T>;
  if constexpr (std::is_base_of_v<archetype::Release, T>) return !Release<T>;
  if constexpr (std::is_base_of_v<archetype::Rollback, T>) return !Rollback<T>;
  if constexpr (std::is_base_of_v<archetype::Failback, T>) return !Failback<T>;
  if constexpr (std::is_base_of_v<archetype::Health, T>) return !Health<T>;
  if constexpr (std::is_base_of_v<archetype::Aggregator, T>) return !Aggregator<T>;
  if constexpr (std::is_base_of_v<archetype::Telemetry, T>) return !Telemetry<T>;
}

using Ports = std::span<PortView const>;

VCCL_ONE_FAULT(PathSelector, PathSelector, BackupMissing, void backup() = delete;);
VCCL_ONE_FAULT(PathSelector, PathSelector, BackupMayThrow,
               static PortId backup(PortId, Ports, std::size_t););
VCCL_ONE_FAULT(PathSelector, PathSelector, BackupReturnsPosition,
               static std::size_t backup(PortId, Ports, std::size_t) noexcept;);
VCCL_ONE_FAULT(PathSelector, PathSelector, BackupNeedsAnObject,
               PortId backup(PortId, Ports, std::size_t) noexcept;);
VCCL_ONE_FAULT(PathSelector, PathSelector, BackupChangesThePorts,
               static PortId backup(PortId, std::span<PortView>, std::size_t) noexcept;);

VCCL_ONE_FAULT(Detector, Detector, OnCompletionMissing, void on_completion() = delete;);
VCCL_ONE_FAULT(Detector, Detector, OnCompletionMayThrow,
               Verdict on_completion(Status, bool) const;);
VCCL_ONE_FAULT(Detector, Detector, OnCompletionReturnsBool,
               bool on_completion(Status, bool) const noexcept;);
VCCL_ONE_FAULT(Detector, Detector, OnCompletionKeepsState,
               Verdict on_completion(Status, bool) noexcept;);
VCCL_ONE_FAULT(Detector, Detector, OnPortMissing, void on_port() = delete;);
VCCL_ONE_FAULT(Detector, Detector, OnPortMayThrow, Verdict on_port(PortWatch const&) const;);
VCCL_ONE_FAULT(Detector, Detector, OnPortReturnsCause,
               Cause on_port(PortWatch const&) const noexcept;);
VCCL_ONE_FAULT(Detector, Detector, OnPortKeepsState, Verdict on_port(PortWatch const&) noexcept;);
VCCL_ONE_FAULT(Detector, Detector, OnWaitMissing, void on_wait() = delete;);
VCCL_ONE_FAULT(Detector, Detector, OnWaitMayThrow, Verdict on_wait(Wait const&) const;);
VCCL_ONE_FAULT(Detector, Detector, OnWaitReturnsKind,
               Verdict::Kind on_wait(Wait const&) const noexcept;);
VCCL_ONE_FAULT(Detector, Detector, OnWaitKeepsState, Verdict on_wait(Wait const&) noexcept;);
VCCL_ONE_FAULT(Detector, Detector, HoldMissing, void hold(int) = delete;);
VCCL_ONE_FAULT(Detector, Detector, HoldMayThrow, static Duration hold(););
VCCL_ONE_FAULT(Detector, Detector, HoldReturnsANumber, static std::int64_t hold() noexcept;);
VCCL_ONE_FAULT(Detector, Detector, HoldNeedsAnObject, Duration hold() noexcept;);
VCCL_ONE_FAULT(Detector, Detector, StallMissing, void stall(int) = delete;);
VCCL_ONE_FAULT(Detector, Detector, StallMayThrow, static Duration stall(););
VCCL_ONE_FAULT(Detector, Detector, StallReturnsANumber, static std::int64_t stall() noexcept;);
VCCL_ONE_FAULT(Detector, Detector, StallNeedsAnObject, Duration stall() noexcept;);

VCCL_ONE_FAULT(Fence, Fence, FencesMissing, void fences() = delete;);
VCCL_ONE_FAULT(Fence, Fence, FencesMayThrow, static bool fences(End););
VCCL_ONE_FAULT(Fence, Fence, FencesReturnsInt, static int fences(End) noexcept;);
VCCL_ONE_FAULT(Fence, Fence, FencesNeedsAnObject, bool fences(End) noexcept;);
VCCL_ONE_FAULT(Fence, Fence, DeadlineMissing, void deadline(int) = delete;);
VCCL_ONE_FAULT(Fence, Fence, DeadlineMayThrow, static Duration deadline(););
VCCL_ONE_FAULT(Fence, Fence, DeadlineReturnsTime, static Time deadline() noexcept;);
VCCL_ONE_FAULT(Fence, Fence, DeadlineNeedsAnObject, Duration deadline() noexcept;);

VCCL_ONE_FAULT(Release, Release, OnAcknowledgementMissing, void on_acknowledgement() = delete;);
VCCL_ONE_FAULT(Release, Release, OnAcknowledgementMayThrow, static bool on_acknowledgement(bool););
VCCL_ONE_FAULT(Release, Release, OnAcknowledgementReturnsInt,
               static int on_acknowledgement(bool) noexcept;);
VCCL_ONE_FAULT(Release, Release, OnAcknowledgementNeedsAnObject,
               bool on_acknowledgement(bool) noexcept;);

VCCL_ONE_FAULT(Rollback, Rollback, ResumeMissing, void resume() = delete;);
VCCL_ONE_FAULT(Rollback, Rollback, ResumeMayThrow, static Step resume(Step, Step););
VCCL_ONE_FAULT(Rollback, Rollback, ResumeOf32Bits,
               static std::uint32_t resume(Step, Step) noexcept;);
VCCL_ONE_FAULT(Rollback, Rollback, ResumeNeedsAnObject, Step resume(Step, Step) noexcept;);
VCCL_ONE_FAULT(Rollback, Rollback, ReplaysHidden, private : using Rollback::replays;);
VCCL_ONE_FAULT(Rollback, Rollback, ReplaysIsNoAnswer,
               template <class Op> static constexpr Keys replays{};);

VCCL_ONE_FAULT(Failback, Failback, ReturnsMissing, void returns(int) = delete;);
VCCL_ONE_FAULT(Failback, Failback, ReturnsMayThrow, static bool returns(););
VCCL_ONE_FAULT(Failback, Failback, ReturnsGivesInt, static int returns() noexcept;);
VCCL_ONE_FAULT(Failback, Failback, ReturnsNeedsAnObject, bool returns() noexcept;);
VCCL_ONE_FAULT(Failback, Failback, ProbeAfterMissing, void probe_after() = delete;);
VCCL_ONE_FAULT(Failback, Failback, ProbeAfterMayThrow,
               static Duration probe_after(std::uint32_t, std::uint32_t););
VCCL_ONE_FAULT(Failback, Failback, ProbeAfterReturnsTime,
               static Time probe_after(std::uint32_t, std::uint32_t) noexcept;);
VCCL_ONE_FAULT(Failback, Failback, ProbeAfterNeedsAnObject,
               Duration probe_after(std::uint32_t, std::uint32_t) noexcept;);
VCCL_ONE_FAULT(Failback, Failback, GoodForMissing, void good_for(int) = delete;);
VCCL_ONE_FAULT(Failback, Failback, GoodForMayThrow, static Duration good_for(););
VCCL_ONE_FAULT(Failback, Failback, GoodForReturnsANumber, static std::int64_t good_for() noexcept;);
VCCL_ONE_FAULT(Failback, Failback, GoodForNeedsAnObject, Duration good_for() noexcept;);

VCCL_ONE_FAULT(Health, Health, NotDefaultConstructible, NotDefaultConstructible() = delete;);
VCCL_ONE_FAULT(Health, Health, NoteMissing, void note() = delete;);
VCCL_ONE_FAULT(Health, Health, NoteMayThrow, void note(PortEvent const&, Time););
VCCL_ONE_FAULT(Health, Health, NoteReturnsBool, bool note(PortEvent const&, Time) noexcept;);
VCCL_ONE_FAULT(Health, Health, NoteChangesTheEvent, void note(PortEvent&, Time) noexcept;);
VCCL_ONE_FAULT(Health, Health, WatchMissing, void watch() = delete;);
VCCL_ONE_FAULT(Health, Health, WatchMayThrow, PortWatch watch(PortId, Time) const;);
VCCL_ONE_FAULT(Health, Health, WatchReturnsBool, bool watch(PortId, Time) const noexcept;);
VCCL_ONE_FAULT(Health, Health, WatchChangesTheBoard, PortWatch watch(PortId, Time) noexcept;);

VCCL_ONE_FAULT(Aggregator, Aggregator, MayJoinMissing, void may_join() = delete;);
VCCL_ONE_FAULT(Aggregator, Aggregator, MayJoinMayThrow,
               static bool may_join(ProxyOp const&, std::size_t, ProxyOp const&););
VCCL_ONE_FAULT(Aggregator, Aggregator, MayJoinReturnsInt,
               static int may_join(ProxyOp const&, std::size_t, ProxyOp const&) noexcept;);
VCCL_ONE_FAULT(Aggregator, Aggregator, MayJoinNeedsAnObject,
               bool may_join(ProxyOp const&, std::size_t, ProxyOp const&) noexcept;);
VCCL_ONE_FAULT(Aggregator, Aggregator, MayJoinChangesTheOp,
               static bool may_join(ProxyOp const&, std::size_t, ProxyOp&) noexcept;);

VCCL_ONE_FAULT(Telemetry, Telemetry, RecordMissing, void record() = delete;);
VCCL_ONE_FAULT(Telemetry, Telemetry, RecordMayThrow, void record(Event const&););
VCCL_ONE_FAULT(Telemetry, Telemetry, RecordReturnsBool, bool record(Event const&) noexcept;);
VCCL_ONE_FAULT(Telemetry, Telemetry, RecordChangesTheEvent, void record(Event&) noexcept;);

struct ReplaysEverything : archetype::Rollback {
  template <class Op>
  static constexpr bool replays = true;
};

struct NoRollbackAtAll {
  template <class Op>
  static constexpr bool replays = true;
};

TEST_CASE("an op class is replayable only by a rollback that says so") {
  CHECK(ReplayableBy<Atomic, ReplaysEverything>);
  CHECK_FALSE(ReplayableBy<Atomic, archetype::Rollback>);
  CHECK_FALSE(ReplayableBy<Atomic, NoRollbackAtAll>);
}

}  // namespace
}  // namespace vccl::test
