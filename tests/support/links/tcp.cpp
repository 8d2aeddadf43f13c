// SPDX-License-Identifier: Apache-2.0
#include <support/link_ends.hpp>
#include <support/sockets.hpp>
#include <support/tcp_links.hpp>
#include <vccl/policies/telemetry/event_log.hpp>
#include <vccl/sync/receiver_decides.hpp>
#include <vccl/transport/tcp/bootstrap.hpp>

namespace vccl::test {
namespace {

/// A host of the software network with doors and pipes of its own.
class TcpHost {
 public:
  using Tcp = TcpBootstrap<Sockets>;
  using Address = Tcp::Address;
  using Door = Tcp::Door;
  using Pipe = Tcp::Pipe;

  explicit TcpHost(Host& h) : inner{h}, tcp_{{.address = "127.0.0.1"}} {}

  [[nodiscard]] Time now() const noexcept { return inner.now(); }
  [[nodiscard]] bool real_time() const noexcept { return inner.real_time(); }
  [[nodiscard]] std::size_t port_count() noexcept { return inner.port_count(); }
  [[nodiscard]] PortState port_state(PortId id) noexcept { return inner.port_state(id); }
  [[nodiscard]] bool poll_event(PortEvent& into) noexcept { return inner.poll_event(into); }
  [[nodiscard]] std::uint64_t random() noexcept { return inner.random(); }
  [[nodiscard]] Door listen() { return tcp_.listen(); }
  [[nodiscard]] Pipe dial(Address const& to) { return tcp_.dial(to); }

  Host& inner;

 private:
  Tcp tcp_;
};

class TcpNic : public Nic {
 public:
  using Host = TcpHost;
  TcpNic(Host& host, LaneConfig const& config) : Nic{host.inner, config} {}
  [[nodiscard]] static Registration register_memory(Host& host, PortId port, void* p, std::size_t n,
                                                    Access a, MemoryKind k) {
    return Nic::register_memory(host.inner, port, p, n, a, k);
  }
};
static_assert(Transport<TcpNic>);

struct Quick : Resilient {
  using Telemetry = telemetry::EventLog<>;
  using Failback = failback::Probed<failback::Probe{.first = 20_ms, .good_for = 50_ms}>;
};

/// A host and the context that uses it.
template <class Link>
struct Side {
  TcpHost host;
  typename Link::Context context{host};
  explicit Side(Host& h) : host{h} {}
};
template <class Link>
std::unique_ptr<Ends> ends_of(Host& sender, Host& receiver) {
  auto const context = [](Host& h) {
    auto side = std::make_shared<Side<Link>>(h);
    return std::shared_ptr<typename Link::Context>{side, &side->context};
  };
  return std::make_unique<LinkEnds<Link>>(context(sender), context(receiver));
}
template <class... Channels>
using Backed = Connection<TcpNic, TcpNic, sync::ReceiverDecides<Channels...>, Quick>;

}  // namespace

std::unique_ptr<Ends> links::quick_tcp(Host& sender, Host& receiver) {
  return ends_of<Backed<>>(sender, receiver);
}
std::unique_ptr<Ends> links::quick_tcp_only(Host& sender, Host& receiver) {
  return ends_of<Backed<sync::OutOfBand>>(sender, receiver);
}
std::unique_ptr<Ends> links::plain_tcp(Host& sender, Host& receiver) {
  return ends_of<Connection<TcpNic>>(sender, receiver);
}

}  // namespace vccl::test
