// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// What the connections of a process share: its hosts, the health of its ports, the service thread.

#include <vccl/concepts.hpp>
#include <vccl/detail/listener_core.hpp>
#include <vccl/detail/paths.hpp>
#include <vccl/detail/service.hpp>
#include <vccl/route.hpp>

#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <vector>

namespace vccl {

namespace detail {

/// One host reference per path; paths of one transport share theirs.
template <class... Transports>
class HostSet {
 public:
  using First = typename std::tuple_element_t<0, std::tuple<Transports...>>::Host;
  static constexpr bool same = (std::is_same_v<typename Transports::Host, First> && ...);

  explicit HostSet(First& h) noexcept
    requires same
      : hosts_{(static_cast<void>(sizeof(Transports)), &h)...} {}
  explicit HostSet(typename Transports::Host&... hs) noexcept
    requires(!same)
      : hosts_{&hs...} {}

  [[nodiscard]] First& primary() noexcept { return *std::get<0>(hosts_); }
  template <class Id>
  [[nodiscard]] auto& get(Id) noexcept {
    return *std::get<Id::value>(hosts_);
  }

 private:
  std::tuple<typename Transports::Host*...> hosts_;
};

}  // namespace detail

/// One per process and set of policies. Outlives its connections and listeners.
///
/// Thread safety: connect and listen from any thread.
template <class Link>
class Context {
 public:
  using Host = typename Link::Primary::Host;
  using Hosts = typename Link::Transports::template apply<detail::HostSet>;
  using Policies = typename Link::PoliciesType;

  /// How often the service thread looks at idle ends.
  static constexpr Duration service_period{1'000'000};

  /// Takes the host of the primary, or, when paths have hosts of several types, one per path.
  template <class... H>
    requires std::constructible_from<Hosts, H&...>
  explicit Context(H&... hosts) : hosts_{hosts...} {
    if constexpr (Link::resilient) {
      if (host().real_time()) {
        service_.start(service_period, [this] { service(); });
      }
    }
  }
  Context(Context const&) = delete;
  Context& operator=(Context const&) = delete;
  ~Context() { service_.stop(); }

  /// Waits for senders on `route`. Throws SetupError.
  [[nodiscard]] typename Link::Listener listen(Route const& route) {
    return typename Link::Listener{*this, route};
  }

  /// Connects to the listener behind `handle`. Never blocks: see Sender::ready(). Throws SetupError
  /// for what is wrong at this end (no such port, a handle that is none).
  [[nodiscard]] typename Link::Sender connect(Route const& route, Handle const& handle) {
    return typename Link::Sender{*this, route, handle};
  }

  /// Reads device events and steps every end. The service thread calls it; where time is virtual,
  /// the owner of that time does.
  void service() noexcept {
    std::scoped_lock const lock{events_};
    PortEvent e;
    while (host().poll_event(e)) health_.note(e, host().now());
    service_.run(host().now());
  }

  // ---- For the ends

  [[nodiscard]] Host& host() noexcept { return hosts_.primary(); }
  [[nodiscard]] Hosts& hosts() noexcept { return hosts_; }
  [[nodiscard]] typename Policies::Health const& health() const noexcept { return health_; }
  [[nodiscard]] auto& services() noexcept { return service_; }

  [[nodiscard]] detail::ListenerCore<Host>& new_listener() {
    auto core = std::make_unique<detail::ListenerCore<Host>>(
        host(), static_cast<Timing>(Policies::timing).setup);
    std::scoped_lock const lock{listeners_mutex_};
    return *listeners_.emplace_back(std::move(core));
  }

 private:
  Hosts hosts_;
  typename Policies::Health health_;
  std::mutex events_;
  std::mutex listeners_mutex_;
  std::vector<std::unique_ptr<detail::ListenerCore<Host>>> listeners_;
  [[no_unique_address]] std::conditional_t<Link::resilient, detail::Service, detail::NoService>
      service_;
};

}  // namespace vccl
