// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The receiving end of a connection.

#include <vccl/detail/end.hpp>
#include <vccl/detail/receive_queue.hpp>

namespace vccl {

/// Made by Listener::accept(). Not movable: bind it where it is made, or construct it in place.
///
/// Thread safety: one owner thread; close(), abort() and status() from any.
template <class Link>
class Receiver : public detail::EndBase<Receiver<Link>, Link, End::receiver> {
  using Base = detail::EndBase<Receiver<Link>, Link, End::receiver>;
  friend Base;
  friend detail::EndCore<Receiver, Link, End::receiver>;
  using Guard = typename Base::Guard;
  using Frame = detail::Frame;
  using Core = detail::ListenerCore<typename Base::Host>;

 public:
  using Base::resilient;

  /// Throws SetupError for what is wrong at this end.
  Receiver(Context<Link>& context, Route const& route, Core& core)
      : Base{context, route}, core_{core}, queue_{route.first_step} {
    nonce_ = context.host().random() | 1;
    this->epoch_ = route.first_epoch;
    this->enlist();
  }
  ~Receiver() { this->farewell(); }

  /// Posts a step of one to eight receives. Each meets the first send of its tag, in order of
  /// posting; the step is done when all have. A send that is longer than its receive is an error at
  /// both ends (message_too_long), and nothing of it is written. Never blocks.
  ///
  /// The Request converts to false when nothing was taken: would_block (64 steps are under way:
  /// test them, call again), invalid_argument (none or more than 8, or not registered), closed or
  /// aborted.
  [[nodiscard]] Request irecv(std::span<RecvOp const> ops) noexcept {
    Guard const guard{*this};
    if (!this->takes_) [[unlikely]] {
      if (!this->ended_) return queue_.add(ops);  // Announced when the connection is ready.
      return {0, 0, this->cause_ == Cause::closed ? Errc::closed : Errc::aborted};
    }
    Request const r = queue_.add(ops);
    if (r) announce();
    return r;
  }
  [[nodiscard]] Request irecv(std::initializer_list<RecvOp> ops) noexcept {
    return irecv({ops.begin(), ops.size()});
  }
  [[nodiscard]] Request irecv(Memory const& into, Tag tag = Tag{}) noexcept {
    return irecv({RecvOp{into, tag}});
  }

  /// Makes progress and says how a step stands. Reports done once, with the size that each receive
  /// got; then the Request is spent, and asking again gives invalid_argument.
  [[nodiscard]] Result test(Request r) noexcept {
    Guard const guard{*this, detail::Turn::State::polled};
    if (!queue_.knows(r)) [[unlikely]]
      return {.done = true, .error = Errc::invalid_argument};
    if (!queue_.is_done(r)) progress();
    if (queue_.is_done(r)) return queue_.take(r);
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
    if (queue_.may_announce()) announce();
  }

  /// Goes on after a poll that brought nothing, or when there is more to see to than data.
  [[gnu::noinline]] void look_around() noexcept {
    if (this->may_go_on() && queue_.may_announce()) announce();
    if (this->needs_service()) this->serve(this->now());
  }

  [[gnu::noinline]] void announce() noexcept {
    this->on_refused(this->paths_.chosen([&](auto& path) __attribute__((always_inline)) {
      Errc e = queue_.pump_flushes(path);
      if (e == Errc::ok) e = queue_.announce(path, this->epoch_);
      if (e != Errc::ok) return e;
      return path.flush();
    }));
  }

  /// True when it was for the data.
  template <class P>
  [[gnu::always_inline]] bool on_arrival(P& path, detail::Arrival const& a) noexcept {
    if (a.id.work == detail::Work::receive) {
      Errc const e = queue_.on_notify(path, this->epoch_, a.immediate);
      if (e == Errc::failed) [[unlikely]] {
        this->on_impossible();
        return true;
      }
      this->on_refused(e);
      if constexpr (resilient) {
        if (!heard_) [[unlikely]] {
          heard_ = true;
          this->failover_.machine().on_data();
        }
      }
    } else if (a.id.work == detail::Work::flush) {
      queue_.on_flushed(a.id.step);
    } else {
      return false;
    }
    return true;
  }

  // ---- For Failover

  friend class detail::Failover<typename Link::Sync, typename Link::PoliciesType, End::receiver,
                                Receiver>;
  friend class detail::FailoverCore<typename Link::Sync, typename Link::PoliciesType, End::receiver,
                                    Receiver>;

