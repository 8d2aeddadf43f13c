// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file The machines of a software network as libibverbs shows them: cards with ports, and every
/// object that a program makes on them, with books on what it does with them.
///
/// QPs, CQs and registrations are the software NIC's, so loss, retries, flushes, faults
/// (docs/faults.md) and time are its own. Where the fault language speaks of calls of a lane, here
/// it is: describe = modify_qp to INIT, connect = to RTR and RTS, fence = to ERR and RESET (a slow
/// one says EBUSY until it is done), flush = a whole post_send.

#include <support/emulated_verbs/call_script.hpp>
#include <support/emulated_verbs/objects.hpp>
#include <vccl/transport/soft/core.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vccl::test::emulated {

/// What devices are like.
struct Habits {
  std::uint32_t max_inline = 256;
  std::uint32_t max_depth = 16'384;  ///< Of a work queue.
  int max_cqe = 1 << 22;
  bool clears_cq = true;   ///< RESET and destroy_qp take unpolled completions along, as mlx5; rxe
                           ///< leaves them.
  bool minus_one = false;  ///< Numbers fail as -1 with errno, not as an errno.
  std::uint64_t memlock = 0;                     ///< Bytes that a host may register; 0: no limit.
  bool dma_buf = false;                          ///< Registers DMA-BUFs.
  ibv_event_type qp_event = IBV_EVENT_QP_FATAL;  ///< What tells that a QP has died.
  std::uint32_t ece_vendor = 0;                  ///< Of enhanced connection establishment; 0: none.
};

/// An entry of a GID table.
struct NamedGid {
  std::array<std::uint8_t, 16> raw{};
  ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
};

/// LIDs of InfiniBand ports: serial number of the port's first GID times this, plus the port's
/// number over all hosts, from 1. So a new GID is a new LID, and an old one reaches nobody.
inline constexpr std::uint32_t lid_step = 64;

/// There is one at a time: the one that EmulatedVerbs talks to. Any thread.
class Machine {
 public:
  explicit Machine(soft::Core& core, Habits habits = {});
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;
  ~Machine();
  [[nodiscard]] static Machine& here();

  /// While it lives, get_device_list on this thread shows the devices of one host only.
  class At {
   public:
    explicit At(std::uint32_t host) noexcept;
    At(At const&) = delete;
    At& operator=(At const&) = delete;
    ~At();

   private:
    std::uint32_t before_;
  };

  /// leaks() and violations() of the machine that was here last, when it went; calls that its
  /// script refused.
  [[nodiscard]] static std::string last_words();
  [[nodiscard]] static std::uint64_t last_struck();

  // ---- What tests order

  void refuse(Refusal const& r);
  void clear_refusals();
  Habits habits;
  void infiniband(std::size_t host, std::size_t port);
  /// What query_port says of a port, whatever its cable does.
  void port_state(std::size_t host, std::size_t port, std::optional<ibv_port_state> state);
  /// The whole table, at most 8; holes are nothing. address_change follows.
  void gids(std::size_t host, std::size_t port, std::vector<std::optional<NamedGid>> const& table);
  /// Memory behind a bus: writes stay in the port until a read through it.
  void device_memory(void* address, std::size_t length);
  /// An event that nothing else causes. `number`: the port's, from 1. For QPs and CQs all alive of
  /// that port get one.
  void raise(std::size_t host, std::size_t port, ibv_event_type type);
  /// Sees each send request that a device has taken. Must not call the API.
  std::function<void(std::uint32_t host, ibv_qp const&, ibv_send_wr const&)> on_send;

  // ---- What happened

  /// What is alive, a line each kind; empty when nothing is.
  [[nodiscard]] std::string leaks();
  /// What no program may do, a line each.
  [[nodiscard]] std::string violations();
  [[nodiscard]] std::vector<Modified> modified();
  /// Objects ever made, by "QP", "CQ", "PD", "MR", "context".
  [[nodiscard]] std::size_t made(std::string_view kind);
  /// Transitions that a QP in that state could not make.
  [[nodiscard]] std::size_t late_transitions();
  [[nodiscard]] std::uint64_t sends_taken();
  /// Requests refused because their queue was full.
  [[nodiscard]] std::uint64_t no_room();
  /// Events asked for after DEVICE_FATAL was got: nothing comes any more.
  [[nodiscard]] std::uint64_t asked_after_death();
  /// Bytes that are registered at a host.
  [[nodiscard]] std::uint64_t registered(std::uint32_t host);
  /// The port of its host, from 0, that a QP is on. Also from within on_send.
  [[nodiscard]] std::size_t port_of(ibv_qp const& qp);
  /// Which calls were made, and which the script refused. A copy.
  [[nodiscard]] CallScript calls();

  // ---- The API, as SystemVerbs has it

