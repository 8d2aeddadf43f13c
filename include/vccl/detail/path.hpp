// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// One path of a connection: its lanes, the records that travel on it, its queues' accounts, its
/// fence.

#include <vccl/concepts.hpp>
#include <vccl/detail/lanes.hpp>
#include <vccl/detail/records.hpp>
#include <vccl/detail/work.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace vccl::detail {

/// How often a path comes up. One that can come up again tells the completions of its lives apart
/// and knows what is under way when it is fenced.
enum class Life : std::uint8_t { one, many };

/// One path. Owned by one end of a connection, used by its owner thread only.
template <Transport T, Life life = Life::many>
class Path {
 public:
  using Host = typename T::Host;
  static constexpr std::uint16_t reserve = 8;  ///< Send-queue slots kept for probes and control.
  static constexpr std::size_t batch = 16;     ///< Completions of a lane that are taken at a time.

  /// The account of one QP.
  struct alignas(64) Queue {
    std::uint64_t id = 0;  ///< What the ids of all its work have in common.
    T* on = nullptr;
    std::uint16_t posted = 0;
    std::uint16_t completed = 0;
    std::uint16_t signaled = 0;  ///< `posted` of the last signaled work.
    std::uint16_t receives = 0;
    std::uint8_t lane = 0;
    std::uint8_t lane_bit = 0;
    std::uint8_t keys_at = 0;  ///< Where its lane's keys stand in a table of keys, in bytes.
    std::uint8_t qp = 0;
    // Prepared: what is the same for every record, or every piece of data, is filled in once.
    WorkRequest record{};
    WorkRequest data{};
    /// A buffer's keys on this queue's lane.
    [[nodiscard]] Keys keys_of(KeyTable const& table) const noexcept {
      Keys k;
      std::memcpy(&k, reinterpret_cast<const std::byte*>(&table) + keys_at, sizeof k);
      return k;
    }
    /// A signaled completion is still to come.
    [[nodiscard]] bool waits() const noexcept {
      auto const behind = static_cast<std::uint16_t>(signaled - completed);
      return behind != 0 && behind <= 0x7fff;
    }
    [[nodiscard]] std::uint16_t used() const noexcept {
      return static_cast<std::uint16_t>(posted - completed);
    }
  };

  Path() = default;
  Path(Path const&) = delete;
  Path& operator=(Path const&) = delete;
  /// Lanes go before the registrations that they know. (They stand first for the thin calls.)
  ~Path() { lanes_.clear(); }

  /// Opens a lane per port and registers the block on each. Throws SetupError; then nothing is
  /// left.
  /// `receives`: whether notifies arrive here, so that receives must be posted.
  void open(Host& host, std::span<PortId const> ports, LaneConfig config, PathBlock& block,
            bool receives) {
    block_ = &block;
    receives_ = receives;
    qps_ = config.qps;
    most_used_ = static_cast<std::uint16_t>(config.send_depth - reserve);
    half_used_ = static_cast<std::uint16_t>(config.send_depth / 2);
    try {
      for (PortId port : ports) open_lane(host, port, config, block);
    } catch (...) {
      lanes_.clear();
      registrations_.clear();
      throw;
    }
    queue_count_ = static_cast<std::uint8_t>(lanes_.size() * qps_);
    forget();
  }

  /// Its number among the paths of its connection.
  [[nodiscard]] PathId id() const noexcept { return life == Life::one ? PathId{0} : id_; }
  void set_id(PathId id) noexcept {
    id_ = id;
    for (Queue& q : queues_) place_keys(q);
  }
  [[nodiscard]] std::size_t lane_count() const noexcept { return lanes_.size(); }
  [[nodiscard]] std::size_t queue_count() const noexcept { return queue_count_; }
  [[nodiscard]] std::uint8_t qps() const noexcept { return qps_; }
  [[nodiscard]] T& lane(std::size_t i) noexcept { return lanes_[i]; }
  /// The queue that carries the first part of a step. Queue q is QP q / lanes of lane q % lanes.
  [[nodiscard]] Queue& queue_of(Step s) noexcept { return queues_[s % queue_count_]; }
  [[nodiscard]] PortId port(std::size_t i) const noexcept { return ports_[i]; }
  [[nodiscard]] PathBlock& block() noexcept { return *block_; }
  [[nodiscard]] Keys block_keys(std::size_t lane) const noexcept {
    return registrations_[lane].keys();
  }
  [[nodiscard]] std::uint64_t max_message() noexcept {
    std::uint64_t least = ~std::uint64_t{0};
    for (T& l : lanes_) least = l.max_message() < least ? l.max_message() : least;
    return least;
  }

