// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Messages of one size over one connection, some under way at a time, all with the same buffer, as
/// perftest does.

#include "machine.hpp"
#include <array>
#include <cstddef>
#include <vector>

namespace vccl::bench {

/// Between two polls that found nothing.
inline void rest(Options const& o) {
  if (o.rest > 0) std::this_thread::sleep_for(std::chrono::microseconds{o.rest});
  if (o.rest == 0) std::this_thread::yield();
}

/// What both ends do alike. `EndOfLink` is a Sender or a Receiver.
template <class EndOfLink>
class Stream {
 public:
  static constexpr std::size_t most = 64;
  static constexpr bool receives = requires(EndOfLink& e, Memory m) { e.irecv(m, Tag{}); };

  Stream(EndOfLink& end, std::size_t longest)
      : end_{end}, buffer_(longest), memory_{end.register_memory(buffer_)} {}

  /// Posts as long as fewer than `window` are under way and fewer than `all` have been posted since
  /// begin().
  void post(std::size_t bytes, std::size_t window, std::size_t all) {
    while (posted_ < all && posted_ - done_ < window) {
      Request r;
      if constexpr (receives) {
        r = end_.irecv(memory_.part(0, bytes), Tag{1});
      } else {
        r = end_.isend(memory_.part(0, bytes), Tag{1});
      }
      if (!r) {
        if (r.why == Errc::would_block) return;
        throw std::runtime_error{fmt::format("cannot post: {}", text(r.why))};
      }
      requests_[posted_++ % most] = r;
    }
  }
  /// Whether the oldest is done, and taken. False as well when none is under way.
  bool take() {
    if (done_ == posted_) {
      static_cast<void>(end_.ready());
      return false;
    }
    Result const r = end_.test(requests_[done_ % most]);
    if (!r.done) return false;
    if (r.error != Errc::ok) {
      throw std::runtime_error{
          fmt::format("message {}: {}: {}", done_, text(r.error), text(end_.status().cause))};
    }
    ++done_;
    return true;
  }
  /// Waits for all that is under way.
  void finish(Options const& o) {
    while (done_ < posted_) {
      if (!take()) rest(o);
    }
  }
  [[nodiscard]] std::size_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::size_t done() const noexcept { return done_; }
  [[nodiscard]] std::size_t under_way() const noexcept { return posted_ - done_; }
  void begin() noexcept { posted_ = done_ = 0; }
  [[nodiscard]] EndOfLink& end() noexcept { return end_; }

 private:
  EndOfLink& end_;
  std::vector<std::byte> buffer_;
  typename EndOfLink::Registered memory_;
  std::array<Request, most> requests_{};
  std::size_t posted_ = 0, done_ = 0;
};

}  // namespace vccl::bench
