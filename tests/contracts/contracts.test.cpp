// SPDX-License-Identifier: Apache-2.0
// The contracts themselves: the archetypes keep them, and each of these wrong policies breaks the
// sentence beside it.
#include <archetypes/aggregator.hpp>
#include <archetypes/detector.hpp>
#include <archetypes/failback.hpp>
#include <archetypes/fence.hpp>
#include <archetypes/health.hpp>
#include <archetypes/path_selector.hpp>
#include <archetypes/release.hpp>
#include <archetypes/rollback.hpp>
#include <archetypes/telemetry.hpp>
#include <contracts/aggregator_contract.hpp>
#include <contracts/detector_contract.hpp>
#include <contracts/failback_contract.hpp>
#include <contracts/fence_contract.hpp>
#include <contracts/health_contract.hpp>
#include <contracts/path_selector_contract.hpp>
#include <contracts/release_contract.hpp>
#include <contracts/rollback_contract.hpp>
#include <contracts/telemetry_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

TEST_CASE("every archetype keeps the contract of its role") {
  CHECK(contracts::aggregator<archetype::Aggregator>() == "");
  CHECK(contracts::detector<archetype::Detector>() == "");
  CHECK(contracts::failback<archetype::Failback>({}) == "");
  CHECK(contracts::fence<archetype::Fence>() == "");
  CHECK(contracts::health<archetype::Health>() == "");
  CHECK(contracts::health_while_watched<archetype::Health>() == "");
  CHECK(contracts::path_selector<archetype::PathSelector>() == "");
  CHECK(contracts::release<archetype::Release>() == "");
  CHECK(contracts::rollback<archetype::Rollback>() == "");
  CHECK(contracts::telemetry<archetype::Telemetry>() == "");
}

// ---- Aggregator ---------------------------------------------------------------------------------

struct JoinsForEver {
  static bool may_join(ProxyOp const&, std::size_t, ProxyOp const&) noexcept { return true; }
};
struct JoinsEverySecondTime {
  static bool may_join(ProxyOp const&, std::size_t, ProxyOp const&) noexcept {
    static bool last = false;
    return last = !last;
  }
};

TEST_CASE("the aggregator contract finds what is wrong") {
  CHECK(contracts::aggregator<JoinsForEver>() == "args do not grow without end");
  CHECK(contracts::aggregator<JoinsEverySecondTime>() == "the same ops join each time or never");
}

// ---- Detector -----------------------------------------------------------------------------------

constexpr Verdict left{Verdict::Kind::path, Cause::port_down};
constexpr Verdict ended{Verdict::Kind::fatal, Cause::local_error};
constexpr Verdict asked{Verdict::Kind::probe, Cause::none};

struct FearsSuccess : archetype::Detector {
  Verdict on_completion(Status, bool) const noexcept { return ended; }
};
struct FailsOverOnAnyStatus : archetype::Detector {
  Verdict on_completion(Status s, bool) const noexcept {
    return s == Status::success ? Verdict{} : left;
  }
};
struct FailsOverOnStatus2 : archetype::Detector {
  Verdict on_completion(Status s, bool) const noexcept {
    return s == Status::local_qp_operation ? left : Verdict{};
  }
};
struct LeavesForATerminalCause : archetype::Detector {
  Verdict on_completion(Status s, bool) const noexcept {
    return s == Status::flushed ? Verdict{Verdict::Kind::path, Cause::closed} : Verdict{};
  }
};
struct EndsForAPathCause : archetype::Detector {
  Verdict on_completion(Status s, bool) const noexcept {
    return s == Status::flushed ? Verdict{Verdict::Kind::fatal, Cause::flushed} : Verdict{};
  }
};
struct EndsWithoutCause : archetype::Detector {
  Verdict on_completion(Status s, bool) const noexcept {
    return s == Status::fatal ? Verdict{Verdict::Kind::fatal, Cause::none} : Verdict{};
  }
};
struct LeavesPortsThatAreUp : archetype::Detector {
  static Duration hold() noexcept { return 50_ms; }
  Verdict on_port(PortWatch const& p) const noexcept {
    return p.down_for < hold() ? Verdict{} : left;
  }
};
struct LeavesBelowTheHold : archetype::Detector {
  static Duration hold() noexcept { return 50_ms; }
  Verdict on_port(PortWatch const& p) const noexcept {
    return p.down && p.down_for >= hold() - 1_ns ? left : Verdict{};
  }
};
struct LeavesAfterTheHold : archetype::Detector {
  static Duration hold() noexcept { return 50_ms; }
  Verdict on_port(PortWatch const& p) const noexcept {
    return p.down && p.down_for > hold() ? left : Verdict{};
  }
};
struct ForgivesLongOutages : archetype::Detector {
  static Duration hold() noexcept { return 50_ms; }
  Verdict on_port(PortWatch const& p) const noexcept {
    return p.down && p.down_for >= hold() && p.down_for < 1_s ? left : Verdict{};
  }
};
struct HidesItsHold : archetype::Detector {
  Verdict on_port(PortWatch const& p) const noexcept { return p.down ? left : Verdict{}; }
};

