// SPDX-License-Identifier: Apache-2.0
// The emulated libibverbs carries bytes, refuses what the kernel refuses, and keeps honest books.
#include <support/emulated_verbs/emulated_verbs.hpp>
#include <support/emulated_verbs/transitions.hpp>
#include <vccl/transport/soft/fabric.hpp>
#include <vccl/transport/verbs/gid.hpp>
#include <vccl/transport/verbs/handles.hpp>
#include <vccl/transport/verbs/queue_pair.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

using Api = EmulatedVerbs;
using emulated::Machine;
using emulated::Refusal;
using emulated::Verb;

soft::FabricConfig still(soft::FabricConfig c = {}) {
  c.virtual_time = true;
  c.latency = 1_us;
  return c;
}

verbs::Context<Api> open(std::uint32_t host, std::size_t card = 0) {
  Machine::At const at{host};
  verbs::DeviceList<Api> const list;
  return verbs::open_device<Api>(list.begin()[card]);
}

/// One QP of a host, with everything that it needs and a buffer.
struct Node {
  explicit Node(std::uint32_t host, std::uint8_t port = 1, unsigned depth = 16)
      : context{open(host)},
        domain{verbs::alloc_pd<Api>(context.get())},
        queue{verbs::create_cq<Api>(context.get(), 64, nullptr)} {
    ibv_qp_init_attr how{};
    how.send_cq = how.recv_cq = queue.get();
    how.qp_type = IBV_QPT_RC;
    how.cap = {depth, 8, 1, 1, 64};
    qp = verbs::create_qp<Api>(domain.get(), how);
    region = verbs::reg_mr<Api>(domain.get(), bytes.data(), bytes.size(),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, "");
    local.number = port;
    ibv_port_attr a{};
    REQUIRE(Api::query_port(context.get(), port, &a) == 0);
    local.ethernet = a.link_layer == IBV_LINK_LAYER_ETHERNET;
    local.lid = a.lid;
    local.mtu = static_cast<std::uint8_t>(a.active_mtu);
    ibv_gid_entry e{};
    REQUIRE(verbs::choose_gid<Api>(context.get(), port, a, {}, e) == Errc::ok);
    local.gid = e.gid;
    local.gid_index = static_cast<std::uint8_t>(e.gid_index);
  }
  LaneAddress address() const {
    LaneAddress a;
    a.qps = 1;
    a.mtu = local.mtu;
    a.lid = local.lid;
    a.qp_numbers[0] = qp->qp_num;
    a.packet_numbers[0] = 77;
    std::memcpy(a.gid.data(), local.gid.raw, 16);
    return a;
  }
  int go(verbs::Transition t) { return Api::modify_qp(qp.get(), &t.attributes, t.mask); }
  bool connect(LaneAddress const& to) {
    return go(verbs::to_init(local, false)) == 0 && go(verbs::to_rtr({}, local, to, 0)) == 0 &&
           go(verbs::to_rts({}, 77)) == 0;
  }
  int receive(std::uint64_t id) {
    ibv_recv_wr w{};
    w.wr_id = id;
    ibv_recv_wr* bad = nullptr;
    return Api::post_recv(qp.get(), &w, &bad);
  }
  /// A notify of `n` bytes; gives what post_send gives.
  int notify(Node const& to, std::uint32_t n, std::uint64_t id) {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(bytes.data()), n, region->lkey};
    ibv_send_wr w{};
    w.wr_id = id;
    w.sg_list = &sge;
    w.num_sge = 1;
    w.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    w.send_flags = IBV_SEND_SIGNALED;
    w.imm_data = __builtin_bswap32(5);
    w.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to.bytes.data());
    w.wr.rdma.rkey = to.region->rkey;
    ibv_send_wr* bad = nullptr;
    return Api::post_send(qp.get(), &w, &bad);
  }
  std::vector<ibv_wc> poll() {
    std::array<ibv_wc, 32> some;
    int const n = Api::poll_cq(queue.get(), 32, some.data());
    return {some.begin(), some.begin() + n};
  }
  std::vector<ibv_event_type> events() {
    std::vector<ibv_event_type> all;
    ibv_async_event e{};
    CHECK(Api::unblock_events(context.get()) == 0);
    while (Api::get_async_event(context.get(), &e) == 0) {
      all.push_back(e.event_type);
      Api::ack_async_event(&e);
    }
    return all;
  }

  std::array<std::byte, 256> bytes{};
  verbs::Context<Api> context;
  verbs::Domain<Api> domain;
  verbs::Queue<Api> queue;
  verbs::QueuePair<Api> qp;
  verbs::Region<Api> region;
  verbs::LocalPort local;
};