  ibv_device** get_device_list(int* count);
  void free_device_list(ibv_device** list);
  ibv_context* open_device(ibv_device* d);
  int close_device(ibv_context* c);
  int query_device(ibv_context* c, ibv_device_attr* into);
  int query_port(ibv_context* c, std::uint8_t port, ibv_port_attr* into);
  int query_gid(ibv_context* c, std::uint8_t port, std::uint32_t index, ibv_gid_entry* into);
  ibv_pd* alloc_pd(ibv_context* c);
  int dealloc_pd(ibv_pd* pd);
  ibv_cq* create_cq(ibv_context* c, int depth, void* tag);
  int destroy_cq(ibv_cq* cq);
  int poll_cq(ibv_cq* cq, int most, ibv_wc* into);
  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* how);
  int destroy_qp(ibv_qp* qp);
  int modify_qp(ibv_qp* qp, ibv_qp_attr* to, int mask);
  int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad);
  int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad);
  int query_ece(ibv_qp* qp, ibv_ece* into);
  int set_ece(ibv_qp* qp, ibv_ece* to);
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access);
  ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                        int fd, unsigned access);
  int dereg_mr(ibv_mr* mr);
  int unblock_events(ibv_context* c);
  int get_async_event(ibv_context* c, ibv_async_event* into);
  void ack_async_event(ibv_async_event* e);
  [[nodiscard]] Time now() const noexcept;
  [[nodiscard]] bool real_time() const noexcept { return !core_.config.virtual_time; }
  [[nodiscard]] std::uint64_t random();

 private:
  /// Calls `f` with all objects of one kind, for each kind.
  template <class F>
  void each_kind(F f) const {
    f(listings_);
    f(contexts_);
    f(domains_);
    f(queues_);
    f(pairs_);
    f(blocks_);
  }

  struct PortLook {
    bool infiniband = false;
    std::optional<ibv_port_state> state;
  };
  /// Where a GID leads.
  struct Found {
    std::uint32_t port = 0;
    std::uint32_t serial = 0;  ///< 0: nobody answers to it any more.
    ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
  };

  /// A new object, for as long as the machine lives.
  template <class T>
  static T& keep(std::vector<std::unique_ptr<T>>& all, const char* kind) {
    T& made = *all.emplace_back(std::make_unique<T>());
    made.kind = kind;
    made.serial = static_cast<std::uint32_t>(all.size() - 1);
    return made;
  }

  /// One thread at a time: lanes have one owner.
  class Alone {
   public:
    explicit Alone(std::atomic<int>& users) noexcept : users_{users}, others_{users.fetch_add(1)} {}
    Alone(Alone const&) = delete;
    Alone& operator=(Alone const&) = delete;
    ~Alone() { users_.fetch_sub(1); }
    [[nodiscard]] bool shared() const noexcept { return others_ != 0; }

   private:
    std::atomic<int>& users_;
    int others_;
  };

  // books.cpp
  void violation(std::string what);
  bool use(Object& o, Verb verb, bool destroys);
  int number(int error);
  Fate begin(Verb verb, std::uint32_t host, std::string_view device, int chain = 1);
  void pump();
  void deliver(std::uint32_t host, PortEvent const& e);
  void die(Context& c);
  void forget(Object& o);

  // devices.cpp
  ibv_mr* register_block(Domain& pd, int error, std::uint64_t at, std::size_t length,
                         unsigned access);
  Device& device_of(std::uint32_t port);
  soft::Port& port_of(Context& c, std::uint8_t number);
  std::uint64_t pinned(std::uint32_t host) const;
  std::optional<ibv_gid_entry> gid_at(soft::Port const& p, std::uint32_t index);
  std::optional<Found> find_gid(ibv_gid const& gid, std::uint32_t type);

  // pairs.cpp
  soft::QueuePair* inside(Pair& p);
  int check_fence(Pair& p, soft::QueuePair& qp, bool reset);
  int to_init(Pair& p, soft::QueuePair& qp, ibv_qp_attr const& a, int mask);
  int to_rtr(Pair& p, soft::QueuePair& qp, ibv_qp_attr const& a);
  int to_rts(soft::QueuePair& qp, ibv_qp_attr const& a);
  void to_reset(Pair& p, soft::QueuePair& qp);
  void clear_completions(soft::Lane& lane, soft::QueuePair const& qp);

  // queues.cpp
  int take_send(Pair& p, soft::QueuePair& qp, ibv_send_wr const& w);
  void check_send(Pair& p, soft::QueuePair const& qp, ibv_send_wr const& w);
  void fill(ibv_wc& into, soft::CompletionEntry const& e);

  soft::Core& core_;
  soft::Random random_;
  CallScript script_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<PortLook> looks_;                                        ///< By port over all hosts.
  std::map<std::pair<std::uint32_t, std::uint32_t>, NamedGid> names_;  ///< By port and serial.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> device_memory_;
  std::vector<std::unique_ptr<Listing>> listings_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::unique_ptr<Domain>> domains_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::string> violations_;
  std::vector<Modified> modified_;
  std::size_t late_transitions_ = 0;
  std::uint64_t sends_taken_ = 0;
  std::uint64_t no_room_ = 0;
  std::uint64_t asked_after_death_ = 0;
  std::uint32_t port_events_unacked_ = 0;
};

}  // namespace vccl::test::emulated
