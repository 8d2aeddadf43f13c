// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The two ends of the copy, as two programs have them: this is how vccl is used.

#include <demo/board.hpp>
#include <demo/files.hpp>
#include <demo/plan.hpp>
#include <vccl/connection.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace demo {

inline constexpr vccl::Tag file_tag{7};

inline void rest(std::chrono::microseconds d) { std::this_thread::sleep_for(d); }

/// What both ends do alike: the buffers, the requests under way, and saying how it goes.
template <class Link, class EndOfLink, vccl::End which>
class Half {
 public:
  using Host = typename Link::Primary::Host;

  Half(Host& host, Board& board, Plan const& plan, EndOfLink& end)
      : board_{board},
        plan_{plan},
        host_{host},
        end_{end},
        buffers_(plan.longest() * Plan::window),
        memory_{end.register_memory(buffers_)} {}

  /// The buffer of a step, shared by every 16th one.
  [[nodiscard]] std::span<std::byte> buffer(std::uint64_t step) {
    return std::span{buffers_}.subspan(at(step), plan_.length(step));
  }
  [[nodiscard]] vccl::Memory memory(std::uint64_t step) const {
    return memory_.part(at(step), plan_.length(step));
  }

  [[nodiscard]] bool may_start(std::uint64_t step) const {
    return posted_ == step && step < plan_.steps() && step - done_ < Plan::window;
  }
  /// Takes the request of the next step. False: try again later, or the copy has failed.
  bool posted(vccl::Request r) {
    if (r) {
      requests_[posted_++ % Plan::window] = r;
    } else if (r.why != vccl::Errc::would_block) {
      fail(posted_, r.why);
    }
    return static_cast<bool>(r);
  }
  /// The oldest step, once it is done.
  [[nodiscard]] std::optional<std::uint64_t> take_done() {
    if (done_ == posted_) {
      static_cast<void>(end_.ready());  // makes progress
      return std::nullopt;
    }
    vccl::Result const r = end_.test(requests_[done_ % Plan::window]);
    if (!r.done) return std::nullopt;
    if (r.error != vccl::Errc::ok) {
      fail(done_, r.error);
      return std::nullopt;
    }
    if (which == vccl::End::receiver && r.sizes[0] != plan_.length(done_)) {
      board_.fail(
          fmt::format("step {} has {} bytes, expected {}", done_, r.sizes[0], plan_.length(done_)));
      return std::nullopt;
    }
    return done_++;
  }
  [[nodiscard]] std::uint64_t next() const noexcept { return posted_; }
  [[nodiscard]] bool goes_on() const { return done_ < plan_.steps() && !board_.failed(); }
  [[nodiscard]] double seconds() const {
    return static_cast<double>((host_.now() - board_.start).ns) / 1e9;
  }

  /// Tells the director how this end stands, every two milliseconds.
  void tell(bool now = false) {
    vccl::Time const t = host_.now();
    if (!now && t - told_ < vccl::Duration{2'000'000}) return;
    told_ = t;
    vccl::ConnectionStatus const s = end_.status();
    board_.update(which, [&](Side& side) {
      side.status = s;
      side.outage = std::max(side.outage, s.outage);
      side.steps = done_;
      side.bytes = plan_.offset(done_);
    });
    if (s.ended && board_.phase() == Board::Phase::set_up)
      board_.fail(fmt::format("the connection did not come up: {}", vccl::text(s.cause)));
  }
  /// Keeps the connection going until the director enters a later phase.
  void idle_while(Board::Phase phase) {
    while (board_.phase() == phase && !board_.failed()) {
      static_cast<void>(end_.ready());
      tell();
      rest(std::chrono::microseconds{500});
    }
  }
  /// The last words: the hash, when all has been done, and what the journal holds.
  void finish(Sha256& hash) {
    tell(true);
    board_.update(which, [&](Side& side) {
      if (done_ == plan_.steps()) side.sha256 = hash.finish();
      side.events = end_.telemetry([](auto const& t) {
        std::vector<vccl::Event> all(t.size());
        all.resize(t.events(all));
        return all;
      });
    });
  }

 private:
  [[nodiscard]] std::uint64_t at(std::uint64_t step) const {
    return step % Plan::window * plan_.longest();
  }
  void fail(std::uint64_t step, vccl::Errc e) {
    board_.fail(fmt::format("{} {} of {}: {}: {}", which == vccl::End::sender ? "send" : "receive",
                            step + 1, plan_.steps(), vccl::text(e),
                            vccl::text(end_.status().cause)));
  }

  Board& board_;
  Plan const& plan_;
  Host& host_;
  EndOfLink& end_;
  std::vector<std::byte> buffers_;
  typename EndOfLink::Registered memory_;
  std::array<vccl::Request, Plan::window> requests_{};
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  vccl::Time told_{};
};

/// The program on host 0.
template <class Link>
void send_file(typename Link::Primary::Host& host, vccl::Route const& route, Board& board,
               Plan const& plan, File const& file) {
  typename Link::Context context{host};
  while (!board.handle() && !board.failed()) rest(std::chrono::microseconds{500});
  if (board.failed()) return;
  auto sender = context.connect(route, *board.handle());
  Half<Link, typename Link::Sender, vccl::End::sender> half{host, board, plan, sender};
  half.idle_while(Board::Phase::set_up);

  Sha256 hash;
  while (half.goes_on()) {
    bool busy = false;
    std::uint64_t const step = half.next();
    if (half.may_start(step) && half.seconds() >= plan.earliest(step)) {
      if (!file.read(half.buffer(step), plan.offset(step))) {
        board.fail("the file cannot be read any more, or became shorter");
        break;
      }
      busy = half.posted(sender.isend(half.memory(step), file_tag));
      if (busy) hash.add(half.buffer(step));
    }
    busy = half.take_done().has_value() || busy;
    half.tell();
    if (!busy) rest(std::chrono::microseconds{50});
  }
  half.tell(true);
  half.idle_while(Board::Phase::copy);
  sender.close();
  half.finish(hash);
}

/// The program on host 1. `output` may be no file.
template <class Link>
void receive_file(typename Link::Primary::Host& host, vccl::Route const& route, Board& board,
                  Plan const& plan, File const& output) {
  typename Link::Context context{host};
  auto listener = context.listen(route);
  board.offer(listener.handle());
  auto receiver = listener.accept();
  Half<Link, typename Link::Receiver, vccl::End::receiver> half{host, board, plan, receiver};
  half.idle_while(Board::Phase::set_up);

  Sha256 hash;
  while (half.goes_on()) {
    bool busy = false;
    std::uint64_t const step = half.next();
    if (half.may_start(step)) busy = half.posted(receiver.irecv(half.memory(step), file_tag));
    if (auto const done = half.take_done()) {
      busy = true;
      hash.add(half.buffer(*done));
      board.received(half.seconds(), plan.length(*done));
      if (output.is_open() && !output.write(half.buffer(*done))) {
        board.fail(fmt::format("--output: cannot be written: {}", std::strerror(errno)));
      }
    }
    half.tell();
    if (!busy) rest(std::chrono::microseconds{50});
  }
  half.tell(true);
  half.idle_while(Board::Phase::copy);
  // The sender's close gets through first; what it said stays in this end's status.
  for (int i = 0; i < 5000 && Link::resilient && !receiver.closed(); ++i)
    rest(std::chrono::microseconds{500});
  receiver.close();
  half.finish(hash);
}

}  // namespace demo
