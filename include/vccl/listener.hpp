// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Where receivers wait for their senders.

#include <vccl/context.hpp>

namespace vccl {

/// Not movable: bind it where it is made, `auto l = context.listen(port);`.
///
/// Thread safety: any thread.
template <class Link>
class Listener {
 public:
  Listener(Context<Link>& context, Route const& route)
      : context_{context}, core_{context.new_listener()}, route_{route} {}
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;
  /// Nobody is let in any more. Receivers that have their sender go on.
  ~Listener() { core_.close(); }

  /// What a sender needs. Whoever holds it may connect.
  [[nodiscard]] Handle handle() const noexcept { return core_.handle(); }

  /// A receiver for the next sender that says hello. Never blocks: see Receiver::ready().
  [[nodiscard]] typename Link::Receiver accept() {
    return typename Link::Receiver{context_, route_, core_};
  }

  /// Callers turned away: wrong secret, malformed, of another version.
  [[nodiscard]] std::uint64_t refused() const noexcept { return core_.refused(); }

 private:
  Context<Link>& context_;
  detail::ListenerCore<typename Context<Link>::Host>& core_;
  Route route_;
};

}  // namespace vccl
