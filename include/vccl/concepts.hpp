// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Every role as a concept, in reading order: what moves bytes, what decides, how two ends agree.
/// The smallest model of each is in tests/archetypes, under the role's name.

#include <vccl/op.hpp>
#include <vccl/sync/message.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace vccl {

// ---- Transport: moves bytes between two ports
//
// A transport type is one *lane*: the QPs of one connection on one port, with their CQ. A path is
// one to four lanes. A lane belongs to one owner thread, except where a member says otherwise.

/// What is known at compile time.
struct Limits {
  std::size_t max_inline = 0;  ///< Bytes that a work request can carry inlined; 0: never inline.
};

template <class T>
concept HasLimits = requires {
  { T::limits } -> std::convertible_to<Limits>;
};

/// Required: `Errc post(WorkRequest const&)` takes a request, in order per QP, without ringing.
/// ok: taken. would_block: queue full or a transient refusal; nothing taken; later.
/// path_down: this lane takes nothing any more. invalid_argument: never would.
template <class T>
concept CanPost = requires(T& t, WorkRequest const& w) {
  { t.post(w) } noexcept -> std::same_as<Errc>;
};

/// Required: `Errc post_receive(qp, id)` lends an empty receive to a QP; a notify consumes one.
template <class T>
concept CanReceive = requires(T& t, std::uint8_t qp, std::uint64_t id) {
  { t.post_receive(qp, id) } noexcept -> std::same_as<Errc>;
};

/// Required: `Errc post_flush_read(Memory, Keys, id)` reads a byte of the memory through this
/// port. When it completes, all that this lane wrote there before is visible to the memory's
/// device.
template <class T>
concept CanFlushMemory = requires(T& t, Memory const& m, Keys k, std::uint64_t id) {
  { t.post_flush_read(m, k, id) } noexcept -> std::same_as<Errc>;
};

/// Required: `Errc flush()` rings the doorbell for everything posted since the last one.
/// would_block: some of it was not rung, and goes out with a later flush() or poll().
template <class T>
concept CanFlush = requires(T& t) {
  { t.flush() } noexcept -> std::same_as<Errc>;
};

/// Required: `size_t poll(span<Completion>)` takes finished work, at most the span's size.
/// A successful completion says that all earlier work of that QP's send queue finished too.
template <class T>
concept CanPoll = requires(T& t, std::span<Completion> out) {
  { t.poll(out) } noexcept -> std::same_as<std::size_t>;
};

/// Steps of making a lane quiet.
enum class FenceStep : std::uint8_t {
  error,  ///< All QPs to ERR: what is outstanding flushes; incoming packets are dropped.
  reset,  ///< All QPs to RESET: nothing of the old period can touch memory; unpolled completions
          ///< are gone.
};

/// Required: `Errc fence(FenceStep)`, asked again until it is not would_block. Never blocks the
/// caller. ok: done, and repeating is harmless. failed: cannot be had. Any QP state will do.
template <class T>
concept CanFence = requires(T& t, FenceStep s) {
  { t.fence(s) } noexcept -> std::same_as<Errc>;
};

/// Required, at set-up and again after each fence:
/// `Errc describe(LaneAddress&)` queries port, GID and speed by value, takes the QPs from RESET (or
/// makes new ones) to INIT with fresh random packet numbers. would_block: port not usable yet.
/// `Errc connect(LaneAddress const&)` takes the QPs to RTS towards that address.
/// Both: would_block means ask again.
template <class T>
concept CanConnect = requires(T& t, LaneAddress& mine, LaneAddress const& theirs) {
  { t.describe(mine) } noexcept -> std::same_as<Errc>;
  { t.connect(theirs) } noexcept -> std::same_as<Errc>;
  { t.max_message() } noexcept -> std::same_as<std::uint64_t>;
};

/// Required: `register_memory(void*, size_t, Access, MemoryKind)` gives a move-only owner with
/// `Keys keys() const noexcept`; throws SetupError. Any thread. The host's ports outlive it.
template <class T>
concept CanRegister =
    requires(typename T::Host& h, PortId port, void* p, std::size_t n, Access a, MemoryKind k) {
      { T::register_memory(h, port, p, n, a, k) } -> std::same_as<typename T::Registration>;
      requires std::movable<typename T::Registration>;
      requires !std::copyable<typename T::Registration>;
      {
        std::as_const(*static_cast<typename T::Registration*>(nullptr)).keys()
      } noexcept -> std::same_as<Keys>;
    };

