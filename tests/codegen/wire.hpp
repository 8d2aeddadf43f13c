// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The transport with the least work: what is posted is copied into the peer's memory at once.

#include <vccl/concepts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

/// One process, one thread, no faults, no time. Everything is defined in another file, as a verbs
/// library would be: no compiler sees through a call, and a profiler can take `vccl::wire::` away.
namespace vccl::wire {

class Lane;

/// A posted work request, as a test may want to see it: without addresses, so that two runs can be
/// compared.
struct Posted {
  WorkRequest::Kind kind = WorkRequest::Kind::write;
  Traffic traffic = Traffic::data;
  std::uint8_t qp = 0;
  bool signaled = false;
  bool inlined = false;
  std::uint32_t immediate = 0;
  std::uint64_t offset = 0;  ///< Of the remote address.
  bool keys_fit = false;     ///< They are those of the blocks that are read and written.
  std::vector<std::byte> bytes;
  friend bool operator==(Posted const&, Posted const&) = default;
};

/// What connects the hosts: pipes for set-up messages, and which lane has which number.
class Network {
 public:
  std::vector<Posted>* journal = nullptr;  ///< Where posted requests are noted, if anywhere.

 private:
  friend class Pipe;
  friend class Door;
  friend class Host;
  friend class Lane;
  struct Region {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
  };
  using Messages = std::deque<std::vector<std::byte>>;

  [[nodiscard]] std::uint32_t new_pipe();
  [[nodiscard]] Region region_of(std::uint64_t address, std::uint64_t length) const noexcept;
  void note(WorkRequest const& w);

  std::vector<Messages> inboxes_;                 ///< Ends 2n and 2n + 1 are one pipe.
  std::vector<std::deque<std::uint32_t>> doors_;  ///< Ends that wait at each door.
  std::vector<Lane*> lanes_;
  std::vector<Region> regions_;
};

/// One end of a pipe that loses nothing.
class Pipe {
 public:
  Pipe() noexcept = default;
  Pipe(Network& network, std::uint32_t end) noexcept : network_{&network}, end_{end} {}
  Errc send(std::span<std::byte const> message) noexcept;
  std::size_t receive(std::span<std::byte> into) noexcept;

 private:
  Network* network_ = nullptr;
  std::uint32_t end_ = 0;
};

struct Address {
  std::uint32_t door = 0;
};

class Door {
 public:
  Door(Network& network, std::uint32_t door) noexcept : network_{&network}, door_{door} {}
  [[nodiscard]] wire::Address address() const noexcept { return {door_}; }
  bool accept(Pipe& into) noexcept;

 private:
  Network* network_;
  std::uint32_t door_;
};

/// Two ports of one card.
class Host {
 public:
  using Address = wire::Address;
  using Door = wire::Door;
  using Pipe = wire::Pipe;

  explicit Host(Network& network) noexcept : network_{&network} {}
  [[nodiscard]] Time now() const noexcept;
  [[nodiscard]] bool real_time() const noexcept;
  [[nodiscard]] Door listen();
  [[nodiscard]] Pipe dial(Address const& address);
  [[nodiscard]] std::size_t port_count() noexcept;
  [[nodiscard]] PortState port_state(PortId port) noexcept;
  bool poll_event(PortEvent& event) noexcept;
  [[nodiscard]] std::uint64_t random() noexcept;

 private:
  friend class Lane;
  Network* network_;
  std::uint64_t random_ = 1;
};

/// Keys that follow from the address: the same block has the same ones in every run.
class Registration {
 public:
  explicit Registration(std::uint64_t address) noexcept : address_{address} {}
  Registration(Registration&&) noexcept = default;
  Registration& operator=(Registration&&) noexcept = default;
  [[nodiscard]] Keys keys() const noexcept;

 private:
  std::uint64_t address_;
};

class Lane {
 public:
  using Host = wire::Host;
  using Registration = wire::Registration;
  static constexpr Limits limits{.max_inline = 64};

  Lane(Host& host, LaneConfig const& config);
  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;
  ~Lane();

  Errc post(WorkRequest const& w) noexcept;
  Errc post_receive(std::uint8_t qp, std::uint64_t id) noexcept;
  Errc post_flush_read(Memory const& m, Keys keys, std::uint64_t id) noexcept;
  Errc flush() noexcept;
  std::size_t poll(std::span<Completion> out) noexcept;
  Errc fence(FenceStep step) noexcept;
  Errc describe(LaneAddress& mine) noexcept;
  Errc connect(LaneAddress const& theirs) noexcept;
  [[nodiscard]] std::uint64_t max_message() noexcept;
  static Registration register_memory(Host& host, PortId port, void* p, std::size_t n,
                                      Access access, MemoryKind kind);

 private:
  static constexpr std::size_t receive_depth = 64;
  static constexpr std::size_t cq_depth = 256;
  static constexpr std::uint32_t nobody = ~0u;
  struct Queue {
    std::array<std::uint64_t, receive_depth> receives{};
    std::size_t head = 0;
    std::size_t tail = 0;
  };

  [[nodiscard]] bool has_room() const noexcept;
  void complete(Completion const& c) noexcept;

  Network* network_;
  std::uint32_t number_;
  std::uint32_t peer_ = nobody;
  std::uint8_t qps_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::array<Completion, cq_depth> completions_{};
  std::array<Queue, max_qps> queues_{};
};

static_assert(vccl::Transport<Lane>);

}  // namespace vccl::wire
