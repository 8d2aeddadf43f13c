// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What every SyncPolicy that arms a backup must keep when nothing is lost: run on its two
/// machines.

#include <vccl/concepts.hpp>

#include <string_view>

namespace vccl::contracts {

namespace sync_detail {

/// What an end's driver was told.
struct Driver {
  PathId path = 0;
  Epoch epoch = 1;
  bool finished = false;
  Cause cause = Cause::none;
};

/// Two machines of a policy, with fences that succeed at once and messages that all arrive.
template <SyncPolicy S>
class Pair {
 public:
  static constexpr sync::Start start{.session = 7, .epoch = 1, .paths = 2, .up = 0b11};

  template <class F>
  void sender_input(F input) {
    sync::Actions out;
    input(sender, out);
    apply(End::sender, out);
  }
  template <class F>
  void receiver_input(F input) {
    sync::Actions out;
    input(receiver, out);
    apply(End::receiver, out);
  }
  /// Delivers what is to be said, and lets time pass, until nothing is said any more.
  void settle() {
    for (int round = 0; round < 50; ++round) {
      if (sender_speaks_) {
        sender_speaks_ = false;
        sync::Message const m = sender.snapshot(at);
        receiver_input([&](auto& r, sync::Actions& out) { r.on_message(m, no_path, at, out); });
      }
      if (receiver_speaks_) {
        receiver_speaks_ = false;
        sync::Message const m = receiver.snapshot(at);
        sender_input([&](auto& s, sync::Actions& out) { s.on_message(m, no_path, at, out); });
      }
      sender_input([](auto& s, sync::Actions& out) { s.on_tick(out); });
      receiver_input([](auto& r, sync::Actions& out) { r.on_tick(out); });
    }
  }
  [[nodiscard]] bool agree() const {
    return at_sender.path == at_receiver.path && at_sender.epoch == at_receiver.epoch;
  }

  typename S::Sender sender{start};
  typename S::Receiver receiver{start};
  Driver at_sender, at_receiver;
  sync::Positions at{.done = 5, .tail = 5};

 private:
  void apply(End end, sync::Actions const& actions) {
    using Kind = sync::Action::Kind;
    Driver& d = end == End::sender ? at_sender : at_receiver;
    for (sync::Action const& a : actions) {
      if (a.kind == Kind::send || a.kind == Kind::answer) {
        (end == End::sender ? sender_speaks_ : receiver_speaks_) = true;
      } else if (a.kind == Kind::fence) {
        auto const done = [&](auto& m, sync::Actions& out) {
          m.on_fenced(a.path, a.number, true, at, out);
        };
        end == End::sender ? sender_input(done) : receiver_input(done);
      } else if (a.kind == Kind::switch_to) {
        d.path = a.path;
        d.epoch = a.epoch;
      } else if (a.kind == Kind::finish) {
        d.finished = true;
        d.cause = a.cause;
      }
    }
  }

  bool sender_speaks_ = false, receiver_speaks_ = false;
};

}  // namespace sync_detail

/// The first sentence that S breaks, or nothing.
template <SyncPolicy S>
  requires(S::arms_backup)
std::string_view sync_policy() {
  using P = sync_detail::Pair<S>;
  {
    P p;
    if (!p.sender.may_post() || !p.receiver.may_post()) return "both ends may post at the start";
    p.settle();
    if (p.at_sender.epoch != 1 || p.at_receiver.epoch != 1)
      return "without a fault nothing changes";
  }
  for (End const end : {End::sender, End::receiver}) {
    auto const fault = [](auto& m, sync::Actions& out) { m.on_fault(0, 1, Cause::port_down, out); };
    auto const fatal = [](auto& m, sync::Actions& out) { m.on_fatal(Cause::local_error, out); };
    auto const close = [](auto& m, sync::Actions& out) { m.on_close(out); };
    auto const give = [&](P& p, auto input) {
      end == End::sender ? p.sender_input(input) : p.receiver_input(input);
      p.settle();
    };
    P p;
    give(p, fault);
    if (!p.agree() || p.at_sender.path != 1) return "a path that fails is left by both ends";
    if (!p.sender.may_post() || !p.receiver.may_post()) return "after a switch both ends may post";
    P q;
    give(q, fatal);
    if (!q.at_sender.finished || !q.at_receiver.finished) return "what is fatal ends both ends";
    if (q.at_sender.cause != q.at_receiver.cause) return "both ends end with the same cause";
    if (q.sender.may_post() || q.receiver.may_post()) return "nothing is posted after the end";
    P r;
    give(r, close);
    if (!r.at_sender.finished || !r.at_receiver.finished) return "closing ends both ends";
  }
  {
    P p;
    sync::Message foreign;
    foreign.session = P::start.session + 1;
    foreign.sequence = 99;
    foreign.epoch = 9;
    foreign.kind = sync::Kind::abort;
    foreign.asks = 1;
    sync::Actions out;
    p.sender.on_message(foreign, no_path, p.at, out);
    p.receiver.on_message(foreign, no_path, p.at, out);
    if (out.count != 0) return "a message of another session changes nothing";
  }
  return {};
}

}  // namespace vccl::contracts