// ---- Host: the devices of one machine, its clock, and how set-up messages travel

/// What time is. `now()` never runs backwards.
/// `real_time()`: true when time passes by itself, so that a service thread may wait for it.
template <class H>
concept Clock = requires(H const& h) {
  { h.now() } noexcept -> std::same_as<Time>;
  { h.real_time() } noexcept -> std::same_as<bool>;
};

/// One end of a message pipe: whole messages of at most 4096 bytes, in order, each at most once.
/// A pipe may lose messages; it reconnects by itself. `receive` gives the size, 0 when none waits.
template <class P>
concept Pipe =
    std::movable<P> && requires(P& p, std::span<std::byte const> m, std::span<std::byte> into) {
      { p.send(m) } noexcept -> std::same_as<Errc>;
      { p.receive(into) } noexcept -> std::same_as<std::size_t>;
    };

/// How set-up and out-of-band messages travel. Address: trivially copyable, at most 64 bytes.
/// `listen()` and `dial(address)` may throw SetupError; `accept(pipe)` gives true with a new pipe.
template <class H>
concept Bootstrap = requires(H& h, typename H::Door& door, typename H::Address const& a,
                             typename H::Pipe& p) {
  requires Pipe<typename H::Pipe>;
  requires std::is_trivially_copyable_v<typename H::Address> && sizeof(typename H::Address) <= 64;
  { h.listen() } -> std::same_as<typename H::Door>;
  { h.dial(a) } -> std::same_as<typename H::Pipe>;
  { door.address() } noexcept -> std::same_as<typename H::Address>;
  { door.accept(p) } noexcept -> std::same_as<bool>;
};

/// The devices of a machine. `poll_event` hands out each event once; one reader.
template <class H>
concept Host = Clock<H> && Bootstrap<H> && requires(H& h, PortId p, PortEvent& e) {
  { h.port_count() } noexcept -> std::same_as<std::size_t>;
  { h.port_state(p) } noexcept -> std::same_as<PortState>;
  { h.poll_event(e) } noexcept -> std::same_as<bool>;
  { h.random() } noexcept -> std::same_as<std::uint64_t>;  ///< For secrets and jitter.
};

/// Moves bytes on one lane. Constructed as `T(Host&, LaneConfig const&)`; that may throw
/// SetupError.
template <class T>
concept Transport =
    HasLimits<T> && CanPost<T> && CanReceive<T> && CanFlushMemory<T> && CanFlush<T> && CanPoll<T> &&
    CanFence<T> && CanConnect<T> && CanRegister<T> && Host<typename T::Host> &&
    std::constructible_from<T, typename T::Host&, LaneConfig const&>;

// ---- PathSelector: which port backs up which

/// What a selector may know of a port.
struct PortView {
  PortId port = no_port;
  PortState state;
};

/// Required: `static PortId backup(primary, ports, n)`: the n-th candidate (from 0) to back up
/// `primary`, or no_port when there are no more. Pure; both ends must come to matching answers.
template <class S>
concept PathSelector = requires(PortId primary, std::span<PortView const> ports, std::size_t n) {
  { S::backup(primary, ports, n) } noexcept -> std::same_as<PortId>;
};

// ---- Detector: is this path failed?

/// What a detector makes of something that it was shown.
struct Verdict {
  enum class Kind : std::uint8_t {
    nothing,  ///< Says nothing about it.
    probe,    ///< Ask the path: write the control record and see whether that completes.
    path,     ///< This path is out; another may carry on.
    fatal,    ///< Another path would fail too: end the connection at both ends.
  };
  Kind kind = Kind::nothing;
  Cause cause = Cause::none;
  friend constexpr bool operator==(Verdict, Verdict) = default;
};

/// A port, as its events tell.
struct PortWatch {
  bool down = false;
  Duration down_for{};  ///< Since the event that took it down.
};

/// An end that waits: for a completion, for data, for a CTS or for a confirmation.
struct Wait {
  Duration waiting{};           ///< Since the last sign of progress on the path.
  Duration probing{};           ///< Since the probe that is under way was posted; 0: none.
  std::uint64_t outstanding{};  ///< Bytes posted on the path and not yet acknowledged.
};

