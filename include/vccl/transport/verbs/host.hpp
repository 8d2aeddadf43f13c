// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The RDMA devices of this machine, opened: their ports by number, their events, and how set-up
/// messages travel.

#include <vccl/concepts.hpp>
#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/device.hpp>
#include <vccl/transport/verbs/errands.hpp>
#include <vccl/transport/verbs/events.hpp>
#include <vccl/transport/verbs/gid.hpp>
#include <vccl/transport/verbs/handles.hpp>
#include <vccl/transport/verbs/registration.hpp>
#include <vccl/transport/verbs/system_verbs.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vccl::verbs {

/// What does not differ between the connections of a process.
struct HostConfig {
  /// Ports in the order in which PortId counts them, each "mlx5_1" or "mlx5_1:2". Empty: every port
  /// of every device, as libibverbs lists them.
  std::vector<std::string> ports{};
  GidWish gid{};
  std::uint16_t pkey_index = 0;    ///< Entry of the port's P_Key table.
  std::uint8_t service_level = 0;  ///< 0 to 15; of lanes that ask for none.
  std::uint8_t traffic_class = 0;  ///< Of lanes that ask for none; DSCP is its upper 6 bits.
  /// With adaptive routing, a notify with more bytes than this goes as a write and an empty notify
  /// behind it: only writes may then overtake each other. Each takes two places of a send queue.
  std::uint32_t split_above = ~0u;
  ExportDmaBuf export_dma_buf = nullptr;  ///< None: device memory needs a peer-memory module.
};

/// One device, open for the life of its host. One that could not be opened is kept, so that ports
/// keep their numbers; its ports are down for good.
template <class Api>
class Device {
 public:
  Device(ibv_device* device, std::string card)
      : name{Api::device_name(device)}, card_name{std::move(card)} {
    try {
      context = open_device<Api>(device);
      domain = alloc_pd<Api>(context.get());
      flushed = reg_mr<Api>(domain.get(), flush_target.data(), flush_target.size(),
                            IBV_ACCESS_LOCAL_WRITE, "locked memory is limited (ulimit -l)");
      events.emplace(context.get());
    } catch (SetupError const& e) {
      error = e;
      dead = true;
    }
  }

  std::string const name;
  std::string const card_name;
  std::optional<SetupError> error;
  std::atomic<bool> dead = false;  ///< Written by the reader of events.

  // Destroyed from the last to the first.
  alignas(64) std::array<std::byte, 64> flush_target{};  ///< Where flush reads put their byte.
  Context<Api> context;
  Domain<Api> domain;
  Region<Api> flushed;
  std::optional<Events<Api>> events;
};

/// The machine's devices. Outlives its lanes and registrations.
///
/// State: devices, protection domains.  Hot path: not on it.  Thread safety: any thread, but one
/// reader of events.
/// Boot: how set-up and out-of-band messages travel, a model of Bootstrap such as TcpBootstrap; not
/// owned.
template <Bootstrap Boot, class Api = SystemVerbs>
class Host {
 public:
  using Address = typename Boot::Address;
  using Door = typename Boot::Door;
  using Pipe = typename Boot::Pipe;

  /// A port and its device.
  struct Port {
    Device<Api>* device = nullptr;
    std::uint8_t number = 1;
    std::uint16_t card = 0;
    /// Of its lanes. One per port, so that a network where nobody answers delays only its own.
    std::unique_ptr<Errands> errands = std::make_unique<Errands>();
  };

  /// Throws SetupError: no device, a name that is none, one that is named twice.
  explicit Host(Boot& boot, HostConfig config = {}) : boot_{boot}, config_{std::move(config)} {
    if (config_.service_level > 15)
      throw SetupError{"HostConfig", EINVAL, "service_level has 4 bits (IBTA vol. 1, 7.6.5)"};
    DeviceList<Api> const list;
    if (config_.ports.empty()) {
      for (ibv_device* d : list) {
        if (is_supported(*d)) add_ports(d, 0);
      }
    }
    for (std::string const& name : config_.ports) add_named(list, name);
    if (ports_.empty())
      throw SetupError{"verbs::Host", ENODEV, "no RDMA device: see ibv_devices, rdma link"};
    pending_.reserve(ports_.size());
  }
  Host(Host const&) = delete;
  Host& operator=(Host const&) = delete;

  [[nodiscard]] Time now() const noexcept { return Api::now(); }
  [[nodiscard]] bool real_time() const noexcept { return Api::real_time(); }
  [[nodiscard]] std::uint64_t random() noexcept { return Api::random(); }

