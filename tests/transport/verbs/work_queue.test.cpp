// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/work_queue.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace vccl;
using namespace vccl::verbs;

namespace {
/// Takes `room` requests and has `error` for the rest.
struct Scripted {
  static inline std::vector<ibv_send_wr> taken;
  static inline std::vector<ibv_sge> pieces;
  static inline std::size_t room = 0;
  static inline int error = 0;
  static inline bool names_bad = true;
  static int post_send(ibv_qp*, ibv_send_wr* first, ibv_send_wr** bad) noexcept {
    for (ibv_send_wr* w = first; w != nullptr; w = w->next) {
      if (room-- == 0) {
        room = 0;
        if (names_bad) *bad = w;
        return error;
      }
      taken.push_back(*w);
      if (w->num_sge != 0) pieces.push_back(*w->sg_list);
    }
    return 0;
  }
  static void start(std::size_t n, int e) {
    taken.clear();
    pieces.clear();
    room = n;
    error = e;
    names_bad = true;
  }
};
using Eight = Chain<8, 16>;

WorkRequest request(std::uint64_t id) {
  WorkRequest w;
  w.id = id;
  w.local = 0x1000 + id;
  w.length = 100 + id;
  w.remote = 0x2000 + id;
  w.keys = {7, 9};
  return w;
}
void fill(Eight& chain) {
  for (std::uint64_t id = 0; id < 8; ++id) chain.push(request(id));
}
}  // namespace

TEST_CASE("a request says where from, where to, with which keys and how much") {
  Eight chain;
  WorkRequest w = request(3);
  w.kind = WorkRequest::Kind::write_with_immediate;
  w.immediate = 0x0102'0304;
  chain.push(w);
  w = request(4);
  w.length = 0;
  w.signaled = false;
  chain.push(w);
  Scripted::start(8, 0);
  REQUIRE(chain.ring<Scripted>(nullptr) == Errc::ok);
  REQUIRE(Scripted::taken.size() == 2);
  ibv_send_wr const& notify = Scripted::taken[0];
  CHECK(notify.wr_id == 3);
  CHECK(notify.opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
  CHECK(notify.send_flags == IBV_SEND_SIGNALED);
  CHECK(notify.wr.rdma.remote_addr == 0x2003);
  CHECK(notify.wr.rdma.rkey == 9);
  CHECK(Scripted::pieces[0].addr == 0x1003);
  CHECK(Scripted::pieces[0].length == 103);
  CHECK(Scripted::pieces[0].lkey == 7);
  CHECK(Scripted::taken[1].send_flags == 0);
  CHECK(Scripted::taken[1].num_sge == 0);
  CHECK(Scripted::pieces.size() == 1);
  CHECK(chain.empty());
}

TEST_CASE("an immediate is in network order on the wire, for all ids around 2^32") {
  for (std::uint64_t id = 0xffff'fffd; id <= 0x1'0000'0003; ++id) {
    Eight chain;
    WorkRequest w = request(1);
    w.kind = WorkRequest::Kind::write_with_immediate;
    w.immediate = static_cast<std::uint32_t>(id);
    chain.push(w);
    Scripted::start(8, 0);
    REQUIRE(chain.ring<Scripted>(nullptr) == Errc::ok);
    auto const* bytes = reinterpret_cast<unsigned char const*>(&Scripted::taken[0].imm_data);
    CHECK(bytes[0] == (id >> 24 & 0xff));
    CHECK(bytes[3] == (id & 0xff));
  }
}

TEST_CASE("inlined data is copied when it is pushed") {
  Eight chain;
  std::uint64_t value = 0x1122;
  WorkRequest w = request(1);
  w.inlined = true;
  w.local = reinterpret_cast<std::uintptr_t>(&value);
  w.length = sizeof value;
  chain.push(w);
  value = 0;
  Scripted::start(8, 0);
  REQUIRE(chain.ring<Scripted>(nullptr) == Errc::ok);
  CHECK((Scripted::taken[0].send_flags & IBV_SEND_INLINE) != 0);
  CHECK(*static_cast<std::uint64_t const*>(pointer_to(Scripted::pieces[0].addr)) == 0x1122);
}

TEST_CASE("wherever the provider stops, each request goes out once and in order") {
  for (std::size_t cut = 0; cut < 8; ++cut) {
    CAPTURE(cut);
    Eight chain;
    fill(chain);
    Scripted::start(cut, ENOMEM);
    REQUIRE(chain.ring<Scripted>(nullptr) == Errc::would_block);
    CHECK(Scripted::taken.size() == cut);
    CHECK(!chain.empty());
    CHECK(chain.room() == 0);
    Scripted::room = 100;
    REQUIRE(chain.ring<Scripted>(nullptr) == Errc::ok);
    REQUIRE(Scripted::taken.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) CHECK(Scripted::taken[i].wr_id == i);
    CHECK(chain.room() == 8);
  }
}

TEST_CASE("a refusal for good is told, and a provider that names no request took none") {
  Eight chain;
  fill(chain);
  Scripted::start(0, EINVAL);
  Scripted::names_bad = false;
  CHECK(chain.ring<Scripted>(nullptr) == Errc::path_down);
  Scripted::start(100, 0);
  REQUIRE(chain.ring<Scripted>(nullptr) == Errc::ok);
  CHECK(Scripted::taken.size() == 8);
}
