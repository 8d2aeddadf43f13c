// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/send_requests.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace vccl;
using detail::SendRequests;

namespace {
Memory nothing() { return {}; }
}  // namespace

TEST_CASE("sends of one tag are matched in order of posting, other tags pass them by") {
  SendRequests t;
  Request const a1 = t.add(nothing(), Tag{1});
  Request const b = t.add(nothing(), Tag{2});
  Request const a2 = t.add(nothing(), Tag{1});
  CHECK(t.match(Tag{3}) == SendRequests::none);
  CHECK(t.match(Tag{2}) == b.slot);
  CHECK(t.match(Tag{1}) == a1.slot);
  CHECK(t.match(Tag{1}) == a2.slot);
  CHECK_FALSE(t.any_queued());
  Request const c = t.add(nothing(), Tag{1});  // The queue's ends are whole after it was emptied.
  CHECK(t.match(Tag{1}) == c.slot);
}

TEST_CASE(
    "the table takes 256 sends, then says would_block, and takes another once one is reported") {
  SendRequests t;
  std::vector<Request> all;
  for (std::size_t i = 0; i < SendRequests::capacity; ++i) all.push_back(t.add(nothing(), Tag{1}));
  for (Request r : all) CHECK(r);
  Request const full = t.add(nothing(), Tag{1});
  CHECK_FALSE(full);
  CHECK(full.why == Errc::would_block);
  std::uint16_t const i = t.match(Tag{1});
  t.end(i, Errc::ok, Delivered::yes);
  REQUIRE(t.is_done(all[0]));
  CHECK(t.take(all[0]).delivered == Delivered::yes);
  CHECK(t.add(nothing(), Tag{1}));
}

TEST_CASE("a request that was reported is spent, also when its slot is used again") {
  SendRequests t;
  Request const r = t.add(nothing(), Tag{1});
  CHECK(t.knows(r));
  t.end(t.match(Tag{1}), Errc::ok, Delivered::yes);
  static_cast<void>(t.take(r));
  CHECK_FALSE(t.knows(r));
  Request const again = t.add(nothing(), Tag{1});
  CHECK(again.slot == r.slot);
  CHECK(t.knows(again));
  CHECK_FALSE(t.knows(r));
  CHECK_FALSE(t.knows(Request{9999, 1, Errc::ok}));
}

TEST_CASE("a buffer with bytes but no registration is refused; none is needed for zero bytes") {
  SendRequests t;
  CHECK(t.add({.address = 1, .length = 8}, Tag{1}).why == Errc::invalid_argument);
  CHECK(t.add({.address = 1, .length = 0}, Tag{1}));
}

TEST_CASE("what is still queued at the end never left") {
  SendRequests t;
  Request const r = t.add(nothing(), Tag{1});
  t.end_queued(Errc::aborted);
  REQUIRE(t.is_done(r));
  Result const out = t.take(r);
  CHECK(out.error == Errc::aborted);
  CHECK(out.delivered == Delivered::no);
}
