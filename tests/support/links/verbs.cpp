// SPDX-License-Identifier: Apache-2.0
#include <support/emulated_verbs/emulated_verbs.hpp>
#include <support/link_ends.hpp>
#include <support/verbs_link.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>
#include <vccl/transport/soft/host.hpp>
#include <vccl/transport/verbs/lane.hpp>

#include <array>
#include <span>

namespace vccl::test {
namespace {

using Inner = IbVerbs<Host, EmulatedVerbs>;

/// The host, and who brings its ends together: its hooks are the lanes' too.
struct VerbsHost : Inner::Host {
  VerbsHost(test::Host& boot, verbs::HostConfig const& config)
      : Inner::Host{boot, config}, hooks{boot.hooks} {}
  Hooks& hooks;
};

/// The shipped lane with a test's hooks around it.
class HookedLane : public Inner {
 public:
  using Host = VerbsHost;

  HookedLane(Host& host, LaneConfig const& config)
      : Inner{host, config}, hooks_{host.hooks}, port_{config.port} {}
  [[nodiscard]] Errc post(WorkRequest const& w) noexcept {
    if (!hooks_.post) return Inner::post(w);
    WorkRequest changed = w;
    if (Errc const e = hooks_.post(port_, changed); e != Errc::ok) return e;
    return Inner::post(changed);
  }
  [[nodiscard]] std::size_t poll(std::span<Completion> out) noexcept {
    std::size_t const n = Inner::poll(out);
    for (std::size_t i = 0; i < n && hooks_.completion; ++i) hooks_.completion(port_, out[i]);
    return n;
  }
  [[nodiscard]] Errc fence(FenceStep step) noexcept {
    Errc const e = Inner::fence(step);
    if (e == Errc::ok && hooks_.fence) hooks_.fence(port_, step);
    return e;
  }
  [[nodiscard]] Errc describe(LaneAddress& mine) noexcept {
    Errc const e = Inner::describe(mine);
    if (e != Errc::ok) return e;
    if (hooks_.address) hooks_.address(mine);
    hooks_.described[static_cast<std::size_t>(port_)] = mine;
    return e;
  }
  [[nodiscard]] static Registration register_memory(Host& host, PortId port, void* p, std::size_t n,
                                                    Access a, MemoryKind k) {
    if (host.hooks.registers) host.hooks.registers(port, a);
    if (k == MemoryKind::device) machine().device_memory(p, n);
    return Inner::register_memory(host, port, p, n, a, k);
  }

 private:
  Hooks& hooks_;
  PortId port_;
};
static_assert(Transport<HookedLane>);

struct Quick : Resilient {
  using Telemetry = telemetry::EventLog<>;
  using Failback = failback::Probed<failback::Probe{.first = 20_ms, .good_for = 50_ms}>;
};

VerbsHost open(Host& boot, std::size_t n) {
  emulated::Machine::At const at{boot.inner.index()};
  return {boot, verbs_setup.hosts[n]};
}

/// Destroyed from the last to the first.
template <class Link>
struct Everything {
  Everything(Host& sender, Host& receiver)
      : machine{sender.inner.core(), verbs_setup.habits},
        prepared{[this] {
          if (verbs_setup.prepare) verbs_setup.prepare(machine);
          return true;
        }()},
        a{open(sender, 0)},
        b{open(receiver, 1)},
        at_a{a},
        at_b{b} {}
  emulated::Machine machine;
  bool prepared;
  VerbsHost a, b;
  typename Link::Context at_a, at_b;
};

template <class... Channels>
std::unique_ptr<Ends> make(Host& sender, Host& receiver) {
  using Link = Connection<HookedLane, HookedLane, sync::ReceiverDecides<Channels...>, Quick>;
  using Shared = std::shared_ptr<typename Link::Context>;
  auto const all = std::make_shared<Everything<Link>>(sender, receiver);
  return std::make_unique<LinkEnds<Link>>(Shared{all, &all->at_a}, Shared{all, &all->at_b});
}

}  // namespace

std::unique_ptr<Ends> links::verbs(Host& sender, Host& receiver) {
  return make<>(sender, receiver);
}
std::unique_ptr<Ends> links::verbs_out_of_band(Host& sender, Host& receiver) {
  return make<sync::OutOfBand>(sender, receiver);
}

}  // namespace vccl::test