struct Net {
  explicit Net(soft::FabricConfig c = {}, emulated::Habits habits = {})
      : fabric{still(c)}, machine{fabric.host(0).core(), habits} {}
  soft::Fabric fabric;
  Machine machine;
};

struct Two : Net {
  explicit Two(soft::FabricConfig c = {}, emulated::Habits habits = {})
      : Net{c, habits}, a{std::make_unique<Node>(0u)}, b{std::make_unique<Node>(1u)} {
    REQUIRE(a->connect(b->address()));
    REQUIRE(b->connect(a->address()));
  }
  std::unique_ptr<Node> a, b;
};

}  // namespace

TEST_CASE(
    "a notify carries its bytes and its immediate, and nothing is left when all is destroyed") {
  Two net;
  net.a->bytes.fill(std::byte{9});
  CHECK(net.b->receive(3) == 0);
  CHECK(net.a->notify(*net.b, 256, 4) == 0);
  net.fabric.advance(10_us);
  auto const got = net.b->poll();
  REQUIRE(got.size() == 1);
  CHECK(got[0].status == IBV_WC_SUCCESS);
  CHECK(got[0].opcode == IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK(got[0].wc_flags == IBV_WC_WITH_IMM);
  CHECK(got[0].imm_data == __builtin_bswap32(5));
  CHECK(got[0].wr_id == 3);
  CHECK(got[0].byte_len == 256);
  CHECK(net.b->bytes[255] == std::byte{9});
  auto const sent = net.a->poll();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].opcode == IBV_WC_RDMA_WRITE);
  CHECK(sent[0].wr_id == 4);
  CHECK(net.machine.leaks() != "");
  CHECK(net.machine.made("QP") == 2);
  net.a.reset();
  net.b.reset();
  CHECK(net.machine.leaks() == "");
  CHECK(net.machine.violations() == "");
  CHECK(net.fabric.census().queue_pairs == 0);
  CHECK(net.fabric.census().registrations == 0);
}

TEST_CASE("a transition needs just its attributes") {
  Two net;
  std::array<verbs::Transition, 3> const all{verbs::to_init(net.a->local, false),
                                             verbs::to_rtr({}, net.a->local, net.b->address(), 0),
                                             verbs::to_rts({}, 1)};
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
      CAPTURE(n);
      CAPTURE(bit);
      if (bit == IBV_QP_STATE) continue;
      REQUIRE(net.a->go(verbs::to_state(IBV_QPS_RESET)) == 0);
      for (std::size_t before = 0; before < n; ++before) REQUIRE(net.a->go(all[before]) == 0);
      verbs::Transition t = all[n];
      bool const required = (t.mask & bit) != 0;
      t.mask ^= bit;
      emulated::Needs const needs = emulated::needs(net.a->qp->state, t.attributes.qp_state);
      bool const may = !required && (needs.optional & bit) != 0;
      if (may && bit == IBV_QP_CUR_STATE) t.attributes.cur_qp_state = net.a->qp->state;
      CHECK(net.a->go(t) == (may ? 0 : EINVAL));
      wrong += may ? 0 : 1;
    }
  }
  CHECK(wrong > 40);
  CHECK(net.machine.violations().find("modify_qp from 0 to 1: wrong attributes 0x10") !=
        std::string::npos);
}