struct Stalls : archetype::Detector {
  static Duration stall() noexcept { return 200_ms; }
};
struct HidesItsStall : archetype::Detector {
  Verdict on_wait(Wait const& w) const noexcept { return w.probing.ns == 0 ? asked : Verdict{}; }
};
struct ProbesTooEarly : Stalls {
  Verdict on_wait(Wait const& w) const noexcept {
    return w.probing.ns == 0 && w.waiting >= stall() - 1_ns ? asked : Verdict{};
  }
};
struct ProbesTooLate : Stalls {
  Verdict on_wait(Wait const& w) const noexcept {
    return w.probing.ns == 0 && w.waiting > stall() ? asked : Verdict{};
  }
};
struct ProbesMoreWhenBusy : Stalls {
  Verdict on_wait(Wait const& w) const noexcept {
    if (w.probing.ns != 0) return w.probing < 1_s ? Verdict{} : left;
    if (w.waiting < stall()) return {};
    return w.outstanding > 0 ? left : asked;
  }
};
struct ProbesTwice : Stalls {
  Verdict on_wait(Wait const& w) const noexcept { return w.waiting >= stall() ? asked : Verdict{}; }
};
struct TrustsItsProbe : Stalls {
  Verdict on_wait(Wait const& w) const noexcept {
    return w.probing.ns == 0 && w.waiting >= stall() ? asked : Verdict{};
  }
};

TEST_CASE("the detector contract finds what is wrong") {
  CHECK(contracts::detector<FearsSuccess>() == "success says nothing");
  CHECK(contracts::detector<FailsOverOnAnyStatus>() ==
        "what would hit the backup is no path fault");
  CHECK(contracts::detector<FailsOverOnStatus2>() == "what would hit the backup is no path fault");
  CHECK(contracts::detector<LeavesForATerminalCause>() == "the cause of a status fits its verdict");
  CHECK(contracts::detector<EndsForAPathCause>() == "the cause of a status fits its verdict");
  CHECK(contracts::detector<EndsWithoutCause>() == "the cause of a status fits its verdict");
  CHECK(contracts::detector<LeavesPortsThatAreUp>() == "a port that is up says nothing");
  CHECK(contracts::detector<LeavesBelowTheHold>() == "below the hold a port says nothing");
  CHECK(contracts::detector<LeavesAfterTheHold>() == "from the hold on a port says something");
  CHECK(contracts::detector<ForgivesLongOutages>() == "a port that is down longer says no less");
  CHECK(contracts::detector<HidesItsHold>() == "without a hold a port says nothing");
  CHECK(contracts::detector<HidesItsStall>() == "without a stall a wait says nothing");
  CHECK(contracts::detector<ProbesTooEarly>() == "below the stall a wait says nothing");
  CHECK(contracts::detector<ProbesTooLate>() ==
        "from the stall on a wait for nothing sent says something");
  CHECK(contracts::detector<ProbesMoreWhenBusy>() == "more outstanding says no more");
  CHECK(contracts::detector<ProbesTwice>() == "there is one probe at a time");
  CHECK(contracts::detector<TrustsItsProbe>() == "a probe is not waited for for ever");
}

// ---- Failback -----------------------------------------------------------------------------------

struct Returns : archetype::Failback {
  static bool returns() noexcept { return true; }
};
struct ReturnsAtOnce : Returns {};
struct ReturnsBeyondTheCap : Returns {
  static Duration probe_after(std::uint32_t, std::uint32_t) noexcept { return 2_s; }
};
struct ReturnsEverFaster : Returns {
  static Duration probe_after(std::uint32_t attempt, std::uint32_t) noexcept {
    return attempt < 50 ? 1_s : 900_ms;
  }
};
struct OverflowsLate : Returns {
  static Duration probe_after(std::uint32_t attempt, std::uint32_t) noexcept {
    return attempt < 1'000 ? 1_s : Duration{};
  }
};
struct AllAtOnce : Returns {
  static Duration probe_after(std::uint32_t, std::uint32_t) noexcept { return 1_s; }
};