  /// Where the peer's block of this path is.
  void set_remote(std::uint64_t address,
                  std::array<std::uint32_t, max_lanes> const& keys) noexcept {
    remote_ = address;
    for (std::size_t l = 0; l < max_lanes; ++l) record_keys_[l].remote = keys[l];
    for (Queue& q : queues_) q.record.keys = record_keys_[q.lane];
  }

  /// Address in the peer's block of what stands at `here` in ours.
  [[nodiscard]] std::uint64_t mirror(const void* here) const noexcept {
    return remote_ + static_cast<std::uint64_t>(static_cast<const std::byte*>(here) -
                                                reinterpret_cast<const std::byte*>(block_));
  }

  // ---- Posting

  /// True when a send queue takes `n` more requests, the reserve not counted.
  [[nodiscard]] bool has_room(Queue const& q, std::uint16_t n) const noexcept {
    return q.used() + n <= most_used_;
  }

  /// Posts one of a queue's requests, which needs everything but its id. The caller has asked
  /// has_room().
  [[gnu::always_inline]] Errc post(Queue& q, WorkRequest& wr, Work work, Step step) noexcept {
    auto const sequence = static_cast<std::uint16_t>(q.posted + 1);
    bool const signaled = wr.signaled;  // Known here, where it has just been set.
    wr.id = q.id | step << 32 | std::uint64_t{sequence} << 16 | static_cast<std::uint64_t>(work);
    Errc const e = q.on->post(wr);
    if (e == Errc::ok) [[likely]] {
      q.posted = sequence;
      if constexpr (life == Life::many) {
        if (signaled) [[unlikely]]
          q.signaled = sequence;
      }
      dirty_ = static_cast<std::uint8_t>(dirty_ | q.lane_bit);
    }
    return e;
  }

  /// Posts a write of `bytes` from our block to the same place in the peer's. Inlined when it fits.
  [[gnu::always_inline]] Errc post_record(Queue& q, const void* record, std::size_t bytes,
                                          Work work, Step step, bool signaled) noexcept {
    return post_record(q, record, mirror(record), bytes, work, step, signaled);
  }

  /// Posts what stands in control_out to the peer's control_in.
  Errc post_control(std::size_t queue, std::size_t bytes, Work work, bool signaled) noexcept {
    return post_record(queues_[queue], block_->control_out.data(),
                       mirror(block_->control_in.data()), bytes, work, 0, signaled);
  }

  /// Puts a frame where post_control() takes it from. Returns its bytes.
  std::size_t write_control_out(ControlFrame const& f) noexcept {
    return write_control(*reinterpret_cast<ControlRecord*>(block_->control_out.data()), f);
  }
  /// Sends a frame in band. One that finds no room is not missed: messages repeat.
  void send_control(ControlFrame const& f) noexcept {
    static_cast<void>(post_control(0, write_control_out(f), Work::control, sign_now(queues_[0])));
    static_cast<void>(flush());
  }

  [[gnu::always_inline]] Errc post_record(Queue& q, const void* record, std::uint64_t to,
                                          std::size_t bytes, Work work, Step step,
                                          bool signaled) noexcept {
    WorkRequest& wr = q.record;
    wr.traffic = work == Work::data || work == Work::chunk ? Traffic::data
                 : work == Work::cts                       ? Traffic::cts
                                                           : Traffic::control;
    wr.signaled = signaled;
    wr.inlined = bytes <= static_cast<Limits>(T::limits).max_inline;
    wr.local = reinterpret_cast<std::uint64_t>(record);
    wr.length = bytes;
    wr.remote = to;
    return post(q, wr, work, step);
  }

  /// True every so often on a queue that only carries unsignaled records, so that it is retired.
  [[nodiscard]] bool sign_now(Queue const& q) const noexcept {
    return ((q.posted + 1) & 31) == 0 || q.used() > half_used_;
  }