TEST_CASE("a state that cannot be reached from here is refused, and is no violation") {
  Two net;
  CHECK(net.a->go(verbs::to_init(net.a->local, false)) == EINVAL);
  CHECK(net.a->go(verbs::to_state(IBV_QPS_ERR)) == 0);
  CHECK(net.a->go(verbs::to_state(IBV_QPS_ERR)) == 0);
  CHECK(net.a->go(verbs::to_rts({}, 1)) == EINVAL);
  CHECK(net.a->go(verbs::to_state(IBV_QPS_RESET)) == 0);
  CHECK(net.a->go(verbs::to_state(IBV_QPS_ERR)) == EINVAL);
  CHECK(net.machine.late_transitions() == 3);
  CHECK(net.machine.violations() == "");
}

TEST_CASE("values that no port or QP has are refused") {
  Two net;
  REQUIRE(net.a->go(verbs::to_state(IBV_QPS_RESET)) == 0);
  verbs::Transition init = verbs::to_init(net.a->local, false);
  init.attributes.port_num = 3;
  CHECK(net.a->go(init) == EINVAL);
  REQUIRE(net.a->go(verbs::to_init(net.a->local, false)) == 0);
  verbs::Transition const good = verbs::to_rtr({}, net.a->local, net.b->address(), 0);
  verbs::Transition t = good;
  t.attributes.ah_attr.is_global = 0;  // Ethernet
  CHECK(net.a->go(t) == EINVAL);
  t = good;
  t.attributes.ah_attr.grh.sgid_index = 4;  // a hole
  CHECK(net.a->go(t) == EINVAL);
  t = good;
  net.fabric.link(0, 0).set_mtu(1024);
  CHECK(net.a->go(t) == EINVAL);
  net.fabric.link(0, 0).set_mtu(4096);
  net.fabric.link(0, 0).down();
  CHECK(net.a->go(good) == EHOSTUNREACH);
  net.fabric.link(0, 0).up();
  CHECK(net.a->go(good) == 0);
  verbs::Transition rts = verbs::to_rts({}, 1);
  rts.attributes.retry_cnt = 8;
  CHECK(net.a->go(rts) == EINVAL);
  CHECK(net.machine.violations() == "");
}

TEST_CASE("ends with different path MTUs are seen") {
  Two net;
  REQUIRE(net.a->go(verbs::to_state(IBV_QPS_RESET)) == 0);
  LaneAddress to = net.b->address();
  to.mtu = IBV_MTU_1024;
  REQUIRE(net.a->connect(to));
  CHECK(net.machine.violations() == "the ends of a QP have different path MTUs\n");
}

TEST_CASE("objects are destroyed in order, once, and not used after that") {
  auto seen = [](auto wrong) {
    Two net;
    wrong(net);
    return net.machine.violations();
  };
  CHECK(seen([](Two& n) { CHECK(Api::destroy_cq(n.a->queue.get()) == EBUSY); }) ==
        "destroy_cq of a CQ that 1 objects need\n");
  CHECK(seen([](Two& n) { CHECK(Api::dealloc_pd(n.a->domain.get()) == EBUSY); }) ==
        "dealloc_pd of a PD that 2 objects need\n");
  CHECK(seen([](Two& n) { static_cast<void>(Api::close_device(n.a->context.get())); }) ==
        "close_device of a context that 2 objects need\n");
  CHECK(seen([](Two& n) {
          ibv_qp* const qp = n.a->qp.get();
          n.a->qp.reset();
          CHECK(Api::destroy_qp(qp) == EINVAL);
        }) == "destroy_qp of a QP that was destroyed\n");
  CHECK(seen([](Two& n) {
          ibv_cq* const cq = n.a->queue.get();
          n.a->qp.reset();
          n.a->queue.reset();
          ibv_wc wc;
          CHECK(Api::poll_cq(cq, 1, &wc) == -EINVAL);
        }) == "poll_cq of a CQ that was destroyed\n");
}

