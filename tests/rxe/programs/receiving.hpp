// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The receiving end of the worker.

#include <programs/half.hpp>

#include <array>

namespace worker {

template <class Link>
class Receiving : public Half<Link, typename Link::Receiver, vccl::End::receiver> {
  using Base = Half<Link, typename Link::Receiver, vccl::End::receiver>;
  using Base::end_;
  using Base::options_;
  using Base::tally_;

 public:
  using Base::Base;

  int run() {
    this->wait_until_ready();
    consumed_.resize(options_.window * options_.group);
    while (!this->failed() && !all_) {
      this->pause(tally_.messages);
      bool const busy = post();
      if (!take_done() && !busy) rest(std::chrono::microseconds{50});
      this->tell();
    }
    if (!this->failed()) this->park();
    check_consumed();
    if (!ledger_.problem().empty()) this->fail(ledger_.problem());
    if (this->failed()) settle();
    return this->finish();
  }

 private:
  bool post() {
    if (next_ - done_ >= options_.window) return false;
    std::array<vccl::RecvOp, vccl::max_receives> ops;
    for (std::uint32_t i = 0; i < options_.group; ++i) {
      std::uint64_t const n = next_ * options_.group + i;
      check_consumed(n);
      ops[i] = {this->memory(n, options_.longest()), vccl::Tag{i}};
    }
    vccl::Request const r = end_.irecv({ops.data(), options_.group});
    if (!r) {
      if (r.why != vccl::Errc::would_block) this->fail("receive", next_, r.why);
      return false;
    }
    this->request(next_++) = r;
    return true;
  }

  bool take_done() {
    vccl::Result const r = end_.test(this->request(done_));
    if (!r.done) return false;
    if (r.error != vccl::Errc::ok) {
      ++tally_.failed;
      this->fail("receive", done_, r.error);
    } else {
      for (std::uint32_t i = 0; i < options_.group; ++i)
        take(done_ * options_.group + i, r.sizes[i]);
    }
    ++done_;
    return true;
  }

  void take(std::uint64_t n, std::uint64_t size) {
    auto const in = this->buffer(n, size);
    std::uint64_t count = 0;
    if (is_end(in, count)) {
      if (!all_) ledger_.settle(count);
      all_ = true;
    } else {
      ledger_.take(in, n, options_.size_of(n));
      tally_.messages = ledger_.taken();
      tally_.bytes = ledger_.bytes();
    }
    // From here on the buffer is the consumer's.
    fill(in, Owner::consumed, n);
    consumed_[n % consumed_.size()] = size;
    if (!ledger_.problem().empty()) this->fail(ledger_.problem());
  }

  /// What was handed over must not have been changed before it is lent again.
  void check_consumed(std::uint64_t n) {
    std::uint64_t const size = consumed_[n % consumed_.size()];
    if (first_wrong(this->buffer(n, size), Owner::consumed, n) != size)
      ledger_.note(fmt::format("the buffer of message {} was changed after it was handed over",
                               n - consumed_.size()));
  }
  void check_consumed() {
    // Of the steps that nobody has lent again.
    for (std::uint64_t n = next_ * options_.group; n < (done_ + options_.window) * options_.group;
         ++n)
      check_consumed(n);
  }

  /// Nothing may be left pending by a connection that has failed.
  void settle() {
    for (double const since = this->seconds();
         end_.status().ended && done_ < next_ && this->seconds() - since < 5;) {
      if (!take_done()) rest(std::chrono::microseconds{200});
    }
    if (end_.status().ended && done_ < next_) this->report_.line("pending", this->host_.now());
  }

  Ledger ledger_;
  std::vector<std::uint64_t> consumed_;  ///< Bytes of each buffer that are the consumer's.
  std::uint64_t next_ = 0;               ///< Steps posted.
  std::uint64_t done_ = 0;
  bool all_ = false;  ///< The end message has come.
};

}  // namespace worker