  [[nodiscard]] std::size_t port_count() noexcept { return ports_.size(); }
  /// Asks the device now.
  [[nodiscard]] PortState port_state(PortId id) noexcept {
    Port const* const p = find(id);
    ibv_port_attr a{};
    if (p == nullptr || p->device->dead) return {};
    if (Api::query_port(p->device->context.get(), p->number, &a) != 0) return {false, p->card, 0};
    return {a.state == IBV_PORT_ACTIVE, p->card, speed_mbps(a)};
  }
  /// "mlx5_1:2"; empty for no port.
  [[nodiscard]] std::string port_name(PortId id) const {
    Port const* const p = find(id);
    return p == nullptr ? std::string{} : p->device->name + ':' + std::to_string(p->number);
  }

  /// What a device says of all its ports comes once for each.
  [[nodiscard]] bool poll_event(PortEvent& into) noexcept {
    for (auto const& d : devices_) {
      while (pending_.empty() && d->events) {
        std::optional<DeviceEvent> const e = d->events->next();
        if (!e) break;
        if (e->kind == PortEvent::Kind::device_fatal) d->dead = true;
        spread(*d, *e);
      }
    }
    if (pending_.empty()) return false;
    into = pending_.back();
    pending_.pop_back();
    return true;
  }

  /// Throws SetupError, as Boot does.
  [[nodiscard]] Door listen() { return boot_.listen(); }
  [[nodiscard]] Pipe dial(Address const& to) { return boot_.dial(to); }

  // ---- For lanes and registrations

  [[nodiscard]] HostConfig const& config() const noexcept { return config_; }
  /// The port, open. Throws SetupError: no such port, or its device could not be opened or died.
  [[nodiscard]] Port const& open_port(PortId id) const {
    Port const* const p = find(id);
    if (p == nullptr) throw SetupError{"IbVerbs", ENODEV, "no such port on this host"};
    if (p->device->error) throw SetupError{*p->device->error};
    if (p->device->dead) throw SetupError{"IbVerbs", EIO, "the device is dead"};
    return *p;
  }

 private:
  [[nodiscard]] Port const* find(PortId id) const noexcept {
    std::size_t const n = static_cast<std::size_t>(id);
    return n < ports_.size() ? &ports_[n] : nullptr;
  }

  void add_named(DeviceList<Api> const& list, std::string const& text) {
    PortName const name = parse_port_name(text);
    std::size_t const before = ports_.size();
    for (ibv_device* d : list) {
      if (name.device == Api::device_name(d)) add_ports(d, name.port);
    }
    if (ports_.size() != before) return;
    throw SetupError{"HostConfig::ports", ENODEV,
                     ("there is no " + text + ": see ibv_devices, rdma link").c_str()};
  }

  /// Port `only` of a device; 0: all of them.
  void add_ports(ibv_device* handle, std::uint8_t only) {
    Device<Api>& d = device(handle);
    ibv_device_attr a{};
    if (!d.error && Api::query_device(d.context.get(), &a) != 0) a.phys_port_cnt = 1;
    unsigned const count = d.error ? (only == 0 ? 1u : only) : a.phys_port_cnt;
    for (unsigned n = 1; n <= count; ++n) {
      auto const number = static_cast<std::uint8_t>(n);
      if (only != 0 && only != number) continue;
      for (Port const& p : ports_) {
        if (p.device == &d && p.number == number) {
          throw SetupError{"HostConfig::ports", EINVAL,
                           (d.name + ':' + std::to_string(n) + " is named twice").c_str()};
        }
      }
      std::uint16_t const card = card_of(d);
      ports_.push_back({.device = &d, .number = number, .card = card});
    }
  }

  Device<Api>& device(ibv_device* handle) {
    std::string const name = Api::device_name(handle);
    for (auto const& d : devices_) {
      if (d->name == name) return *d;
    }
    std::string const place = Api::device_path(handle);
    std::string_view const card = card_of_path(place);
    return *devices_.emplace_back(
        std::make_unique<Device<Api>>(handle, card.empty() ? name : std::string{card}));
  }

  /// Cards are numbered as they come.
  [[nodiscard]] std::uint16_t card_of(Device<Api> const& d) const noexcept {
    std::uint16_t next = 0;
    for (Port const& p : ports_) {
      if (p.device->card_name == d.card_name) return p.card;
      if (p.card >= next) next = static_cast<std::uint16_t>(p.card + 1);
    }
    return next;
  }

  /// One event per port that it speaks of; of ports that are not ours there is none.
  void spread(Device<Api> const& d, DeviceEvent const& e) noexcept {
    if (e.port != no_port) return pending_.push_back({e.kind, e.port, e.qp_num});
    for (std::size_t i = ports_.size(); i-- > 0;) {
      bool const meant = ports_[i].device == &d && (e.number == 0 || e.number == ports_[i].number);
      if (meant) pending_.push_back({e.kind, static_cast<PortId>(i), e.qp_num});
    }
  }

  Boot& boot_;
  HostConfig config_;
  std::vector<std::unique_ptr<Device<Api>>> devices_;
  std::vector<Port> ports_;
  std::vector<PortEvent> pending_;  ///< Of the last event that was read. Never grows.
};

}  // namespace vccl::verbs
