// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The sending end of a connection.

#include <vccl/detail/end.hpp>
#include <vccl/detail/send_queue.hpp>

namespace vccl {

/// Made by Context::connect(). Not movable: bind it where it is made, or construct it in place.
///
/// Thread safety: one owner thread; close(), abort() and status() from any.
template <class Link>
class Sender : public detail::EndBase<Sender<Link>, Link, End::sender> {
  using Base = detail::EndBase<Sender<Link>, Link, End::sender>;
  friend Base;
  friend detail::EndCore<Sender, Link, End::sender>;
  using Guard = typename Base::Guard;
  using Frame = detail::Frame;

 public:
  using Base::resilient;

  /// Throws SetupError for what is wrong at this end. What the peer refuses comes through status().
  Sender(Context<Link>& context, Route const& route, Handle const& handle)
      : Base{context, route}, handle_{handle}, queue_{route.first_step} {
    typename Base::Host::Address address;
    if (handle.magic != Handle::expected_magic || handle.address_bytes != sizeof address) {
      throw SetupError{"connect", 0, "this is no handle of a listener of this transport"};
    }
    if (handle.version != Handle::expected_version) {
      throw SetupError{"connect", 0,
                       "the handle is of another version of vccl: use the same at both ends"};
    }
    std::memcpy(static_cast<void*>(&address), handle.address.data(), sizeof address);
    this->pipe_ = context.host().dial(address);
    nonce_ = context.host().random();
    this->make_offer(mine_);
    mine_.secret = handle.secret;
    mine_.incarnation = handle.incarnation;
    mine_.nonce = nonce_;
    progress();
    this->enlist();
  }
  /// Tells the peer, as far as that does not block; buffers may be reused afterwards.
  ~Sender() { this->farewell(); }

  /// Sends a part of a registered buffer. It meets the first receive that asks for `tag`, in order
  /// of posting. The buffer must stay as it is until test() says done. Never blocks.
  ///
  /// The Request converts to false when nothing was taken: would_block (256 are under way: test
  /// them, call again), invalid_argument (not registered), closed or aborted.
  [[nodiscard]] Request isend(Memory const& from, Tag tag = Tag{}) noexcept
    requires(!resilient || ReplayableBy<OrderedNotify, typename Link::PoliciesType::Rollback>)
  {
    Guard const guard{*this};
    if (!this->takes_) [[unlikely]] {
      if (closing()) return {0, 0, Errc::closed};
      if (this->ended_) return {0, 0, Errc::aborted};
      return queue_.requests().add(from, tag);  // Sent when the connection is ready.
    }
    Request const r = queue_.requests().add(from, tag);
    if (r) pump();
    return r;
  }

  /// Makes progress and says how a send stands. Reports done once; then the Request is spent, and
  /// asking again gives invalid_argument.
  [[nodiscard]] Result test(Request r) noexcept {
    Guard const guard{*this, detail::Turn::State::polled};
    if (!queue_.requests().knows(r)) [[unlikely]]
      return {.done = true, .error = Errc::invalid_argument};
    if (!queue_.requests().is_done(r)) progress();
    if (queue_.requests().is_done(r)) return queue_.requests().take(r);
    return {};
  }

 private:
  // ---- Progress

  /// Apart from test(), which has other things to keep in registers.
  [[gnu::noinline]] void progress() noexcept {
    if (!this->settled_) [[unlikely]] {
      set_up();
      if (!this->ready_) return;
    }
    bool const came = this->paths_.chosen(
        [&](auto& path) __attribute__((always_inline)) { return this->poll_one(path); });
    if constexpr (resilient) {
      if (!came || this->must_look()) [[unlikely]]
        return look_around();
    } else {
      static_cast<void>(came);
    }
    if (queue_.may_pump()) pump();
  }

  /// Goes on after a poll that brought nothing, or when there is more to see to than data.
  [[gnu::noinline]] void look_around() noexcept {
    if (this->may_go_on()) {
      if (queue_.may_pump()) {
        pump();
      } else if (queue_.waits_for_confirmation()) {
        look_for_confirmation();
      }
    } else if (this->failover_.drain_asked()) {
      drain();
    }
    if (this->needs_service()) this->serve(this->now());
  }

  [[gnu::noinline]] void pump() noexcept {
    this->on_refused(this->paths_.chosen([&](auto& path) __attribute__((always_inline)) {
      Errc const e = queue_.pump(path, this->epoch_);
      if (e != Errc::ok) return e;
      return path.flush();
    }));
  }

  void look_for_confirmation() noexcept {
    this->paths_.chosen([&](auto& path) {
      queue_.look_for_confirmation(path, this->epoch_);
      return 0;
    });
  }

  void finish_step() noexcept {
    this->on_refused(this->paths_.chosen([&](auto& path) {
      Errc const e = queue_.finish_step(path, this->epoch_);
      return e == Errc::ok || e == Errc::would_block ? path.flush() : e;
    }));
  }

  /// Stops at a step boundary and waits for what is on the wire.
  void drain() noexcept {
    if (!queue_.at_step_boundary()) {
      finish_step();
    } else if (queue_.all_released()) {
      this->failover_.on_drained(*this);
      this->refresh();
    }
  }

