// SPDX-License-Identifier: Apache-2.0
#include <archetypes/transport.hpp>

#include <vccl/concepts.hpp>

#include <concepts/one_fault.hpp>

namespace vccl::test {
namespace {

template <class T>
constexpr int broken_requirements() {
  return !HasLimits<T> + !CanPost<T> + !CanReceive<T> + !CanFlushMemory<T> + !CanFlush<T> +
         !CanPoll<T> + !CanFence<T> + !CanConnect<T> + !CanRegister<T> + !Host<typename T::Host> +
         !std::constructible_from<T, typename T::Host&, LaneConfig const&>;
}

VCCL_ONE_FAULT(Transport, HasLimits, LimitsHidden, private : using Transport::limits;);
VCCL_ONE_FAULT(Transport, HasLimits, LimitsOfAnotherType, static constexpr int limits = 0;);

VCCL_ONE_FAULT(Transport, CanPost, PostMissing, void post() = delete;);
VCCL_ONE_FAULT(Transport, CanPost, PostMayThrow, Errc post(WorkRequest const&););
VCCL_ONE_FAULT(Transport, CanPost, PostReturnsBool, bool post(WorkRequest const&) noexcept;);
VCCL_ONE_FAULT(Transport, CanPost, PostChangesTheRequest, Errc post(WorkRequest&) noexcept;);

VCCL_ONE_FAULT(Transport, CanReceive, ReceiveMissing, void post_receive() = delete;);
VCCL_ONE_FAULT(Transport, CanReceive, ReceiveMayThrow,
               Errc post_receive(std::uint8_t, std::uint64_t););
VCCL_ONE_FAULT(Transport, CanReceive, ReceiveReturnsNothing,
               void post_receive(std::uint8_t, std::uint64_t) noexcept;);

VCCL_ONE_FAULT(Transport, CanFlushMemory, FlushReadMissing, void post_flush_read() = delete;);
VCCL_ONE_FAULT(Transport, CanFlushMemory, FlushReadMayThrow,
               Errc post_flush_read(Memory const&, Keys, std::uint64_t););
VCCL_ONE_FAULT(Transport, CanFlushMemory, FlushReadReturnsInt,
               int post_flush_read(Memory const&, Keys, std::uint64_t) noexcept;);

VCCL_ONE_FAULT(Transport, CanFlush, FlushMissing, void flush(int) = delete;);
VCCL_ONE_FAULT(Transport, CanFlush, FlushMayThrow, Errc flush(););
VCCL_ONE_FAULT(Transport, CanFlush, FlushReturnsNothing, void flush() noexcept;);

VCCL_ONE_FAULT(Transport, CanPoll, PollMissing, void poll() = delete;);
VCCL_ONE_FAULT(Transport, CanPoll, PollMayThrow, std::size_t poll(std::span<Completion>););
VCCL_ONE_FAULT(Transport, CanPoll, PollReturnsInt, int poll(std::span<Completion>) noexcept;);

VCCL_ONE_FAULT(Transport, CanFence, FenceMissing, void fence() = delete;);
VCCL_ONE_FAULT(Transport, CanFence, FenceMayThrow, Errc fence(FenceStep););
VCCL_ONE_FAULT(Transport, CanFence, FenceReturnsBool, bool fence(FenceStep) noexcept;);

VCCL_ONE_FAULT(Transport, CanConnect, DescribeMissing, void describe() = delete;);
VCCL_ONE_FAULT(Transport, CanConnect, DescribeMayThrow, Errc describe(LaneAddress&););
VCCL_ONE_FAULT(Transport, CanConnect, DescribeReturnsAddress,
               LaneAddress describe(LaneAddress&) noexcept;);
VCCL_ONE_FAULT(Transport, CanConnect, ConnectMissing, void connect() = delete;);
VCCL_ONE_FAULT(Transport, CanConnect, ConnectMayThrow, Errc connect(LaneAddress const&););
VCCL_ONE_FAULT(Transport, CanConnect, ConnectReturnsNothing,
               void connect(LaneAddress const&) noexcept;);
VCCL_ONE_FAULT(Transport, CanConnect, ConnectChangesTheAddress,
               Errc connect(LaneAddress&) noexcept;);
VCCL_ONE_FAULT(Transport, CanConnect, MaxMessageMissing, void max_message(int) = delete;);
VCCL_ONE_FAULT(Transport, CanConnect, MaxMessageMayThrow, std::uint64_t max_message(););
VCCL_ONE_FAULT(Transport, CanConnect, MaxMessageOf32Bits, std::uint32_t max_message() noexcept;);

template <class Owner>
struct Registers : archetype::Transport {
  using archetype::Transport::Transport;
  using Registration = Owner;
  static Owner register_memory(Host&, PortId, void*, std::size_t, Access, MemoryKind);
};

struct CopyableOwner {
  Keys keys() const noexcept;
};
struct ImmovableOwner {
  ImmovableOwner(ImmovableOwner&&) = delete;
  ImmovableOwner& operator=(ImmovableOwner&&) = delete;
  Keys keys() const noexcept;
};
struct KeysMissing : archetype::Registration {
  void keys(int) const = delete;
};
struct KeysMayThrow : archetype::Registration {
  Keys keys() const;
};
struct KeysOfAnotherType : archetype::Registration {
  std::uint32_t keys() const noexcept;
};
struct KeysChangeTheOwner : archetype::Registration {
  Keys keys() noexcept;
};

TEST_CASE_TEMPLATE("a registration is a move-only owner of keys", Owner, CopyableOwner,
                   ImmovableOwner, KeysMissing, KeysMayThrow, KeysOfAnotherType,
                   KeysChangeTheOwner) {
  CHECK(Transport<Registers<archetype::Registration>>);
  CHECK_FALSE(CanRegister<Registers<Owner>>);
  CHECK_FALSE(Transport<Registers<Owner>>);
  CHECK(broken_requirements<Registers<Owner>>() == 1);
}

VCCL_ONE_FAULT(Transport, CanRegister, RegistrationHidden,
               private : using Transport::Registration;);
VCCL_ONE_FAULT(Transport, CanRegister, RegisterMissing, void register_memory() = delete;);
VCCL_ONE_FAULT(Transport, CanRegister, RegisterReturnsKeys,
               static Keys register_memory(Host&, PortId, void*, std::size_t, Access, MemoryKind););
VCCL_ONE_FAULT(Transport, CanRegister, RegisterNeedsALane,
               archetype::Registration register_memory(Host&, PortId, void*, std::size_t, Access,
                                                       MemoryKind););

struct NoConstructor : archetype::Transport {};

struct ChangesItsConfig : archetype::Transport {
  ChangesItsConfig(Host&, LaneConfig&);
};

TEST_CASE_TEMPLATE("a transport is made of a host and a lane's configuration", T, NoConstructor,
                   ChangesItsConfig) {
  CHECK_FALSE(std::constructible_from<T, typename T::Host&, LaneConfig const&>);
  CHECK_FALSE(Transport<T>);
  CHECK(broken_requirements<T>() == 1);
}

struct NoClock : archetype::Host {
  void now() const = delete;
};

struct OnHostWithoutClock : archetype::Transport {
  using Host = NoClock;
  OnHostWithoutClock(Host&, LaneConfig const&);
};

TEST_CASE("a transport's host must be a host") {
  CHECK_FALSE(Host<NoClock>);
  CHECK_FALSE(Transport<OnHostWithoutClock>);
  CHECK(broken_requirements<OnHostWithoutClock>() == 1);
}

struct HostHidden : archetype::Transport {
  using archetype::Transport::Transport;

 private:
  using archetype::Transport::Host;
};

TEST_CASE("a transport must name its host") { CHECK_FALSE(Transport<HostHidden>); }

}  // namespace
}  // namespace vccl::test
