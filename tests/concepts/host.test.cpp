// SPDX-License-Identifier: Apache-2.0
#include <archetypes/host.hpp>

#include <vccl/concepts.hpp>

#include <concepts/one_fault.hpp>

namespace vccl::test {
namespace {

// The parts of Host besides Clock and Bootstrap, which Host itself names.
template <class T>
concept HostPorts = requires(T& h, PortId p, PortEvent& e) {
  { h.port_count() } noexcept -> std::same_as<std::size_t>;
  { h.port_state(p) } noexcept -> std::same_as<PortState>;
  { h.poll_event(e) } noexcept -> std::same_as<bool>;
  { h.random() } noexcept -> std::same_as<std::uint64_t>;
};

template <class T>
constexpr int broken_requirements() {
  if constexpr (std::is_base_of_v<archetype::Pipe, T>) {
    return !Pipe<T>;
  } else {
    return !Clock<T> + !Bootstrap<T> + !HostPorts<T>;
  }
}

VCCL_ONE_FAULT(Host, Clock, NowMissing, void now() const = delete;);
VCCL_ONE_FAULT(Host, Clock, NowMayThrow, Time now() const;);
VCCL_ONE_FAULT(Host, Clock, NowReturnsANumber, std::int64_t now() const noexcept;);
VCCL_ONE_FAULT(Host, Clock, NowChangesTheHost, Time now() noexcept;);
VCCL_ONE_FAULT(Host, Clock, RealTimeMissing, void real_time() const = delete;);
VCCL_ONE_FAULT(Host, Clock, RealTimeMayThrow, bool real_time() const;);
VCCL_ONE_FAULT(Host, Clock, RealTimeReturnsInt, int real_time() const noexcept;);
VCCL_ONE_FAULT(Host, Clock, RealTimeChangesTheHost, bool real_time() noexcept;);

VCCL_ONE_FAULT(Pipe, Pipe, PipeImmovable, PipeImmovable(PipeImmovable&&) = delete;);
VCCL_ONE_FAULT(Pipe, Pipe, SendMissing, void send() = delete;);
VCCL_ONE_FAULT(Pipe, Pipe, SendMayThrow, Errc send(std::span<std::byte const>););
VCCL_ONE_FAULT(Pipe, Pipe, SendReturnsBool, bool send(std::span<std::byte const>) noexcept;);
VCCL_ONE_FAULT(Pipe, Pipe, SendChangesTheMessage, Errc send(std::span<std::byte>) noexcept;);
VCCL_ONE_FAULT(Pipe, Pipe, ReceiveMissing, void receive() = delete;);
VCCL_ONE_FAULT(Pipe, Pipe, ReceiveMayThrow, std::size_t receive(std::span<std::byte>););
VCCL_ONE_FAULT(Pipe, Pipe, ReceiveReturnsInt, int receive(std::span<std::byte>) noexcept;);

VCCL_ONE_FAULT(Host, Bootstrap, AddressHidden, private : using Host::Address;);
VCCL_ONE_FAULT(Host, Bootstrap, DoorHidden, private : using Host::Door;);
VCCL_ONE_FAULT(Host, Bootstrap, PipeHidden, private : using Host::Pipe;);
VCCL_ONE_FAULT(Host, Bootstrap, ListenMissing, void listen(int) = delete;);
VCCL_ONE_FAULT(Host, Bootstrap, ListenReturnsAddress, archetype::Address listen(););
VCCL_ONE_FAULT(Host, Bootstrap, DialMissing, void dial() = delete;);
VCCL_ONE_FAULT(Host, Bootstrap, DialReturnsBool, bool dial(archetype::Address const&););
VCCL_ONE_FAULT(Host, Bootstrap, DialChangesTheAddress, archetype::Pipe dial(archetype::Address&););

/// A host whose messages travel by other types.
template <class AddressType, class DoorType, class PipeType>
struct HostWith : archetype::Host {
  using Address = AddressType;
  using Door = DoorType;
  using Pipe = PipeType;
  DoorType listen();
  PipeType dial(AddressType const&);
};

template <class AddressType>
struct DoorAt {
  AddressType address() noexcept;
  bool accept(archetype::Pipe&) noexcept;
};

struct Address64 {
  char bytes[64];
};
struct Address65 {
  char bytes[65];
};
struct AddressWithOwner {
  ~AddressWithOwner() {}
};

template <class AddressType>
using HostAt = HostWith<AddressType, DoorAt<AddressType>, archetype::Pipe>;

TEST_CASE_TEMPLATE("an address is trivially copyable and at most 64 bytes long", AddressType,
                   Address65, AddressWithOwner) {
  CHECK(Host<HostAt<archetype::Address>>);
  CHECK(Host<HostAt<Address64>>);
  CHECK_FALSE(Bootstrap<HostAt<AddressType>>);
  CHECK_FALSE(Host<HostAt<AddressType>>);
  CHECK(broken_requirements<HostAt<AddressType>>() == 1);
}

struct DoorAddressMissing : archetype::Door {
  void address(int) = delete;
};
struct DoorAddressMayThrow : archetype::Door {
  archetype::Address address();
};
struct DoorAddressOfAnotherType : archetype::Door {
  int address() noexcept;
};
struct AcceptMissing : archetype::Door {
  void accept() = delete;
};
struct AcceptMayThrow : archetype::Door {
  bool accept(archetype::Pipe&);
};
struct AcceptReturnsErrc : archetype::Door {
  Errc accept(archetype::Pipe&) noexcept;
};

template <class DoorType>
using HostBehind = HostWith<archetype::Address, DoorType, archetype::Pipe>;

TEST_CASE_TEMPLATE("a door has an address and accepts", DoorType, DoorAddressMissing,
                   DoorAddressMayThrow, DoorAddressOfAnotherType, AcceptMissing, AcceptMayThrow,
                   AcceptReturnsErrc) {
  CHECK(Host<HostBehind<archetype::Door>>);
  CHECK_FALSE(Bootstrap<HostBehind<DoorType>>);
  CHECK_FALSE(Host<HostBehind<DoorType>>);
  CHECK(broken_requirements<HostBehind<DoorType>>() == 1);
}

TEST_CASE("what a host dials must be a pipe") {
  CHECK(Host<HostWith<archetype::Address, archetype::Door, archetype::Pipe>>);
  using WithoutPipe = HostWith<archetype::Address, archetype::Door, SendMayThrow>;
  CHECK_FALSE(Bootstrap<WithoutPipe>);
  CHECK_FALSE(Host<WithoutPipe>);
  CHECK(broken_requirements<WithoutPipe>() == 1);
}

VCCL_ONE_FAULT(Host, Host, PortCountMissing, void port_count(int) = delete;);
VCCL_ONE_FAULT(Host, Host, PortCountMayThrow, std::size_t port_count(););
VCCL_ONE_FAULT(Host, Host, PortCountReturnsInt, int port_count() noexcept;);
VCCL_ONE_FAULT(Host, Host, PortStateMissing, void port_state() = delete;);
VCCL_ONE_FAULT(Host, Host, PortStateMayThrow, PortState port_state(PortId););
VCCL_ONE_FAULT(Host, Host, PortStateReturnsBool, bool port_state(PortId) noexcept;);
VCCL_ONE_FAULT(Host, Host, PollEventMissing, void poll_event() = delete;);
VCCL_ONE_FAULT(Host, Host, PollEventMayThrow, bool poll_event(PortEvent&););
VCCL_ONE_FAULT(Host, Host, PollEventReturnsNothing, void poll_event(PortEvent&) noexcept;);
VCCL_ONE_FAULT(Host, Host, RandomMissing, void random(int) = delete;);
VCCL_ONE_FAULT(Host, Host, RandomMayThrow, std::uint64_t random(););
VCCL_ONE_FAULT(Host, Host, RandomOf32Bits, std::uint32_t random() noexcept;);

}  // namespace
}  // namespace vccl::test