  [[nodiscard]] sync::Positions positions() const noexcept {
    return {queue_.received(), queue_.announced()};
  }
  [[nodiscard]] std::uint64_t progress_mark() const noexcept { return queue_.received(); }
  [[nodiscard]] bool waits() const noexcept { return queue_.waits(); }
  [[nodiscard]] std::uint64_t outstanding_bytes() const noexcept { return 0; }
  void on_switch(PathId q, Epoch epoch, Step) noexcept {
    this->use_path(q);
    heard_ = false;
    this->epoch_ = epoch;
    queue_.rewind();
  }
  void on_finish(Cause why, Step, bool) noexcept { this->finish(why, 0, false); }
  void finish_queue(Errc e, Step, bool) noexcept { queue_.finish(e); }
  void on_confirmed(Step) noexcept {}
  /// The machine may have to be told again that data comes.
  void on_refresh() noexcept { heard_ = false; }
  [[nodiscard]] bool closing() const noexcept { return false; }
  void begin_close() noexcept { this->failover_.close(*this); }
  /// No CTS will carry the confirmation of what was flushed last: a message does.
  void on_tick() noexcept {
    bool const of_all = !Link::PoliciesType::Release::on_acknowledgement(false);
    if (queue_.confirm_due(of_all)) this->failover_.ask_send();
  }
  void count(Counters& c) const noexcept {
    c.steps = queue_.received() - this->route_.first_step;
    c.flush_reads = queue_.flush_reads();
  }

  // ---- Set-up

  void set_up() noexcept {
    Time const t = this->now();
    if (this->setup_since_.ns == 0) this->setup_since_ = t;
    if (!met_) {
      detail::Offer theirs;
      if (core_.take(this->pipe_, theirs)) meet(theirs);
    }
    detail::FrameHeader h;
    for (std::size_t n;
         met_ && !this->settled_ && (n = this->pipe_.receive(this->frame_.bytes)) != 0;) {
      std::span<std::byte const> const in{this->frame_.bytes.data(), n};
      if (detail::read_header(in, h)) on_frame(h, in);
    }
    if (this->settled_) return;
    if (met_ && t - this->setup_since_ > Base::timing.setup)
      return this->end_now(Cause::setup_deadline);
    if (!met_) this->setup_since_ = t;  // Waiting for a caller has no deadline.
  }

  /// A sender with the right secret said hello.
  void meet(detail::Offer const& theirs) noexcept {
    detail::Offer& mine = welcome_;
    this->make_offer(mine);
    detail::Joined const joined = detail::join(this->paths_, mine, theirs);
    this->present_ = joined.present;
    Cause why = Cause::none;
    if (theirs.first_step != this->route_.first_step || theirs.paths != Base::Paths::count ||
        (this->present_ & 1) == 0) {
      why = Cause::bad_handshake;
    } else if (joined.up == 0) {
      why = Cause::not_armed;
    }
    if (why != Cause::none) {
      detail::write_frame(this->frame_, Frame::refuse, 0, nullptr, 0, why);
      static_cast<void>(this->pipe_.send(this->frame_.view()));
      return this->end_now(why);
    }
    for (PathId q = 0; q < Base::Paths::count; ++q) {
      mine.path[q].up = joined.up >> q & 1;
      if constexpr (resilient) {
        std::uint64_t const ours = detail::speed_of(mine.path[q]);
        std::uint64_t const peers = detail::speed_of(theirs.path[q]);
        this->failover_.set_speed(q, ours < peers ? ours : peers);  // As fast as its slower end.
      }
    }
    up_ = joined.up;
    mine.nonce = nonce_;
    mine.incarnation = theirs.incarnation;
    this->session_ = (theirs.nonce * 0x9e37'79b9'7f4a'7c15) ^ nonce_;
    met_ = true;
    send_welcome();
  }

  void send_welcome() noexcept {
    detail::Offer out = welcome_;
    out.secret = {};
    out.first_epoch = this->route_.first_epoch;
    detail::write_frame(this->frame_, Frame::welcome, this->session_, &out, sizeof out);
    static_cast<void>(this->pipe_.send(this->frame_.view()));
  }

  void on_frame(detail::FrameHeader const& h, std::span<std::byte const>) noexcept {
    if (h.kind == Frame::hello && !this->ready_) send_welcome();  // Ours was lost.
    if (h.kind != Frame::ready || h.session != this->session_) return;
    if (!this->ready_) {
      this->settled_ = true;
      this->become_ready(up_);
    }
    detail::write_frame(this->frame_, Frame::go, this->session_, nullptr, 0);
    static_cast<void>(this->pipe_.send(this->frame_.view()));
  }

  Core& core_;
  detail::ReceiveQueue queue_;
  detail::Offer welcome_;
  std::uint64_t nonce_ = 0;
  bool met_ = false;
  bool heard_ = false;  ///< The machine knows that data has come since it last changed.
  std::uint8_t up_ = 0;
};

}  // namespace vccl