/// Required, pure: what a failed completion, a port that is down and a wait each mean.
/// `on_completion(status, address_gone)`: address_gone when port or GID is not there any more.
/// `hold()` and `stall()`: how long a port may be down, and an end wait, before it says anything;
/// zero when it never does. Set-up of a bundle checks hold < stall < the NIC's retry window.
template <class D>
concept Detector = requires(D const& d, Status s, bool gone, PortWatch const& p, Wait const& w) {
  { d.on_completion(s, gone) } noexcept -> std::same_as<Verdict>;
  { d.on_port(p) } noexcept -> std::same_as<Verdict>;
  { d.on_wait(w) } noexcept -> std::same_as<Verdict>;
  { D::hold() } noexcept -> std::same_as<Duration>;
  { D::stall() } noexcept -> std::same_as<Duration>;
};

// ---- Fence: when may data be replayed

/// Required: `static bool fences(End)`: must that end make its side quiet (QP to ERR, drained,
/// RESET) before anything is replayed. `static Duration deadline()`: of draining, then RESET comes.
template <class F>
concept Fence = requires(End e) {
  { F::fences(e) } noexcept -> std::same_as<bool>;
  { F::deadline() } noexcept -> std::same_as<Duration>;
};

// ---- Release: when is a send complete

/// Required: `static bool on_acknowledgement(needs_confirm)`: true when the NIC's acknowledgement
/// completes a send; false when the receiver's confirmed position does. `needs_confirm` is what the
/// receiver's CTS says: its memory must be flushed first.
template <class R>
concept Release = requires(bool needs_confirm) {
  { R::on_acknowledgement(needs_confirm) } noexcept -> std::same_as<bool>;
};

// ---- Rollback: step at which sending resumes

/// Op classes. What a rollback cannot replay does not compile in a connection with a backup.
struct OrderedNotify {};  ///< Write, then notify on the same QP.
struct Idempotent {};     ///< A write that may land twice.
struct TwoSided {};       ///< Send and receive.
struct Atomic {};         ///< Fetch-and-add, compare-and-swap.
struct InlineFlag {};     ///< A flag inside the data (NCCL's LL and LL128).

/// Required: `static Step resume(receiver, sender)`: where sending goes on, from the receiver's
/// received position and the sender's completed one. `replays<Op>`: may an op of that class be
/// replayed.
template <class R>
concept Rollback = requires(Step receiver, Step sender) {
  { R::resume(receiver, sender) } noexcept -> std::same_as<Step>;
  { R::template replays<OrderedNotify> } -> std::convertible_to<bool>;
};

/// True when a rollback may replay an op class.
template <class Op, class R>
concept ReplayableBy = Rollback<R> && R::template replays<Op>;

// ---- Failback: when to try a lost path again

/// Required: `static bool returns()`; `static Duration probe_after(attempt, random)`: wait before
/// attempt 0, 1, 2, ...; `static Duration good_for()`: how long a repaired path must be good before
/// use.
template <class F>
concept Failback = requires(std::uint32_t attempt, std::uint32_t random) {
  { F::returns() } noexcept -> std::same_as<bool>;
  { F::probe_after(attempt, random) } noexcept -> std::same_as<Duration>;
  { F::good_for() } noexcept -> std::same_as<Duration>;
};

// ---- Health: what connections of a process share about their ports

/// Required: `note(event, time)`, by the one event reader; `watch(port, now)`, from any thread:
/// what is known of that local port.
template <class H>
concept Health = std::default_initializable<H> &&
                 requires(H& h, H const& c, PortEvent const& e, PortId p, Time t) {
                   { h.note(e, t) } noexcept -> std::same_as<void>;
                   { c.watch(p, t) } noexcept -> std::same_as<PortWatch>;
                 };

// ---- Aggregator: may this op join the last args

/// Required: `static bool may_join(last, count, op)`: may `op` become one more sub of args that
/// hold `count` ops, the last one of which is `last`. Pure.
template <class A>
concept Aggregator = requires(ProxyOp const& last, std::size_t count, ProxyOp const& op) {
  { A::may_join(last, count, op) } noexcept -> std::same_as<bool>;
};

// ---- Telemetry: what is recorded

/// Something worth knowing about a connection. Never per message.
struct Event {
  enum class Kind : std::uint8_t {
    ready,
    path_lost,
    fenced,
    switched,
    rearmed,
    probe_failed,
    returned,
    aborted,
    closed,
  };
  Kind kind = Kind::ready;
  End end = End::sender;
  PathId path = no_path;
  Cause cause = Cause::none;
  Epoch epoch = 0;
  Step position = 0;
  Time at{};
};