TEST_CASE("an event is acknowledged before its object goes, and is not told after that") {
  Two net;
  CHECK(Api::unblock_events(net.a->context.get()) == 0);
  net.fabric.inject("qp host0.port0 fatal");
  ibv_async_event e{};
  REQUIRE(Api::get_async_event(net.a->context.get(), &e) == 0);
  CHECK(e.event_type == IBV_EVENT_QP_FATAL);
  CHECK(e.element.qp == net.a->qp.get());
  SUBCASE("acknowledged") {
    Api::ack_async_event(&e);
    net.a->qp.reset();
    CHECK(net.machine.violations() == "");
  }
  SUBCASE("not acknowledged") {
    net.a->qp.reset();
    CHECK(net.machine.violations() == "a QP is destroyed before its event is acknowledged\n");
  }
  SUBCASE("acknowledged twice") {
    Api::ack_async_event(&e);
    Api::ack_async_event(&e);
    CHECK(net.machine.violations() == "an event is acknowledged that was not got\n");
  }
  SUBCASE("of a QP that went before it was got") {
    Api::ack_async_event(&e);
    net.machine.raise(0, 0, IBV_EVENT_QP_ACCESS_ERR);
    net.a->qp.reset();
    CHECK(net.a->events().empty());
  }
}

TEST_CASE("events that would block a reader are seen") {
  Two net;
  ibv_async_event e{};
  CHECK(Api::get_async_event(net.a->context.get(), &e) == -1);
  CHECK(net.machine.violations() == "get_async_event would block for ever\n");
}

TEST_CASE("nothing is posted before its state, and no more than the queue holds") {
  Net net;
  Node a{0};
  Node b{1};
  CHECK(a.receive(1) == EINVAL);
  CHECK(net.machine.violations() == "post_recv on a QP in RESET\n");
  REQUIRE(a.go(verbs::to_init(a.local, false)) == 0);
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(a.receive(i) == 0);
  CHECK(a.receive(8) == ENOMEM);
  CHECK(a.notify(b, 8, 1) == EINVAL);
  CHECK(net.machine.violations().find("post_send on a QP before RTS") != std::string::npos);
}

