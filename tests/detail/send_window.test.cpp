// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/send_window.hpp>

#include <vccl/policies/release/ack_or_confirm.hpp>
#include <vccl/policies/release/on_ack.hpp>
#include <vccl/policies/release/on_confirm.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using namespace vccl;
using namespace vccl::detail;

namespace {
/// Steps of one send each, as the queue above would make them.
template <class Release>
struct Bench : SendWindow<Release> {
  using SendWindow<Release>::SendWindow;

  Request write(std::uint8_t parts = 1, bool needs_confirm = false) {
    Request const r = this->requests_.add({}, Tag{});
    SendSlot& st = this->steps_[this->next_ % window];
    st.requests[0] = this->requests_.match(Tag{});
    st.count = 1;
    st.parts = parts;
    st.acked = 0;
    st.special = needs_confirm ? SendSlot::needs_confirm : std::uint8_t{0};
    ++this->next_;
    return r;
  }
  void acknowledge(Step s) { this->on_acknowledged(static_cast<std::uint32_t>(s)); }
  bool done(Request r) { return this->requests_.is_done(r); }
};
constexpr Step first = 0xffff'fffe;  // The 32 bits of an acknowledgement wrap under way.
}  // namespace

TEST_CASE("steps are completed in order, whatever the order of their acknowledgements") {
  Bench<release::OnAck> at{first};
  Request const a = at.write(), b = at.write(), c = at.write();
  at.acknowledge(first + 2);
  at.acknowledge(first + 1);
  CHECK_FALSE(at.done(b));
  CHECK(at.SendWindow::done() == first);
  at.acknowledge(first);
  CHECK(at.SendWindow::done() == first + 3);
  for (Request r : {a, b, c}) CHECK(at.done(r));
}

TEST_CASE("a step is complete when all its parts are acknowledged") {
  Bench<release::OnAck> at{first};
  Request const a = at.write(3), b = at.write(2);
  at.acknowledge(first + 1);
  at.acknowledge(first);
  at.acknowledge(first);
  CHECK_FALSE(at.done(a));
  at.acknowledge(first);
  CHECK(at.done(a));
  CHECK_FALSE(at.done(b));
  at.acknowledge(first + 1);
  CHECK(at.done(b));
}

TEST_CASE("what is acknowledged of no step under way changes nothing") {
  Bench<release::OnAck> at{first};
  at.acknowledge(first);
  at.acknowledge(first - 1);
  at.acknowledge(first + window);
  CHECK(at.SendWindow::done() == first);
  Request const a = at.write();
  at.acknowledge(first - 1);
  CHECK_FALSE(at.done(a));
  at.acknowledge(first);
  CHECK(at.done(a));
}

TEST_CASE("a step that asks for it waits for the receiver's word, and holds up those behind it") {
  Bench<release::AckOrConfirm> at{first};
  Request const a = at.write(1, true), b = at.write();
  at.acknowledge(first);
  at.acknowledge(first + 1);
  CHECK_FALSE(at.done(a));
  CHECK_FALSE(at.done(b));
  CHECK(at.waits_for_confirmation());
  at.on_confirmed(first);
  CHECK_FALSE(at.done(a));
  at.on_confirmed(first + 1);
  CHECK(at.done(a));
  CHECK(at.done(b));
  CHECK_FALSE(at.waits_for_confirmation());
}

TEST_CASE("the receiver's word alone does not complete what the NIC may send again") {
  Bench<release::OnConfirm> at{first};
  Request const a = at.write();
  at.on_confirmed(first + 1);
  CHECK_FALSE(at.done(a));
  at.acknowledge(first);
  CHECK(at.done(a));
}