/// Required: `record(event)`; called by the connection's owner or the service thread, never both at
/// once.
template <class T>
concept Telemetry = requires(T& t, Event const& e) {
  { t.record(e) } noexcept -> std::same_as<void>;
};

// ---- SyncPolicy: how the two ends agree

/// One end's rules as a machine without I/O: each input appends to `out` what its driver must do.
/// Inputs: a path failed, nothing can go on, close, a fence is done, a message (and the path it
/// came on, no_path for out of band), a step of arming is done, time to repeat, a deadline passed.
/// `snapshot(positions)` is the message to send; `may_post()`: may the driver post on the current
/// path.
template <class M>
concept SyncMachine =
    std::constructible_from<M, sync::Start const&> &&
    requires(M& m, M const& c, PathId q, std::uint16_t n, Cause why, bool ok, sync::Positions at,
             sync::Message const& message, sync::Actions& out) {
      { m.on_fault(q, n, why, out) } noexcept;
      { m.on_fatal(why, out) } noexcept;
      { m.on_close(out) } noexcept;
      { m.on_fenced(q, n, ok, at, out) } noexcept;
      { m.on_message(message, q, at, out) } noexcept;
      { m.on_prepared(q, n, ok, out) } noexcept;
      { m.on_connected(q, n, ok, out) } noexcept;
      { m.on_tick(out) } noexcept;
      { m.on_outage_deadline(out) } noexcept;
      { m.on_linger_deadline(out) } noexcept;
      { m.snapshot(at) } noexcept -> std::same_as<sync::Message>;
      { c.awaiting() } noexcept -> std::same_as<bool>;
      { c.may_post() } noexcept -> std::same_as<bool>;
    };

/// `arms_backup`: false for NoSync, which cannot move anything to a backup.
template <class S>
concept SyncPolicy = requires {
  { S::arms_backup } -> std::convertible_to<bool>;
  { S::in_band } -> std::convertible_to<bool>;      ///< Messages travel as records on the paths.
  { S::out_of_band } -> std::convertible_to<bool>;  ///< Messages travel on the set-up pipe.
} && (!S::arms_backup || (SyncMachine<typename S::Sender> && SyncMachine<typename S::Receiver>));

// ---- Timing: the deadlines of a bundle

/// Deadlines that belong to no single policy.
struct Timing {
  Duration repeat_first = {1'000'000};  ///< A control message is repeated after this, ...
  Duration repeat_cap = {50'000'000};   ///< ... twice as long each time, at most this.
  Duration outage = {30'000'000'000};   ///< No usable path for so long: abort.
  Duration setup = {10'000'000'000};    ///< connect and accept give up after this.
  Duration linger = {2'000'000'000};    ///< close and abort take less than this, come what may.
  std::uint8_t nic_timeout = 16;        ///< 4.096 us x 2^timeout per try (IBTA).
  std::uint8_t nic_retry_count = 6;     ///< At most 6: rxe takes 7 as for ever.
  std::uint8_t nic_rnr_retry = 7;       ///< 7 is for ever.
  std::uint8_t nic_min_rnr_timer = 12;  ///< 0.64 ms (IBTA table of RNR timers).

  /// Of linger: what a sender that closes gives the writes under way, ...
  [[nodiscard]] constexpr Duration linger_for_writes() const noexcept { return linger / 2; }
  /// ... and what fences and the peer's last word then get. An eighth is left for a busy machine.
  [[nodiscard]] constexpr Duration linger_for_peer() const noexcept { return linger * 3 / 8; }

  /// How long the NIC tries before it reports retry_exceeded.
  [[nodiscard]] constexpr Duration nic_retry_window() const noexcept {
    return Duration{(std::int64_t{4'096} << nic_timeout) * (nic_retry_count + 1)};
  }
};

// ---- The bundle: one policy per role

/// One type that names a policy for every role. Inherit from one of ours and shadow a line.
template <class B>
concept PolicyBundle =
    PathSelector<typename B::PathSelector> && Detector<typename B::Detector> &&
    Fence<typename B::Fence> && Release<typename B::Release> && Rollback<typename B::Rollback> &&
    Failback<typename B::Failback> && Health<typename B::Health> &&
    Aggregator<typename B::Aggregator> && Telemetry<typename B::Telemetry> && requires {
      { B::timing } -> std::convertible_to<Timing>;
    };

}  // namespace vccl