TEST_CASE("a chain is taken as far as there is room, and bad_wr names the first that was not") {
  for (int room = 0; room <= 8; ++room) {
    CAPTURE(room);
    Two net;
    REQUIRE(net.fabric.census().queue_pairs == 2);
    net.fabric.inject("hold any host0.port0 for 1s");
    for (int i = room; i < 16; ++i) REQUIRE(net.a->notify(*net.b, 0, 100) == 0);
    std::array<ibv_send_wr, 8> chain{};
    for (std::size_t i = 0; i < 8; ++i) {
      chain[i].wr_id = i;
      chain[i].opcode = IBV_WR_RDMA_WRITE;
      chain[i].next = i < 7 ? &chain[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    int const said = Api::post_send(net.a->qp.get(), chain.data(), &bad);
    CHECK(said == (room < 8 ? ENOMEM : 0));
    CHECK(bad == (room < 8 ? &chain[static_cast<std::size_t>(room)] : nullptr));
    CHECK(net.machine.sends_taken() == 16);
    CHECK(net.machine.violations() == "");
  }
}

TEST_CASE("the script refuses the calls that it names, with what it names") {
  Two net;
  net.machine.refuse({.verb = Verb::post_send, .from = 2, .error = ENOMEM, .host = 0});
  CHECK(net.a->notify(*net.b, 0, 1) == 0);
  CHECK(net.a->notify(*net.b, 0, 1) == ENOMEM);
  CHECK(net.a->notify(*net.b, 0, 1) == 0);
  CHECK(net.machine.calls().struck() == 1);
  net.machine.refuse({.verb = Verb::create_cq, .count = 0, .error = ENOSPC});
  for (int i = 0; i < 3; ++i) {
    errno = 0;
    CHECK(Api::create_cq(net.b->context.get(), 1, nullptr) == nullptr);
    CHECK(errno == ENOSPC);
  }
  net.machine.refuse({.verb = Verb::modify_qp, .error = EIO, .device = "emu0_0"});
  CHECK(net.b->go(verbs::to_state(IBV_QPS_ERR)) == 0);
  net.machine.habits.minus_one = true;
  errno = 0;
  CHECK(net.a->go(verbs::to_state(IBV_QPS_ERR)) == -1);
  CHECK(errno == EIO);
  CHECK(net.machine.calls().last() == Verb::modify_qp);
  CHECK(net.machine.calls().struck() == 5);
  net.machine.refuse({.verb = Verb::any, .from = 3, .error = EIO});
  CHECK(Api::query_port(net.a->context.get(), 9, nullptr) == -1);
  CHECK(net.a->poll().empty());
  ibv_wc wc;
  CHECK(Api::poll_cq(net.a->queue.get(), 1, &wc) == -EIO);
}

TEST_CASE("a destroy that fails says so, and the object is gone all the same") {
  Two net;
  net.machine.refuse({.verb = Verb::destroy_qp, .error = EBUSY});
  CHECK(net.a->qp.reset() == EBUSY);
  net.a.reset();
  net.b.reset();
  CHECK(net.machine.leaks() == "");
  CHECK(net.machine.violations() == "");
}

TEST_CASE("a chain is taken up to where the script lets it") {
  for (int cut = 0; cut < 4; ++cut) {
    CAPTURE(cut);
    Two net;
    std::vector<std::uint64_t> taken;
    net.machine.on_send = [&](std::uint32_t host, ibv_qp const&, ibv_send_wr const& w) {
      CHECK(host == 0);
      taken.push_back(w.wr_id);
    };
    net.machine.refuse({.verb = Verb::post_send, .error = ENOMEM, .accepts = cut});
    std::array<ibv_send_wr, 4> chain{};
    for (std::size_t i = 0; i < 4; ++i) {
      chain[i].wr_id = i;
      chain[i].opcode = IBV_WR_RDMA_WRITE;
      chain[i].next = i < 3 ? &chain[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    CHECK(Api::post_send(net.a->qp.get(), chain.data(), &bad) == ENOMEM);
    CHECK(bad == &chain[static_cast<std::size_t>(cut)]);
    CHECK(taken.size() == static_cast<std::size_t>(cut));
    CHECK(Api::post_send(net.a->qp.get(), bad, &bad) == 0);
    CHECK(taken == std::vector<std::uint64_t>{0, 1, 2, 3});
  }
}

TEST_CASE("a cable that is pulled: an event, a port that is down, a request that gives up") {
  Two net;
  REQUIRE(net.b->receive(1) == 0);
  net.fabric.inject("link host0.port0 down");
  CHECK(net.a->notify(*net.b, 8, 1) == 0);
  CHECK(net.a->events() == std::vector{IBV_EVENT_PORT_ERR});
  ibv_port_attr p{};
  CHECK(Api::query_port(net.a->context.get(), 1, &p) == 0);
  CHECK(p.state == IBV_PORT_DOWN);
  net.fabric.advance(10_s);
  auto const failed = net.a->poll();
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].status == IBV_WC_RETRY_EXC_ERR);
  CHECK(net.b->events().empty());
}

TEST_CASE("a device that dies tells it once and answers EIO for ever; opened again it works") {
  Two net{{.ports_per_card = 2}};
  net.fabric.inject("device host0.port1 fatal");
  CHECK(net.a->notify(*net.b, 8, 1) == EIO);
  CHECK(net.a->events() == std::vector{IBV_EVENT_DEVICE_FATAL});
  ibv_async_event e{};
  CHECK(Api::get_async_event(net.a->context.get(), &e) == -1);
  CHECK(errno == EIO);
  CHECK_THROWS_AS(open(0), SetupError);
  net.fabric.inject("device host0.port1 returns");
  ibv_port_attr p{};
  CHECK(Api::query_port(net.a->context.get(), 1, &p) == EIO);
  CHECK(net.a->poll().empty());
  CHECK(net.a->qp.reset() == EIO);
  CHECK(net.a->region.reset() == EIO);
  net.a.reset();
  net.a = std::make_unique<Node>(0u);
  REQUIRE(net.b->go(verbs::to_state(IBV_QPS_RESET)) == 0);
  REQUIRE(net.a->connect(net.b->address()));
  REQUIRE(net.b->connect(net.a->address()));
  REQUIRE(net.b->receive(1) == 0);
  CHECK(net.a->notify(*net.b, 8, 1) == 0);
  net.fabric.advance(10_us);
  CHECK(net.b->poll().size() == 1);
  CHECK(net.machine.violations() == "");
}

TEST_CASE("a killed host's objects are gone") {
  Two net;
  net.fabric.kill(0);
  net.fabric.revive(0);
  CHECK(net.a->notify(*net.b, 8, 1) == EIO);
  net.a.reset();
  net.a = std::make_unique<Node>(0u);
  CHECK(net.machine.violations() == "");
}

TEST_CASE("a CQ that overruns is told of once, and its QPs are in ERR") {
  Net net;
  Node a{0};
  Node b{1, 1, 80};
  REQUIRE(a.connect(b.address()));
  REQUIRE(b.connect(a.address()));
  for (int i = 0; i < 66; ++i) CHECK(b.notify(a, 0, 1) == 0);
  for (int i = 0; i < 8; ++i) CHECK(a.receive(1) == 0);
  CHECK(b.go(verbs::to_state(IBV_QPS_ERR)) == 0);
  CHECK(b.events() == std::vector{IBV_EVENT_CQ_ERR});
  CHECK(b.poll().size() == 32);
}

TEST_CASE("RESET takes unpolled completions along, or leaves them: drivers differ") {
  for (bool const clears : {true, false}) {
    CAPTURE(clears);
    Two net{{}, {.clears_cq = clears}};
    REQUIRE(net.b->receive(1) == 0);
    CHECK(net.b->go(verbs::to_state(IBV_QPS_ERR)) == 0);
    CHECK(net.b->go(verbs::to_state(IBV_QPS_RESET)) == 0);
    CHECK(net.b->poll().size() == (clears ? 0 : 1));
    REQUIRE(net.b->connect(net.a->address()));
    REQUIRE(net.b->receive(2) == 0);
    CHECK(net.b->go(verbs::to_state(IBV_QPS_ERR)) == 0);
    net.b->qp.reset();
    auto const left = net.b->poll();
    REQUIRE(left.size() == (clears ? 0 : 1));
    if (!clears) CHECK(left[0].wr_id == 2);
    CHECK(net.machine.violations() == "");
  }
}

TEST_CASE(
    "GID tables are what the test says; the two versions of RoCE do not understand each other") {
  Net net;
  emulated::NamedGid v1{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1},
                        IBV_GID_TYPE_ROCE_V1};
  emulated::NamedGid v2 = v1;
  v2.type = IBV_GID_TYPE_ROCE_V2;
  net.machine.gids(0, 0, {v1, {}, v2});
  Node a{0};
  Node b{1};
  CHECK(a.local.gid_index == 2);
  ibv_gid_entry e{};
  CHECK(Api::query_gid(a.context.get(), 1, 0, &e) == 0);
  CHECK(e.gid_type == IBV_GID_TYPE_ROCE_V1);
  CHECK(Api::query_gid(a.context.get(), 1, 1, &e) == ENODATA);
  CHECK(Api::query_gid(a.context.get(), 1, 8, &e) == EINVAL);
  a.local.gid_index = 0;
  REQUIRE(a.connect(b.address()));
  REQUIRE(b.connect(a.address()));
  REQUIRE(b.receive(1) == 0);
  CHECK(a.notify(b, 8, 1) == 0);
  net.fabric.advance(10_s);
  auto const failed = a.poll();
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("InfiniBand ports are reached by LID") {
  Net net;
  net.machine.infiniband(0, 0);
  net.machine.infiniband(1, 0);
  Node a{0};
  Node b{1};
  CHECK(a.local.lid != b.local.lid);
  CHECK_FALSE(a.local.ethernet);
  REQUIRE(a.connect(b.address()));
  REQUIRE(b.connect(a.address()));
  REQUIRE(b.receive(1) == 0);
  CHECK(a.notify(b, 8, 1) == 0);
  net.fabric.advance(10_us);
  CHECK(b.poll().size() == 1);
}

TEST_CASE("a registration holds on every port of its card, and only in its PD") {
  Net net;
  Node a{0, 2};
  Node b{1, 2};
  REQUIRE(a.connect(b.address()));
  REQUIRE(b.connect(a.address()));
  REQUIRE(b.receive(1) == 0);
  CHECK(a.notify(b, 8, 1) == 0);
  net.fabric.advance(10_us);
  CHECK(b.poll().size() == 1);
  CHECK(net.machine.violations() == "");
  verbs::Domain<Api> const other = verbs::alloc_pd<Api>(a.context.get());
  a.region = verbs::reg_mr<Api>(other.get(), a.bytes.data(), 8, IBV_ACCESS_LOCAL_WRITE, "");
  CHECK(a.notify(b, 8, 1) == 0);
  CHECK(net.machine.violations() == "post_send with the local key of another PD\n");
  a.region.reset();
}

TEST_CASE("what a registration does not allow is refused") {
  Net net{{}, {.memlock = 300}};
  Node a{0};
  CHECK_THROWS_AS(static_cast<void>(verbs::reg_mr<Api>(a.domain.get(), a.bytes.data(), 8,
                                                       IBV_ACCESS_REMOTE_WRITE, "")),
                  SetupError);
  auto reg = [&](std::size_t n) {
    errno = 0;
    ibv_mr* const mr = Api::reg_mr(a.domain.get(), a.bytes.data(), n, IBV_ACCESS_LOCAL_WRITE);
    if (mr != nullptr) CHECK(Api::dereg_mr(mr) == 0);
    return errno;
  };
  CHECK(reg(44) == 0);
  CHECK(reg(45) == ENOMEM);
}

TEST_CASE("a QP that does not let reads in is not read") {
  Two net;
  ibv_send_wr w{};
  w.opcode = IBV_WR_RDMA_READ;
  ibv_send_wr* bad = nullptr;
  CHECK(Api::post_send(net.a->qp.get(), &w, &bad) == 0);
  CHECK(net.machine.violations() == "post_send of what the peer's QP does not let in\n");
}

TEST_CASE("a registration is read only where it says so") {
  for (bool const readable : {false, true}) {
    CAPTURE(readable);
    Net net;
    Node a{0};
    Node b{1};
    b.bytes.fill(std::byte{7});
    unsigned const access = readable ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    b.region = verbs::reg_mr<Api>(b.domain.get(), b.bytes.data(), b.bytes.size(),
                                  access | IBV_ACCESS_LOCAL_WRITE, "");
    REQUIRE(a.connect(b.address()));
    REQUIRE(b.go(verbs::to_init(b.local, true)) == 0);
    REQUIRE(b.go(verbs::to_rtr({}, b.local, a.address(), 0)) == 0);
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(a.bytes.data()), 8, a.region->lkey};
    ibv_send_wr w{};
    w.opcode = IBV_WR_RDMA_READ;
    w.sg_list = &sge;
    w.num_sge = 1;
    w.send_flags = IBV_SEND_SIGNALED;
    w.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(b.bytes.data());
    w.wr.rdma.rkey = b.region->rkey;
    ibv_send_wr* bad = nullptr;
    CHECK(Api::post_send(a.qp.get(), &w, &bad) == 0);
    net.fabric.advance(10_us);
    auto const done = a.poll();
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == (readable ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR));
    if (readable) CHECK(done[0].opcode == IBV_WC_RDMA_READ);
    CHECK(a.bytes[7] == (readable ? std::byte{7} : std::byte{0}));
    CHECK(net.machine.violations() == "");
  }
}

TEST_CASE("the attributes that QPs were given can be looked at") {
  Two net;
  auto const all = net.machine.modified();
  REQUIRE(all.size() == 6);
  CHECK(all[1].to == IBV_QPS_RTR);
  CHECK(all[1].attributes.path_mtu == IBV_MTU_4096);
  CHECK(all[1].attributes.ah_attr.grh.hop_limit == 255);
  CHECK(all[2].attributes.sq_psn == 77);
  CHECK(all[5].host == 1);
}

}  // namespace vccl::test
