// SPDX-License-Identifier: Apache-2.0
#include <support/nic.hpp>

#include <vccl/transport/soft/host.hpp>
#include <vccl/transport/soft/nic.hpp>

#include <utility>

namespace vccl::test {

Pipe::Pipe() noexcept = default;
Pipe::Pipe(soft::HostPipe&& pipe, Hooks& hooks)
    : pipe_{std::make_unique<soft::HostPipe>(std::move(pipe))}, hooks_{&hooks} {}
Pipe::Pipe(Pipe&&) noexcept = default;
Pipe& Pipe::operator=(Pipe&&) noexcept = default;
Pipe::~Pipe() = default;

Errc Pipe::send(std::span<std::byte const> message) noexcept {
  if (pipe_ == nullptr) return Errc::path_down;
  if (!hooks_->message) return pipe_->send(message);
  std::vector<std::byte> changed{message.begin(), message.end()};
  hooks_->message(changed);
  Errc const e = changed.empty() ? Errc::ok : pipe_->send(changed);
  for (auto const& more : std::exchange(hooks_->extra, {})) static_cast<void>(pipe_->send(more));
  return e;
}
std::size_t Pipe::receive(std::span<std::byte> into) noexcept {
  return pipe_ == nullptr ? 0 : pipe_->receive(into);
}

Host::Door::Door(soft::HostDoor&& door, Hooks& hooks)
    : door_{std::make_unique<soft::HostDoor>(std::move(door))}, hooks_{&hooks} {}
Host::Door::Door(Door&&) noexcept = default;
Host::Door& Host::Door::operator=(Door&&) noexcept = default;
Host::Door::~Door() = default;

Host::Address Host::Door::address() const noexcept {
  soft::WireAddress const a = door_->address();
  return {a.host, a.door};
}
bool Host::Door::accept(Pipe& into) noexcept {
  soft::HostPipe pipe;
  if (!door_->accept(pipe)) return false;
  into = Pipe{std::move(pipe), *hooks_};
  return true;
}

Time Host::now() const noexcept { return inner.now(); }
bool Host::real_time() const noexcept { return inner.real_time(); }
std::size_t Host::port_count() noexcept { return inner.port_count(); }
PortState Host::port_state(PortId id) noexcept { return inner.port_state(id); }
bool Host::poll_event(PortEvent& into) noexcept {
  bool const any = inner.poll_event(into);
  if (any && into.kind == PortEvent::Kind::port_error) ++hooks.port_errors;
  return any;
}
std::uint64_t Host::random() noexcept { return inner.random(); }
Host::Door Host::listen() { return {inner.listen(), hooks}; }
Pipe Host::dial(Address const& to) { return {inner.dial({to.host, to.door}), hooks}; }

Registration::Registration(soft::Registration&& r, Hooks& hooks)
    : inner_{std::make_unique<soft::Registration>(std::move(r))}, hooks_{&hooks} {}
Registration::Registration(Registration&&) noexcept = default;
Registration& Registration::operator=(Registration&&) noexcept = default;
Registration::~Registration() {
  if (inner_ != nullptr && hooks_->destroyed) hooks_->destroyed(false);
}
Keys Registration::keys() const noexcept { return inner_->keys(); }

Nic::Nic(Host& host, LaneConfig const& config)
    : nic_{std::make_unique<soft::Nic>(host.inner, config)},
      hooks_{host.hooks},
      port_{config.port} {}
Nic::~Nic() {
  if (nic_ != nullptr && hooks_.destroyed) hooks_.destroyed(true);
}

Errc Nic::post(WorkRequest const& w) noexcept {
  if (!hooks_.post) return nic_->post(w);
  WorkRequest changed = w;
  Errc const e = hooks_.post(port_, changed);
  return e == Errc::ok ? nic_->post(changed) : e;
}
Errc Nic::post_receive(std::uint8_t qp, std::uint64_t id) noexcept {
  return nic_->post_receive(qp, id);
}
Errc Nic::post_flush_read(Memory const& m, Keys keys, std::uint64_t id) noexcept {
  if (hooks_.flush_read) {
    if (Errc const e = hooks_.flush_read(port_); e != Errc::ok) return e;
  }
  return nic_->post_flush_read(m, keys, id);
}
Errc Nic::flush() noexcept { return nic_->flush(); }
std::size_t Nic::poll(std::span<Completion> out) noexcept {
  if (!hooks_.late.empty() && (hooks_.late_port == no_port || hooks_.late_port == port_)) {
    out.front() = hooks_.late.back();
    hooks_.late.pop_back();
    return 1;
  }
  std::size_t const n = nic_->poll(out);
  if (hooks_.completion) {
    for (Completion& c : out.first(n)) hooks_.completion(port_, c);
  }
  return n;
}
Errc Nic::fence(FenceStep step) noexcept {
  Errc const e = nic_->fence(step);
  if (e == Errc::ok && hooks_.fence) hooks_.fence(port_, step);
  return e;
}
Errc Nic::describe(LaneAddress& mine) noexcept {
  Errc const e = nic_->describe(mine);
  if (mine.max_message > max_message()) mine.max_message = max_message();
  if (e == Errc::ok && hooks_.address) hooks_.address(mine);
  if (e == Errc::ok) hooks_.described[static_cast<std::size_t>(port_) % 8] = mine;
  return e;
}
Errc Nic::connect(LaneAddress const& theirs) noexcept { return nic_->connect(theirs); }
std::uint64_t Nic::max_message() noexcept {
  std::uint64_t const most = hooks_.max_message[static_cast<std::size_t>(port_) % 8];
  std::uint64_t const own = nic_->max_message();
  return most != 0 && most < own ? most : own;
}
Registration Nic::register_memory(Host& host, PortId port, void* p, std::size_t n, Access a,
                                  MemoryKind k) {
  Hooks& hooks = host.hooks;
  if (hooks.registers) hooks.registers(port, a);
  return {soft::Nic::register_memory(host.inner, port, p, n, a, hooks.really.value_or(k)), hooks};
}

}  // namespace vccl::test