  /// Reads a byte of `m` through a lane; its completion is Work::flush for `step`.
  Errc post_flush_read(std::size_t lane, Memory const& m, Keys keys, Step step) noexcept {
    Errc const e = lanes_[lane].post_flush_read(
        m, keys, queues_[lane].id | step << 32 | static_cast<std::uint64_t>(Work::flush));
    if (e == Errc::ok) dirty_ = static_cast<std::uint8_t>(dirty_ | 1u << lane);
    return e;
  }

  /// Rings every lane that something was posted on.
  [[gnu::always_inline]] Errc flush() noexcept {
    if (dirty_ == 1) [[likely]] {
      dirty_ = 0;
      return lanes_[0].flush();
    }
    Errc worst = Errc::ok;
    for (unsigned d = std::exchange(dirty_, std::uint8_t{0}); d != 0; d &= d - 1) {
      Errc const e = lanes_[static_cast<std::size_t>(std::countr_zero(d))].flush();
      if (e != Errc::ok) worst = e;
    }
    return worst;
  }

  /// Fills every receive queue up to the notify window. Receives belong to QPs, not to steps.
  Errc fill_receives() noexcept {
    if (!receives_) return Errc::ok;
    for (std::size_t i = 0; i < queue_count_; ++i) {
      for (std::size_t n = queues_[i].receives; n < window; ++n) {
        if (Errc const e = post_receive(queues_[i]); e != Errc::ok) return e;
      }
    }
    return Errc::ok;
  }

  // ---- Polling

  /// Takes what has finished, `handle(Arrival const&)` for each. False when there was nothing.
  template <class F>
  [[gnu::always_inline]] bool poll(F&& handle) noexcept {
    std::size_t n = lanes_[0].poll({batch_.data(), batch});
    for (std::size_t l = 1; l < lanes_.size(); ++l) n += lanes_[l].poll({batch_.data() + n, batch});
    if (n == 0) return false;
    Completion const *c = batch_.data(), *const end = c + n;
    do {
      take(*c, handle);
    } while (++c != end);
    return true;
  }

  /// Every completion that says something has come: of the signaled work, and of every receive.
  /// Whether unsignaled records went out before the queue was stopped is of no account.
  [[nodiscard]] bool accounted_for() const noexcept {
    for (Queue const& q : queues_) {
      if (q.receives != 0 || q.waits()) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t completions() const noexcept { return completions_; }
  [[nodiscard]] std::uint64_t stale() const noexcept { return stale_; }

  // ---- Coming up and going down

  /// Describes every lane under a re-arm number, receives filled. would_block: ask again.
  Errc describe(std::uint16_t number, std::span<LaneAddress, max_lanes> out) noexcept {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (Errc const e = lanes_[l].describe(out[l]); e != Errc::ok) return e;
    }
    generation_ = static_cast<std::uint16_t>(number & generation_mask);
    forget();
    return fill_receives();
  }

  Errc connect(std::span<LaneAddress const, max_lanes> theirs) noexcept {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (Errc const e = lanes_[l].connect(theirs[l]); e != Errc::ok) return e;
    }
    return Errc::ok;
  }

  /// Asks every lane for a step of the fence. ok when all have it.
  Errc fence(FenceStep step) noexcept {
    Errc all = Errc::ok;
    for (T& l : lanes_) {
      Errc const e = l.fence(step);
      if (e == Errc::would_block && all == Errc::ok) all = e;
      if (e != Errc::ok && e != Errc::would_block) all = Errc::failed;
    }
    return all;
  }

  /// Its fence has ended, well or not: until describe() gives it a new life, what comes is stale.
  void end_life() noexcept {
    for (Queue& q : queues_) q.id |= no_life;
  }