TEST_CASE("the failback contract finds what is wrong") {
  CHECK(contracts::failback<ReturnsAtOnce>(1_s) == "there is a wait before every attempt");
  CHECK(contracts::failback<ReturnsBeyondTheCap>(1_s) == "no wait is above the cap and its jitter");
  CHECK(contracts::failback<ReturnsEverFaster>(1_s) == "waits do not shrink");
  CHECK(contracts::failback<OverflowsLate>(1_s) == "late attempts go on at the cap and its jitter");
  CHECK(contracts::failback<AllAtOnce>(1_s) ==
        "connections that lost a path together do not come back together");
}

// ---- Fence --------------------------------------------------------------------------------------

struct FencesInNoTime : archetype::Fence {
  static bool fences(End) noexcept { return true; }
};
struct DrainsNothing : archetype::Fence {
  static Duration deadline() noexcept { return 1_s; }
};
struct FencesTheReceiver : archetype::Fence {
  static bool fences(End end) noexcept { return end == End::receiver; }
  static Duration deadline() noexcept { return 1_s; }
};

TEST_CASE("the fence contract finds what is wrong") {
  CHECK(contracts::fence<FencesInNoTime>() == "draining takes time");
  CHECK(contracts::fence<DrainsNothing>() == "without a fence there is no deadline");
  CHECK(contracts::fence<FencesTheReceiver>() == "");
  CHECK(contracts::safe_fence<FencesTheReceiver>() ==
        "the sender's NIC may read a released buffer");
}

// ---- Health -------------------------------------------------------------------------------------

/// A board of one outage for all ports, right but for what is shadowed.
struct OneOutage {
  void note(PortEvent const& e, Time at) noexcept {
    if (e.kind == PortEvent::Kind::port_error) since = at;
    down = e.kind == PortEvent::Kind::port_error;
  }
  PortWatch watch(PortId, Time now) const noexcept {
    return down ? PortWatch{true, now - since} : PortWatch{};
  }
  bool down = false;
  Time since{};
};
struct KnowsOnlyDoom : archetype::Health {
  PortWatch watch(PortId, Time) const noexcept { return {.down = true}; }
};
struct FearsQueues : archetype::Health {
  void note(PortEvent const& e, Time) noexcept { down = e.kind == PortEvent::Kind::cq_error; }
  PortWatch watch(PortId, Time) const noexcept { return {.down = down}; }
  bool down = false;
};
template <bool StaysDead, bool RestartsClock, bool SeesFuture>
struct OnePort {
  void note(PortEvent const& e, Time at) noexcept {
    if (e.port != PortId{3}) return;
    if (e.kind == PortEvent::Kind::port_active && !(StaysDead && gone)) down = false;
    if (e.kind == PortEvent::Kind::device_fatal) gone = true;
    if (e.kind == PortEvent::Kind::port_error || e.kind == PortEvent::Kind::device_fatal) {
      if (!down || RestartsClock) since = at;
      down = true;
    }
  }
  PortWatch watch(PortId p, Time now) const noexcept {
    if (!down || p != PortId{3}) return {};
    return {true, SeesFuture || now > since ? now - since : Duration{}};
  }
  bool down = false;
  bool gone = false;
  Time since{};
};

/// Keeps half of the time, and takes it for the whole.
struct KeepsHalfTheTime {
  void note(PortEvent const& e, Time at) noexcept {
    if (e.kind == PortEvent::Kind::port_error) since.store(static_cast<std::uint32_t>(at.ns));
  }
  PortWatch watch(PortId, Time now) const noexcept { return {true, now - Time{since.load()}}; }
  std::atomic<std::uint32_t> since{0};
};

TEST_CASE("the health contract finds what is wrong") {
  CHECK(contracts::health<OnePort<false, false, false>>() == "");
  CHECK(contracts::health<KnowsOnlyDoom>() == "a port without events is up");
  CHECK(contracts::health<FearsQueues>() == "an event about something else takes no port down");
  CHECK(contracts::health<OneOutage>() == "an event of one port takes no other down");
  CHECK(contracts::health<OnePort<true, false, false>>() == "a device that works again is up");
  CHECK(contracts::health<OnePort<false, true, false>>() ==
        "a second event does not begin the outage anew");
  CHECK(contracts::health<OnePort<false, false, true>>() == "no port is down since the future");
  CHECK(contracts::health_while_watched<KeepsHalfTheTime>() ==
        "a port is down since an event that happened");
}

