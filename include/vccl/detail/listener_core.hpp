// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The door of a listener: lets in whoever knows the secret, and nobody else.

#include <vccl/detail/setup.hpp>

#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace vccl::detail {

/// Shared by a listener and the receivers that it accepts. Owned by the context.
///
/// A pipe that says nothing, or something that is no hello, is dropped without touching the others.
/// Thread safety: any thread.
template <class Host>
class ListenerCore {
 public:
  static constexpr std::size_t max_waiting = 256;  ///< Callers that have not said hello yet.

  ListenerCore(Host& host, Duration patience)
      : patience_{patience}, host_{host}, door_{host.listen()} {
    handle_.incarnation = host.random();
    handle_.secret = {host.random(), host.random()};
    typename Host::Address const a = door_->address();
    handle_.address_bytes = sizeof a;
    std::memcpy(handle_.address.data(), &a, sizeof a);
  }

  [[nodiscard]] Handle const& handle() const noexcept { return handle_; }

  void close() noexcept {
    std::scoped_lock const lock{mutex_};
    door_.reset();
    waiting_.clear();
  }

  /// Takes the next caller that said hello and knows the secret.
  bool take(typename Host::Pipe& pipe, Offer& offer) noexcept {
    std::scoped_lock const lock{mutex_};
    if (!door_) return false;
    Time const now = host_.now();
    typename Host::Pipe fresh;
    while (door_->accept(fresh)) {
      if (waiting_.size() < max_waiting) waiting_.push_back({std::move(fresh), now});
      fresh = typename Host::Pipe{};
    }
    for (std::size_t i = 0; i < waiting_.size();) {
      Said const said = listen_to(waiting_[i].pipe, offer);
      if (said == Said::hello) pipe = std::move(waiting_[i].pipe);
      if (said != Said::nothing || now - waiting_[i].since > patience_) {
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
        if (said == Said::hello) return true;
      } else {
        ++i;
      }
    }
    return false;
  }

  /// Callers that were turned away.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    std::scoped_lock const lock{mutex_};
    return refused_;
  }

 private:
  enum class Said : std::uint8_t { nothing, hello, rubbish };
  struct Caller {
    typename Host::Pipe pipe;
    Time since;
  };

  Said listen_to(typename Host::Pipe& pipe, Offer& offer) noexcept {
    std::size_t const n = pipe.receive(buffer_.bytes);
    if (n == 0) return Said::nothing;
    FrameHeader h;
    std::span<std::byte const> const in{buffer_.bytes.data(), n};
    Cause why = Cause::none;
    if (!read_header(in, h) || h.kind != Frame::hello || !read_offer(in, offer)) {
      why = Cause::bad_handshake;
    } else if (!same_secret(offer.secret, handle_.secret)) {
      why = Cause::wrong_secret;
    } else if (offer.incarnation != handle_.incarnation) {
      why = Cause::peer_restarted;
    }
    if (why == Cause::none) return Said::hello;
    ++refused_;
    write_frame(buffer_, Frame::refuse, 0, nullptr, 0, why);
    static_cast<void>(pipe.send(buffer_.view()));
    return Said::rubbish;
  }

  Duration patience_;
  Host& host_;
  mutable std::mutex mutex_;
  Handle handle_;
  std::optional<typename Host::Door> door_;
  std::vector<Caller> waiting_;
  FrameBuffer buffer_;
  std::uint64_t refused_ = 0;
};

}  // namespace vccl::detail