  /// After RESET: what has not been accounted for is lost.
  void forget() noexcept {
    for (std::size_t i = 0; i < queue_count_; ++i) {
      std::size_t const lane = i % lanes_.size();
      Queue& q = queues_[i];
      q = {};
      q.id = pack(WorkId{.generation = generation_, .queue = static_cast<std::uint8_t>(i)});
      q.on = &lanes_[lane];
      q.lane = static_cast<std::uint8_t>(lane);
      q.lane_bit = static_cast<std::uint8_t>(1u << lane);
      place_keys(q);
      q.qp = q.record.qp = q.data.qp = static_cast<std::uint8_t>(i / lanes_.size());
      q.record.keys = record_keys_[lane];
    }
    dirty_ = 0;
  }

 private:
  void place_keys(Queue& q) const noexcept {
    static_assert(sizeof(KeyTable) <= 0xff);
    q.keys_at = static_cast<std::uint8_t>((id_ * max_lanes + q.lane) * sizeof(Keys));
  }

  void open_lane(Host& host, PortId port, LaneConfig& config, PathBlock& block) {
    std::size_t const l = lanes_.size();
    ports_[l] = config.port = port;
    lanes_.emplace(host, config);
    registrations_.emplace(T::register_memory(host, port, &block, sizeof block,
                                              Access::remote_write, MemoryKind::host));
    record_keys_[l] = registrations_[l].keys();
  }

  Errc post_receive(Queue& q) noexcept {
    Errc const e = q.on->post_receive(q.qp, q.id);
    if constexpr (life == Life::many) {
      if (e == Errc::ok) ++q.receives;
    }
    return e;
  }

  /// The queue that an id belongs to; none when it is of an earlier life of this path.
  [[gnu::noinline]] Queue* other_queue(std::uint64_t id) noexcept {
    Queue& q = queues_[unpack_work(id).queue];
    if ((id & life_mask) == q.id) return &q;
    ++stale_;
    return nullptr;
  }

  template <class F>
  [[gnu::always_inline]] void take(Completion const& c, F& handle) noexcept {
    Arrival const a{unpack_work(c.id), c.status, c.immediate};
    Queue* q = queues_.data();
    if constexpr (life == Life::many) {
      // Most is of the first queue: that and its life are told by one compare.
      if ((c.id & life_mask) != q->id) [[unlikely]] {
        q = other_queue(c.id);
        if (q == nullptr) return;
      }
      ++completions_;
    } else {
      q += a.id.queue;
    }
    if (a.id.work > Work::flush) {
      q->completed = a.id.sequence;
    } else if (a.id.work == Work::receive) {
      if constexpr (life == Life::many) {
        take_receive(*q, c);
      } else if (c.status == Status::success) {
        static_cast<void>(post_receive(*q));
      }
    }
    handle(a);
  }

  /// A receive is used up. It is made good, with those that could not be posted before. Mostly the
  /// account is full and stays so, which needs no counting.
  [[gnu::always_inline]] void take_receive(Queue& q, Completion const& c) noexcept {
    if (c.status != Status::success || q.receives != window) [[unlikely]]
      return recount(c);
    if (q.on->post_receive(q.qp, q.id) != Errc::ok) [[unlikely]]
      --queues_[unpack_work(c.id).queue].receives;
  }
  [[gnu::noinline]] void recount(Completion const& c) noexcept {
    Queue& q = queues_[unpack_work(c.id).queue];
    --q.receives;
    if (c.status != Status::success) return;
    while (q.receives < window && post_receive(q) == Errc::ok) {
    }
  }

  Lanes<T> lanes_;
  std::array<Queue, max_lanes * max_qps> queues_{};
  std::array<Completion, batch * max_lanes> batch_{};  ///< Here: not to be made at every poll.
  std::uint16_t generation_ = 0;
  std::uint16_t most_used_ = 0;  ///< Of a send queue: its depth less the reserve.
  std::uint16_t half_used_ = 0;
  std::uint8_t qps_ = 1;
  std::uint8_t queue_count_ = 0;
  PathId id_ = 0;
  bool receives_ = false;
  std::uint8_t dirty_ = 0;  ///< Bit per lane whose doorbell is to be rung.
  std::uint64_t completions_ = 0;
  std::uint64_t stale_ = 0;
  std::uint64_t remote_ = 0;
  std::array<Keys, max_lanes> record_keys_{};
  PathBlock* block_ = nullptr;
  std::array<PortId, max_lanes> ports_{};
  Lanes<typename T::Registration> registrations_;
};

}  // namespace vccl::detail
