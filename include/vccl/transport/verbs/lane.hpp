// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// IbVerbs: a lane of reliable connected queue pairs of an RDMA device.

#include <vccl/concepts.hpp>
#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/connected_queue.hpp>
#include <vccl/transport/verbs/errands.hpp>
#include <vccl/transport/verbs/gid.hpp>
#include <vccl/transport/verbs/handles.hpp>
#include <vccl/transport/verbs/host.hpp>
#include <vccl/transport/verbs/queue_pair.hpp>
#include <vccl/transport/verbs/registration.hpp>
#include <vccl/transport/verbs/status.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <endian.h>
#include <span>
#include <utility>

namespace vccl::verbs {

/// A lane: the QPs of one connection on one port, their CQ, and a QP to itself for flush reads.
///
/// State: its verbs objects; requests that wait for their doorbell.  Hot path: post() fills a
/// request in, flush() gives them all to the provider, poll() asks for 16 completions; no lock, no
/// allocation.  Thread safety: one owner.
/// describe() and fence() are calls of the kernel, 0.1 to 1 ms each. connect() on Ethernet waits
/// for the kernel to resolve the peer's address, where nobody answers a second: at set-up in the
/// call, later on a thread of the port, so that the traffic of other paths does not wait.
template <Bootstrap Boot, class Api = SystemVerbs>
class Lane {
 public:
  using Host = verbs::Host<Boot, Api>;
  using Registration = verbs::Registration<Api>;
  static constexpr Limits limits{.max_inline = 64};
  /// Requests that a doorbell rings for, at most; one more rings early.
  static constexpr std::size_t chain = 16;

  /// QPs in RESET. Throws SetupError: no such port, a number out of range, no room in the device.
  Lane(Host& host, LaneConfig const& config)
      : host_{host}, port_{host.open_port(config.port)}, config_{config} {
    check_lane(config_);
    HostConfig const& shared = host.config();
    if (config_.service_level == 0) config_.service_level = shared.service_level;
    if (config_.traffic_class == 0) config_.traffic_class = shared.traffic_class;
    split_above_ = shared.split_above;
    if (split_above_ != ~0u)
      config_.send_depth = static_cast<std::uint16_t>(config_.send_depth * 2);
    ibv_port_attr attr{};
    if (int const e = error_of(Api::query_port(context(), port_.number, &attr)); e != 0)
      throw SetupError{"ibv_query_port", e, "the device does not answer for this port"};
    max_message_ = verbs::max_message(attr);
    cq_ = create_cq<Api>(context(), static_cast<int>(queue_depth(config_)), tag_of(config_.port));
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      queues_[i].take(create_qp<Api>(port_.device->domain.get(), how_to_make(i)));
    }
  }
  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;
  /// Waits for a connect() that is under way.
  ~Lane() {
    cancelled_ = true;
    while (errand_.under_way()) Api::pause();
  }

  /// Takes a request; it goes out with flush(). path_down: the lane is not connected, or was
  /// fenced. invalid_argument: no such QP, longer than max_message(), too long to inline.
  [[nodiscard]] Errc post(WorkRequest const& w) noexcept {
    if (w.qp >= config_.qps || w.length > max_message_) [[unlikely]]
      return Errc::invalid_argument;
    if (w.inlined && w.length > limits.max_inline) [[unlikely]]
      return Errc::invalid_argument;
    return take(w.qp, w);
  }

  /// Lends an empty receive. Works from INIT on (IBTA vol. 1, 10.3.1.2). Needs no flush().
  [[nodiscard]] Errc post_receive(std::uint8_t qp, std::uint64_t id) noexcept {
    if (qp >= config_.qps) return Errc::invalid_argument;
    return queues_[qp].post_receive(id);
  }

  /// Reads a byte of registered memory through this port, over a QP to itself: what this lane wrote
  /// there before is then visible to the memory's device. invalid_argument: no byte to read.
  [[nodiscard]] Errc post_flush_read(Memory const& memory, Keys keys, std::uint64_t id) noexcept {
    if (memory.length == 0) return Errc::invalid_argument;
    WorkRequest w;
    w.kind = WorkRequest::Kind::read;
    w.id = id;
    w.local = reinterpret_cast<std::uintptr_t>(port_.device->flush_target.data());
    w.length = 1;
    w.remote = memory.address;
    w.keys = {port_.device->flushed->lkey, keys.remote};
    return take(config_.qps, w);
  }