  /// True when it was for the data.
  template <class P>
  [[gnu::always_inline]] bool on_arrival(P&, detail::Arrival const& a) noexcept {
    if (a.id.work != detail::Work::data) return false;
    queue_.on_acknowledged(a.id.step);
    return true;
  }

  // ---- For Failover

  friend class detail::Failover<typename Link::Sync, typename Link::PoliciesType, End::sender,
                                Sender>;
  friend class detail::FailoverCore<typename Link::Sync, typename Link::PoliciesType, End::sender,
                                    Sender>;

  [[nodiscard]] sync::Positions positions() const noexcept {
    return {queue_.done(), queue_.acknowledged()};
  }
  [[nodiscard]] std::uint64_t progress_mark() const noexcept { return queue_.done(); }
  [[nodiscard]] bool waits() const noexcept { return queue_.waits(); }
  [[nodiscard]] bool owes() const noexcept { return queue_.on_wire(); }
  [[nodiscard]] std::uint64_t outstanding_bytes() const noexcept { return queue_.bytes_on_wire(); }
  void on_switch(PathId q, Epoch epoch, Step position) noexcept {
    this->use_path(q);
    this->epoch_ = epoch;
    queue_.rewind(position, Link::PoliciesType::Rollback::resume(position, queue_.done()));
  }
  void on_finish(Cause why, Step position, bool final_position) noexcept {
    this->finish(why, position, final_position);
  }
  void finish_queue(Errc e, Step position, bool final_position) noexcept {
    queue_.finish(e, position, final_position);
  }
  void on_confirmed(Step position) noexcept { queue_.on_confirmed(position); }
  /// Without failover close() ends the connection at once.
  [[nodiscard]] bool closing() const noexcept { return resilient && closing_; }
  void on_refresh() noexcept {}
  void begin_close() noexcept {
    closing_ = true;
    closing_since_ = this->now();
  }
  void on_tick() noexcept {
    if (closing_ && !this->failover_.ending() &&
        (!queue_.on_wire() || this->now() - closing_since_ >= Base::timing.linger_for_writes())) {
      this->failover_.close(*this);
    }
  }
  void count(Counters& c) const noexcept {
    c.steps = queue_.done() - this->route_.first_step;
    c.resent_steps = queue_.resent_steps();
    c.resent_bytes = queue_.resent_bytes();
  }

  // ---- Set-up

  void set_up() noexcept {
    Time const t = this->now();
    if (this->setup_since_.ns == 0) this->setup_since_ = t;
    if (!this->ready_ || !resilient) {
      detail::FrameHeader h;
      for (std::size_t n; !this->settled_ && (n = this->pipe_.receive(this->frame_.bytes)) != 0;) {
        std::span<std::byte const> const in{this->frame_.bytes.data(), n};
        if (detail::read_header(in, h)) on_frame(h, in);
      }
    }
    if (queue_.next() != this->route_.first_step)
      this->settled_ = true;  // A CTS came: the receiver is up.
    if (this->settled_) return;
    if (!this->ready_ && t - this->setup_since_ > Base::timing.setup)
      return this->end_now(Cause::setup_deadline);
    if (t < this->setup_next_) return;
    this->setup_next_ = t + Base::setup_repeat;
    if (this->ready_) {
      detail::write_frame(this->frame_, Frame::ready, this->session_, nullptr, 0);
    } else {
      detail::write_frame(this->frame_, Frame::hello, 0, &mine_, sizeof mine_);
    }
    static_cast<void>(this->pipe_.send(this->frame_.view()));
  }

  void on_frame(detail::FrameHeader const& h, std::span<std::byte const> in) noexcept {
    if (h.kind == Frame::go && this->ready_ && h.session == this->session_) this->settled_ = true;
    if (this->ready_) return;
    if (h.kind == Frame::refuse)
      return this->end_now(h.cause == Cause::none ? Cause::bad_handshake : h.cause);
    detail::Offer theirs;
    if (h.kind != Frame::welcome || !detail::read_offer(in, theirs) || theirs.nonce == 0) return;
    if (theirs.incarnation != handle_.incarnation) return this->end_now(Cause::peer_restarted);
    this->session_ = h.session;
    this->epoch_ = theirs.first_epoch;
    queue_.set_max_message(mine_.max_message < theirs.max_message ? mine_.max_message
                                                                  : theirs.max_message);
    detail::Joined const joined = detail::join(this->paths_, mine_, theirs);
    this->present_ = joined.present;
    std::uint8_t up = 0;  // The receiver's word; what we could not connect ourselves is a fault.
    for (PathId q = 0; q < Base::Paths::count; ++q) {
      if (theirs.path[q].up != 0) up = static_cast<std::uint8_t>(up | 1u << q);
    }
    this->become_ready(up);
    for (PathId q = 0; q < Base::Paths::count; ++q) {
      if (((up & ~joined.up) >> q & 1) != 0) this->on_path_refused(q);
    }
    this->setup_next_ = {};
  }

  Handle handle_;
  detail::SendQueue<typename Link::PoliciesType::Release> queue_;
  detail::Offer mine_;
  std::uint64_t nonce_ = 0;
  bool closing_ = false;
  Time closing_since_{};
};

}  // namespace vccl
