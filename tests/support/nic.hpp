// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The software NIC and its host behind a door: a test may look at what passes, change it or
/// refuse it. Nothing of the software NIC is included, so connections over it compile quickly.

#include <vccl/concepts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace vccl::soft {
class Host;
class HostDoor;
class HostPipe;
class Nic;
class Registration;
}  // namespace vccl::soft

namespace vccl::test {

/// What a test does to what passes at one host. Empty: nothing.
struct Hooks {
  std::function<void(PortId, Completion&)> completion;   ///< Before the connection sees it.
  std::function<Errc(PortId, WorkRequest&)> post;        ///< Not ok: refused with that.
  std::function<void(std::vector<std::byte>&)> message;  ///< Going out; made empty: lost.
  std::vector<std::vector<std::byte>> extra;             ///< Goes out behind the next message.
  std::function<void(LaneAddress&)> address;             ///< What describe() says.
  std::array<std::uint64_t, 8> max_message{};            ///< Per port; 0: the fabric's.
  std::vector<Completion> late;                          ///< What the next poll finds first.
  std::array<LaneAddress, 8> described{};                ///< What describe() last said, per port.
  std::uint64_t port_errors = 0;                         ///< Events of that kind delivered.
  PortId late_port = no_port;                            ///< Whose poll that is; no_port: any.
  std::function<Errc(PortId)> flush_read;                ///< Not ok: refused with that.
  std::function<void(PortId, FenceStep)> fence;          ///< Has been asked for, and is done.
  std::function<void(PortId, Access)> registers;
  std::function<void(bool)> destroyed;  ///< A lane (true), a registration (false).
  std::optional<MemoryKind> really;     ///< What memory is to the NIC, whatever it is told.
};

class Pipe {
 public:
  Pipe() noexcept;
  Pipe(soft::HostPipe&& pipe, Hooks& hooks);
  Pipe(Pipe&&) noexcept;
  Pipe& operator=(Pipe&&) noexcept;
  ~Pipe();
  [[nodiscard]] Errc send(std::span<std::byte const> message) noexcept;
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) noexcept;

 private:
  std::unique_ptr<soft::HostPipe> pipe_;
  Hooks* hooks_ = nullptr;
};

class Host {
 public:
  struct Address {
    std::uint32_t host = 0;
    std::uint32_t door = 0;
  };
  using Pipe = test::Pipe;
  class Door {
   public:
    Door(soft::HostDoor&& door, Hooks& hooks);
    Door(Door&&) noexcept;
    Door& operator=(Door&&) noexcept;
    ~Door();
    [[nodiscard]] Address address() const noexcept;
    [[nodiscard]] bool accept(Pipe& into) noexcept;

   private:
    std::unique_ptr<soft::HostDoor> door_;
    Hooks* hooks_;
  };

  explicit Host(soft::Host& host) noexcept : inner{host} {}
  Host(Host const&) = delete;
  Host& operator=(Host const&) = delete;

  [[nodiscard]] Time now() const noexcept;
  [[nodiscard]] bool real_time() const noexcept;
  [[nodiscard]] std::size_t port_count() noexcept;
  [[nodiscard]] PortState port_state(PortId id) noexcept;
  [[nodiscard]] bool poll_event(PortEvent& into) noexcept;
  [[nodiscard]] std::uint64_t random() noexcept;
  [[nodiscard]] Door listen();
  [[nodiscard]] Pipe dial(Address const& to);

  soft::Host& inner;
  Hooks hooks;
};
static_assert(vccl::Host<Host>);

class Registration {
 public:
  Registration(soft::Registration&& r, Hooks& hooks);
  Registration(Registration&&) noexcept;
  Registration& operator=(Registration&&) noexcept;
  ~Registration();
  [[nodiscard]] Keys keys() const noexcept;

 private:
  std::unique_ptr<soft::Registration> inner_;
  Hooks* hooks_;
};

class Nic {
 public:
  using Host = test::Host;
  using Registration = test::Registration;
  static constexpr Limits limits{.max_inline = 256};

  Nic(Host& host, LaneConfig const& config);
  ~Nic();
  [[nodiscard]] Errc post(WorkRequest const& w) noexcept;
  [[nodiscard]] Errc post_receive(std::uint8_t qp, std::uint64_t id) noexcept;
  [[nodiscard]] Errc post_flush_read(Memory const& m, Keys keys, std::uint64_t id) noexcept;
  [[nodiscard]] Errc flush() noexcept;
  [[nodiscard]] std::size_t poll(std::span<Completion> out) noexcept;
  [[nodiscard]] Errc fence(FenceStep step) noexcept;
  [[nodiscard]] Errc describe(LaneAddress& mine) noexcept;
  [[nodiscard]] Errc connect(LaneAddress const& theirs) noexcept;
  [[nodiscard]] std::uint64_t max_message() noexcept;
  [[nodiscard]] static Registration register_memory(Host& host, PortId port, void* p, std::size_t n,
                                                    Access a, MemoryKind k);

 private:
  std::unique_ptr<soft::Nic> nic_;
  Hooks& hooks_;
  PortId port_;
};
static_assert(Transport<Nic>);

}  // namespace vccl::test