  /// Rings for everything posted. would_block: a queue is full for now; then poll() rings again.
  [[nodiscard]] Errc flush() noexcept {
    Errc worst = Errc::ok;
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      Errc const e = queues_[i].ring();
      if (e == Errc::would_block) rings_later_ = true;
      if (e != Errc::ok && worst != Errc::path_down) worst = e;
    }
    return worst;
  }

  /// Finished work, oldest first. A CQ that cannot be polled any more gives nothing: its event
  /// tells, or the wait does.
  [[nodiscard]] std::size_t poll(std::span<Completion> out) noexcept {
    if (connecting_) [[unlikely]]
      return 0;
    if (rings_later_) [[unlikely]] {
      rings_later_ = false;
      static_cast<void>(flush());
    }
    std::array<ibv_wc, batch> done;
    std::size_t const most = out.size() < batch ? out.size() : batch;
    int const got = take_completions(static_cast<int>(most), done.data());
    for (int i = 0; i < got; ++i)
      out[static_cast<std::size_t>(i)] = translate(done[static_cast<std::size_t>(i)]);
    return static_cast<std::size_t>(got);
  }

  /// failed: the device refuses, and holds the QP still. A QP that cannot be RESET is destroyed,
  /// which is as quiet; describe() makes a new one. So it is with QPs that carried nothing in their
  /// last period: one that RESET does not heal must not be tried for ever.
  [[nodiscard]] Errc fence(FenceStep step) noexcept {
    if (connecting_) {
      cancelled_ = true;
      if (errand_.under_way()) return Errc::would_block;
      connecting_ = false;
    }
    open_ = false;
    Errc all = Errc::ok;
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      Errc const e = step == FenceStep::error ? queues_[i].to_error()
                     : rebuilds()             ? queues_[i].destroy()
                                              : queues_[i].to_reset();
      if (e != Errc::ok && all != Errc::failed) all = e;
    }
    if (step == FenceStep::reset && all == Errc::ok) end_period();
    return all;
  }

  /// From RESET to INIT, with fresh packet numbers; new QPs where there are none any more.
  /// Repeating it in INIT only asks port and GID again. would_block: port not active, or without a
  /// GID; no room in the device now. path_down: it refuses. invalid_argument: connected.
  [[nodiscard]] Errc describe(LaneAddress& mine) noexcept {
    if (connecting_) return Errc::invalid_argument;
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      if (queues_[i].state() == State::error) return Errc::path_down;
      if (queues_[i].state() >= State::rtr) return Errc::invalid_argument;
    }
    ibv_port_attr attr{};
    if (Errc const e = ask_port(attr); e != Errc::ok) return e;
    if (Errc const e = make_again(); e != Errc::ok) return e;
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      if (queues_[i].state() != State::reset) continue;
      Errc const e = queues_[i].to_init(local_, i == config_.qps, Api::random());
      if (e != Errc::ok) return e;
    }
    mine = {};
    static_assert(sizeof mine.gid == sizeof local_.gid);
    std::memcpy(mine.gid.data(), local_.gid.raw, sizeof local_.gid);
    for (std::size_t i = 0; i < config_.qps; ++i) {
      mine.qp_numbers[i] = queues_[i]->qp_num;
      mine.packet_numbers[i] = queues_[i].first_psn();
    }
    mine.max_message = max_message_ = verbs::max_message(attr);
    mine.speed_mbps = speed_mbps(attr);
    mine.lid = local_.lid;
    mine.mtu = local_.mtu;
    mine.qps = config_.qps;
    mine.ece = queues_[0].ece();
    mine_ = mine;
    return Errc::ok;
  }

  /// From INIT to RTS, towards `theirs`. ok again when already there. would_block: the peer's
  /// address cannot be resolved now. invalid_argument: not described, another number of QPs, an
  /// address of another link layer. path_down: the device refuses.
  [[nodiscard]] Errc connect(LaneAddress const& theirs) noexcept {
    if (connecting_) {
      if (errand_.under_way()) return Errc::would_block;
      connecting_ = false;
      return connected();
    }
    if (!is_sound(config_, theirs) || !reaches(theirs)) return Errc::invalid_argument;
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      State const s = queues_[i].state();
      if (s == State::error) return Errc::path_down;
      if (s < State::init || (s > State::init && theirs != theirs_)) return Errc::invalid_argument;
    }
    if (open_) return Errc::ok;
    theirs_ = theirs;
    unproven_ = true;
    cancelled_ = false;
    if (Api::real_time() && fenced_) {
      auto const run = [](void* lane) noexcept { static_cast<Lane*>(lane)->connect_queues(); };
      connecting_ = port_.errands->start(errand_, run, this);
      if (connecting_) return Errc::would_block;
    }
    connect_queues();
    return connected();
  }

  /// Bytes: the smaller of both ends' once connected, before that this end's.
  [[nodiscard]] std::uint64_t max_message() noexcept { return max_message_; }

  /// False when the GID that it was described with is not at its place any more.
  [[nodiscard]] bool address_stands() noexcept {
    ibv_gid_entry now{};
    int const error = Api::query_gid(context(), port_.number, local_.gid_index, &now);
    return error == 0 && std::memcmp(&now.gid, &local_.gid, sizeof now.gid) == 0;
  }

  /// Throws SetupError; see Registration. Ports of one device have a registration each.
  [[nodiscard]] static Registration register_memory(Host& host, PortId port, void* address,
                                                    std::size_t length, Access access,
                                                    MemoryKind kind) {
    return {host.open_port(port).device->domain.get(),
            address,
            length,
            access,
            kind,
            host.config().export_dma_buf};
  }

 private:
  static constexpr std::size_t batch = 16;

  using Queue = ConnectedQueue<Api, Lane::chain, Lane::limits.max_inline>;
  using State = typename Queue::State;

  [[nodiscard]] ibv_context* context() const noexcept { return port_.device->context.get(); }

  [[nodiscard]] ibv_qp_init_attr how_to_make(std::size_t i) const noexcept {
    bool const loopback = i == config_.qps;
    ibv_qp_init_attr how{};
    how.qp_context = tag_of(config_.port);
    how.send_cq = how.recv_cq = cq_.get();
    how.qp_type = IBV_QPT_RC;
    how.cap.max_send_wr = config_.send_depth;
    how.cap.max_recv_wr = loopback ? 0u : config_.receive_depth;
    how.cap.max_send_sge = 1;
    how.cap.max_recv_sge = loopback ? 0u : 1u;
    how.cap.max_inline_data = loopback ? 0u : static_cast<std::uint32_t>(limits.max_inline);
    return how;
  }
  [[nodiscard]] Errc take(std::size_t i, WorkRequest const& w) noexcept {
    if (!open_) [[unlikely]]
      return Errc::path_down;
    bool const split = w.kind == WorkRequest::Kind::write_with_immediate && w.length > split_above_;
    Errc const e = split ? queues_[i].post_split(w) : queues_[i].post(w);
    if (e == Errc::would_block) [[unlikely]]
      rings_later_ = true;
    return e;
  }

  [[nodiscard]] int take_completions(int most, ibv_wc* into) noexcept {
    if (!cq_) return 0;
    int const got = Api::poll_cq(cq_.get(), most, into);
    if (got > 0) [[likely]]
      return got;
    if (got < 0) cq_failed_ = true;
    return 0;
  }
  [[nodiscard]] Completion translate(ibv_wc const& w) noexcept {
    Completion c;
    c.id = w.wr_id;
    c.status = to_status(w.status);
    c.qp_num = w.qp_num;
    c.vendor_error = w.vendor_err;
    if (c.status != Status::success) return c;
    unproven_ = false;
    c.kind = to_kind(w.opcode);
    c.bytes = w.byte_len;
    if ((w.wc_flags & IBV_WC_WITH_IMM) != 0) c.immediate = be32toh(w.imm_data);
    return c;
  }

  /// A CQ that failed, and QPs that carried nothing, are made again: RESET may not heal them.
  [[nodiscard]] bool rebuilds() const noexcept { return cq_failed_ || unproven_; }
  /// Forgets completions of the period that is over. No QP adds to them any more.
  void end_period() noexcept {
    if (rebuilds()) static_cast<void>(cq_.reset());
    std::array<ibv_wc, batch> gone;
    while (take_completions(static_cast<int>(batch), gone.data()) > 0) {
    }
    fenced_ = true;
    rings_later_ = unproven_ = false;
    theirs_ = {};
  }

  [[nodiscard]] Errc ask_port(ibv_port_attr& attr) noexcept {
    if (port_.device->dead) return Errc::path_down;
    if (int const e = error_of(Api::query_port(context(), port_.number, &attr)); e != 0)
      return to_errc(e);
    if (attr.state != IBV_PORT_ACTIVE) return Errc::would_block;
    ibv_gid_entry gid{};
    Errc const e = choose_gid<Api>(context(), port_.number, attr, host_.config().gid, gid);
    if (e != Errc::ok) return e;
    local_ = {.number = port_.number,
              .ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET,
              .mtu = static_cast<std::uint8_t>(attr.active_mtu),
              .gid_index = static_cast<std::uint8_t>(gid.gid_index),
              .pkey_index = host_.config().pkey_index,
              .lid = attr.lid,
              .gid = gid.gid};
    return Errc::ok;
  }

  /// Makes what fence() has destroyed.
  [[nodiscard]] Errc make_again() noexcept {
    if (!cq_) {
      cq_ = verbs::Queue<Api>{
          Api::create_cq(context(), static_cast<int>(queue_depth(config_)), tag_of(config_.port))};
      if (!cq_) return to_errc(errno);
      cq_failed_ = false;
    }
    for (std::size_t i = 0; i <= config_.qps; ++i) {
      if (queues_[i].state() != State::none) continue;
      ibv_qp_init_attr how = how_to_make(i);
      QueuePair<Api> made{Api::create_qp(port_.device->domain.get(), &how)};
      if (!made) return to_errc(errno);
      queues_[i].take(std::move(made));
    }
    return Errc::ok;
  }

  /// An InfiniBand peer has a LID, an Ethernet peer has a GID and no LID.
  [[nodiscard]] bool reaches(LaneAddress const& theirs) const noexcept {
    if (!local_.ethernet) return theirs.lid != 0;
    return theirs.lid == 0 && theirs.gid != decltype(theirs.gid){};
  }

  /// Perhaps on another thread: touches nothing but the QPs' states, and the outcome.
  void connect_queues() noexcept {
    outcome_ = Errc::ok;
    for (std::size_t i = 0; i <= config_.qps && outcome_ == Errc::ok; ++i)
      outcome_ = cancelled_ ? Errc::would_block : connect_queue(i);
  }
  [[nodiscard]] Errc connected() noexcept {
    open_ = outcome_ == Errc::ok;
    if (open_ && theirs_.max_message < max_message_) max_message_ = theirs_.max_message;
    return outcome_;
  }
  /// The QP of flush reads is its own peer.
  [[nodiscard]] Errc connect_queue(std::size_t i) noexcept {
    Queue& q = queues_[i];
    if (i != config_.qps)
      return q.connect(to_rtr(config_, local_, theirs_, i), config_, agreed(q.ece()));
    LaneAddress self = mine_;
    self.qp_numbers[0] = q->qp_num;
    self.packet_numbers[0] = q.first_psn();
    return q.connect(to_rtr(config_, local_, self, 0), config_, {});
  }
  /// Both ends have the same: then it is used at both, and else at none, without another message.
  [[nodiscard]] EnhancedEstablishment agreed(EnhancedEstablishment mine) const noexcept {
    return mine == theirs_.ece ? mine : EnhancedEstablishment{};
  }

  Host& host_;
  typename Host::Port const& port_;
  LaneConfig config_;
  verbs::Queue<Api> cq_;                     // Outlives its QPs.
  std::array<Queue, max_qps + 1> queues_{};  ///< The last one used is that of flush reads.
  LocalPort local_{};
  LaneAddress mine_{}, theirs_{};
  Errand errand_;
  std::atomic<bool> cancelled_ = false;
  Errc outcome_ = Errc::ok;  ///< Of the last connect_queues().
  std::uint64_t max_message_ = 0;
  std::uint32_t split_above_ = ~0u;
  bool open_ = false;        ///< Connected, and not fenced since.
  bool connecting_ = false;  ///< An errand was started, and its outcome not taken yet.
  bool fenced_ = false;      ///< A period has ended: this is no set-up any more.
  bool rings_later_ = false;
  bool unproven_ = false;   ///< Nothing succeeded since connect().
  bool cq_failed_ = false;  ///< It cannot be polled any more.
};

}  // namespace vccl::verbs

namespace vccl {
/// The name that users take, with the Bootstrap that brings their ends together.
template <Bootstrap Boot, class Api = verbs::SystemVerbs>
using IbVerbs = verbs::Lane<Boot, Api>;
}  // namespace vccl
