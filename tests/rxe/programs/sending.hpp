// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The sending end of the worker.

#include <programs/half.hpp>

#include <algorithm>
#include <limits>

namespace worker {

template <class Link>
class Sending : public Half<Link, typename Link::Sender, vccl::End::sender> {
  using Base = Half<Link, typename Link::Sender, vccl::End::sender>;
  using Base::end_;
  using Base::options_;
  using Base::tally_;

 public:
  using Base::Base;

  int run() {
    this->wait_until_ready();
    while (!this->failed() && done_ < end()) {
      this->pause(done_);
      bool const busy = post();
      if (!take_done() && !busy) rest(std::chrono::microseconds{50});
      // A step is begun and ended; what was begun is what the receiver will wait for.
      if (this->tell() && last_ == none && this->exists("stop"))
        last_ = (next_ + options_.group - 1) / options_.group * options_.group;
    }
    if (this->failed()) settle();
    if (!this->failed()) this->park();
    return this->finish();
  }

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max() / 2;

  /// All messages, and a step that says that they were all.
  [[nodiscard]] std::uint64_t end() const { return last_ == none ? none : last_ + options_.group; }
  [[nodiscard]] std::uint64_t size(std::uint64_t n) const {
    return n < last_ ? options_.size_of(n) : end_message_bytes;
  }
  /// What is sent as message `n`; 50 is the one that goes wrong on purpose.
  [[nodiscard]] std::uint64_t content(std::uint64_t n) const {
    if (options_.mistake == Mistake::skip && n >= 50) return n + 1;
    if (options_.mistake == Mistake::twice && n >= 50) return n - 1;
    return n;
  }

  bool post() {
    if (next_ >= end() || next_ - done_ >= options_.window * options_.group) return false;
    if (options_.rate != 0 && sent_bytes_ > this->seconds() * static_cast<double>(options_.rate))
      return false;
    std::uint64_t const n = size(next_);
    auto const to = this->buffer(next_, n);
    if (!filled_) {
      if (next_ >= last_) {
        fill_end(to, last_);
      } else {
        fill(to, Owner::message, content(next_));
        if (options_.mistake == Mistake::byte && next_ == 50) to[n / 2] ^= std::byte{1};
      }
      filled_ = true;
    }
    vccl::Tag const tag{static_cast<std::uint32_t>(next_ % options_.group)};
    vccl::Request const r = end_.isend(this->memory(next_, n), tag);
    if (!r) {
      if (r.why != vccl::Errc::would_block) this->fail("send", next_, r.why);
      return false;
    }
    filled_ = false;
    this->request(next_++) = r;
    sent_bytes_ += static_cast<double>(n);
    return true;
  }

  bool take_done() {
    if (done_ == next_) {
      static_cast<void>(end_.ready());  // makes progress
      return false;
    }
    vccl::Result const r = end_.test(this->request(done_));
    if (!r.done) return false;
    count(r);
    return true;
  }

  void count(vccl::Result const& r) {
    std::uint64_t const n = size(done_);
    if (r.error == vccl::Errc::ok) {
      if (done_ < last_) {
        ++tally_.messages;
        tally_.bytes += n;
      }
      // It was released: a NIC that still reads it would send bytes of no message.
      fill(this->buffer(done_, n), Owner::released, done_);
    } else {
      this->fail("send", done_, r.error);
      ++tally_.failed;
      if (r.delivered == vccl::Delivered::yes) ++tally_.failed_yes;
      if (r.delivered == vccl::Delivered::no) ++tally_.failed_no;
    }
    ++done_;
  }

  /// Nothing may be left pending by a connection that has failed.
  void settle() {
    for (double const since = this->seconds(); done_ < next_ && this->seconds() - since < 5;) {
      if (!take_done()) rest(std::chrono::microseconds{200});
    }
    if (done_ < next_) this->report_.line("pending", this->host_.now());
  }

  std::uint64_t next_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t last_ = options_.count == 0 ? none : options_.count;  ///< Messages, once known.
  double sent_bytes_ = 0;
  bool filled_ = false;  ///< Message next_ stands in its buffer.
};

}  // namespace worker