// ---- PathSelector -------------------------------------------------------------------------------

struct BacksUpItself {
  static PortId backup(PortId primary, std::span<PortView const> ports, std::size_t n) noexcept {
    return n == 0 && contracts::detail::position(ports, primary) < ports.size() ? primary : no_port;
  }
};
struct NextPortBy {
  static PortId next(PortId primary, std::span<PortView const> ports, std::size_t by) noexcept {
    std::size_t const at = contracts::detail::position(ports, primary);
    return at < ports.size() && ports.size() > 1 ? ports[(at + by) % ports.size()].port : no_port;
  }
};
struct TheSameForEver : NextPortBy {
  static PortId backup(PortId primary, std::span<PortView const> ports, std::size_t) noexcept {
    return next(primary, ports, 1);
  }
};
struct StartsLate : NextPortBy {
  static PortId backup(PortId primary, std::span<PortView const> ports, std::size_t n) noexcept {
    return n == 1 ? next(primary, ports, 1) : no_port;
  }
};
struct ByNumber {
  static PortId backup(PortId primary, std::span<PortView const> ports, std::size_t n) noexcept {
    std::size_t const at = contracts::detail::position(ports, primary);
    if (n > 0 || at == ports.size() || ports.size() < 2) return no_port;
    bool const far = static_cast<unsigned>(primary) >= 40;
    return ports[(at + (far ? ports.size() - 1 : 1)) % ports.size()].port;
  }
};
struct AnyPortWillDo {
  static PortId backup(PortId, std::span<PortView const> ports, std::size_t n) noexcept {
    return n < ports.size() ? ports[n].port : no_port;
  }
};
struct NotInTheList {
  static PortId backup(PortId primary, std::span<PortView const> ports, std::size_t n) noexcept {
    bool const listed = contracts::detail::position(ports, primary) < ports.size();
    return listed && n == 0 ? PortId{1'000} : no_port;
  }
};

TEST_CASE("the path selector contract finds what is wrong") {
  CHECK(contracts::path_selector<BacksUpItself>() == "a port does not back up itself");
  CHECK(contracts::path_selector<TheSameForEver>() == "no port is a candidate twice");
  CHECK(contracts::path_selector<StartsLate>() == "after the last candidate comes none");
  CHECK(contracts::path_selector<ByNumber>() ==
        "both ends of a symmetric pair choose the same position");
  CHECK(contracts::path_selector<AnyPortWillDo>() ==
        "a port that is not in the list has no backup");
  CHECK(contracts::path_selector<NotInTheList>() == "a backup is a port of the list");
}

// ---- Release, Rollback, Telemetry ---------------------------------------------------------------

struct ReleasesDeviceMemoryOnly {
  static bool on_acknowledgement(bool needs_confirm) noexcept { return needs_confirm; }
};

TEST_CASE("the release contract finds what is wrong") {
  CHECK(contracts::release<ReleasesDeviceMemoryOnly>() ==
        "memory that needs a flush is not released more easily");
}

struct SkipsOne : archetype::Rollback {
  static Step resume(Step receiver, Step) noexcept { return receiver + 1; }
};
struct ReplaysAtomics : archetype::Rollback {
  template <class Op>
  static constexpr bool replays = std::same_as<Op, Atomic>;
};
struct ReplaysFlags : archetype::Rollback {
  template <class Op>
  static constexpr bool replays = std::same_as<Op, InlineFlag>;
};

TEST_CASE("the rollback contract finds what is wrong") {
  CHECK(contracts::rollback<SkipsOne>() == "no step that the receiver lacks is skipped");
  CHECK(contracts::rollback<ReplaysAtomics>() == "an atomic is not done twice");
  CHECK(contracts::rollback<ReplaysFlags>() == "a flag inside the data is not written twice");
}

struct Allocates {
  void record(Event const&) noexcept { ::operator delete(::operator new(1)); }
};

TEST_CASE("the telemetry contract finds what is wrong") {
  CHECK(contracts::telemetry<Allocates>() ==
        (contracts::counts_allocations ? "recording does not allocate" : ""));
}

}  // namespace
}  // namespace vccl::test
