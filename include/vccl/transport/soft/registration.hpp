// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The owner of one registration on one port.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/host.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace vccl::soft {

/// Move-only. Giving it up makes its keys invalid at once, also for packets under way.
class Registration {
 public:
  /// Throws SetupError: no such port, no memory, wraps around, or a fault says so.
  Registration(Host& host, PortId port, void* address, std::size_t length, Access access,
               MemoryKind kind)
      : core_{host.core_} {
    std::size_t const n = static_cast<std::size_t>(port);
    std::uint64_t const at = reinterpret_cast<std::uintptr_t>(address);
    if (n >= core_->config.ports_per_host)
      throw SetupError{"register_memory", ENODEV, "no such port on this host"};
    if (address == nullptr || length == 0 || at + length < at) {
      throw SetupError{"register_memory", EINVAL, "the block is empty or wraps around"};
    }
    std::scoped_lock const lock{core_->mutex};
    host.need_alive("register_memory");
    Port const& p = core_->port(host.index_, n);
    if (int const error = core_->faults.on_call(Call::register_memory, p.index); error != 0) {
      throw SetupError{"register_memory", error, "refused by a fault of the script"};
    }
    if (p.fatal) throw SetupError{"register_memory", EIO, "the device is dead"};
    Region r;
    r.address = at;
    r.length = length;
    r.port = p.index;
    r.remote_write = r.remote_read = access != Access::local;
    r.relaxed = access == Access::remote_write_relaxed;
    r.kind = kind;
    for (auto const& c : core_->computed) {
      if (at >= c->base() && at - c->base() < c->length()) r.computed = c.get();
    }
    if (r.computed != nullptr && length > r.computed->length() - (at - r.computed->base())) {
      throw SetupError{"register_memory", EFAULT, "the block ends behind its computed memory"};
    }
    port_ = p.index;
    keys_ = core_->regions.add(r);
  }
  Registration(Registration&& other) noexcept
      : core_{std::exchange(other.core_, nullptr)},
        port_{other.port_},
        keys_{std::exchange(other.keys_, {})} {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(port_, other.port_);
    std::swap(keys_, other.keys_);
    return *this;
  }
  ~Registration() {
    if (core_ == nullptr) return;
    std::scoped_lock const lock{core_->mutex};
    if (Region const* const r = core_->regions.local(keys_.local, port_))
      core_->ports[port_].forget(r);
    core_->regions.remove(keys_);
  }

  /// Of this port of this host only. `remote` is 0 when the peer may do nothing.
  [[nodiscard]] Keys keys() const noexcept { return keys_; }

 private:
  Core* core_;
  std::uint32_t port_ = 0;
  Keys keys_;
};

}  // namespace vccl::soft
