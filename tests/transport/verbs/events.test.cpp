// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/events.hpp>

#include <doctest/doctest.h>

#include <deque>

using namespace vccl;
using namespace vccl::verbs;
using Kind = PortEvent::Kind;

namespace {
/// A device whose events are the test's.
struct Scripted {
  static inline std::deque<ibv_async_event> waiting;
  static inline int acknowledged, asked, error;
  static void begin() {
    waiting.clear();
    acknowledged = asked = 0;
    error = EAGAIN;
  }
  static int unblock_events(ibv_context* c) noexcept { return c == nullptr ? -1 : 0; }
  static int get_async_event(ibv_context*, ibv_async_event* into) noexcept {
    ++asked;
    if (waiting.empty()) {
      errno = error;
      return -1;
    }
    *into = waiting.front();
    waiting.pop_front();
    return 0;
  }
  static void ack_async_event(ibv_async_event*) noexcept { ++acknowledged; }
};

ibv_async_event of_port(ibv_event_type type, int number) {
  ibv_async_event e{};
  e.event_type = type;
  e.element.port_num = number;
  return e;
}
}  // namespace

TEST_CASE("a port's event names the port that it is about, whoever reads it") {
  Scripted::begin();
  ibv_context context{};
  Events<Scripted> events{&context};
  Scripted::waiting = {of_port(IBV_EVENT_PORT_ERR, 2), of_port(IBV_EVENT_GID_CHANGE, 2),
                       of_port(IBV_EVENT_SM_CHANGE, 1), of_port(IBV_EVENT_PORT_ACTIVE, 1)};
  auto is = [&](Kind kind, int number) {
    auto const e = events.next();
    return e && e->kind == kind && e->number == number;
  };
  CHECK(is(Kind::port_error, 2));
  CHECK(is(Kind::address_change, 2));
  CHECK(is(Kind::port_active, 1));
  CHECK_FALSE(events.next());
  CHECK(Scripted::acknowledged == 4);
}

TEST_CASE("an event of a QP or a CQ names its port by the tag that it was made with") {
  ibv_qp qp{};
  qp.qp_context = tag_of(PortId{3});
  qp.qp_num = 42;
  ibv_async_event e{};
  e.event_type = IBV_EVENT_QP_FATAL;
  e.element.qp = &qp;
  auto const of_qp = translate(e);
  REQUIRE(of_qp);
  CHECK((of_qp->kind == Kind::qp_fatal && of_qp->port == PortId{3} && of_qp->qp_num == 42));
  ibv_cq cq{};
  cq.cq_context = tag_of(PortId{5});
  e.event_type = IBV_EVENT_CQ_ERR;
  e.element.cq = &cq;
  auto const of_cq = translate(e);
  REQUIRE(of_cq);
  CHECK((of_cq->kind == Kind::cq_error && of_cq->port == PortId{5}));
}

TEST_CASE("a dead device is told once and not asked again, also when it dies without an event") {
  ibv_context context{};
  for (bool with_event : {true, false}) {
    Scripted::begin();
    Scripted::error = EIO;
    if (with_event) Scripted::waiting = {of_port(IBV_EVENT_DEVICE_FATAL, 0)};
    Events<Scripted> events{&context};
    auto const e = events.next();
    REQUIRE(e);
    CHECK(e->kind == Kind::device_fatal);
    CHECK_FALSE(events.next());
    CHECK(Scripted::asked == 1);
  }
}

TEST_CASE("a descriptor that cannot be made non-blocking is refused") {
  CHECK_THROWS_AS(Events<Scripted>{nullptr}, SetupError);
}
