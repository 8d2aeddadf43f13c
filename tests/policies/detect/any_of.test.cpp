// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/detect/any_of.hpp>

#include <contracts/detector_contract.hpp>
#include <vccl/policies/detect/completion_status.hpp>
#include <vccl/policies/detect/port_event.hpp>
#include <vccl/policies/detect/stall_deadline.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using detect::AnyOf;
using detect::CompletionStatus;
using detect::PortEvent;
using detect::StallDeadline;
using Kind = Verdict::Kind;

using All = AnyOf<CompletionStatus<>, PortEvent<>, StallDeadline<>>;
using Reversed = AnyOf<StallDeadline<>, PortEvent<>, CompletionStatus<>>;
using Nested = AnyOf<AnyOf<CompletionStatus<>, PortEvent<>>, StallDeadline<>>;
using Single = AnyOf<PortEvent<>>;

static_assert(Detector<All> && std::is_empty_v<All>);

/// Says the same of everything.
template <Kind Verb, Cause Why>
struct Says {
  Verdict on_completion(Status, bool) const noexcept { return {Verb, Why}; }
  Verdict on_port(PortWatch const&) const noexcept { return {Verb, Why}; }
  Verdict on_wait(Wait const&) const noexcept { return {Verb, Why}; }
  static Duration hold() noexcept { return {}; }
  static Duration stall() noexcept { return {}; }
};
using Silent = Says<Kind::nothing, Cause::none>;
using Curious = Says<Kind::probe, Cause::none>;
using Leaves = Says<Kind::path, Cause::stall>;
using LeavesToo = Says<Kind::path, Cause::port_down>;
using Ends = Says<Kind::fatal, Cause::local_error>;
using EndsToo = Says<Kind::fatal, Cause::remote_error>;

struct OneState {
  int state = 0;
};

TEST_CASE_TEMPLATE("compositions keep the contract", D, All, Reversed, Nested, Single) {
  CHECK(contracts::detector<D>() == "");
}

template <class D>
void says(Verdict expected) {
  D const d{};
  CHECK(d.on_completion(Status::general, false) == expected);
  CHECK(d.on_port({}) == expected);
  CHECK(d.on_wait({}) == expected);
}

TEST_CASE("fatal wins over path, path over probe, probe over nothing, in any order") {
  says<AnyOf<Silent, Curious>>({Kind::probe, Cause::none});
  says<AnyOf<Curious, Silent>>({Kind::probe, Cause::none});
  says<AnyOf<Curious, Leaves>>({Kind::path, Cause::stall});
  says<AnyOf<Leaves, Curious>>({Kind::path, Cause::stall});
  says<AnyOf<Leaves, Ends, Curious>>({Kind::fatal, Cause::local_error});
  says<AnyOf<Ends, Curious, Leaves>>({Kind::fatal, Cause::local_error});
  says<AnyOf<Silent, Silent>>({});
}

TEST_CASE("of equals the first is heard") {
  says<AnyOf<Leaves, LeavesToo>>({Kind::path, Cause::stall});
  says<AnyOf<LeavesToo, Leaves>>({Kind::path, Cause::port_down});
  says<AnyOf<EndsToo, Leaves, Ends>>({Kind::fatal, Cause::remote_error});
}

TEST_CASE("each part is shown what it understands") {
  CHECK(All::on_completion(Status::flushed, false) == Verdict{Kind::path, Cause::flushed});
  CHECK(All::on_port({.down = true, .down_for = 50_ms}) == Verdict{Kind::path, Cause::port_down});
  CHECK(All::on_wait({.waiting = 200_ms}) == Verdict{Kind::probe, Cause::none});
  CHECK(All::on_wait({.waiting = 300_ms, .probing = 100_ms}) == Verdict{Kind::path, Cause::stall});
}

TEST_CASE("hold and stall are the smallest that the parts use") {
  using Quick = PortEvent<detect::Hold{.hold = 10_ms}>;
  using Slow = PortEvent<detect::Hold{.hold = 90_ms}>;
  using Patient = StallDeadline<detect::Stall{.stall = 900_ms}>;
  CHECK(All::hold() == 50_ms);
  CHECK(All::stall() == 200_ms);
  CHECK(AnyOf<Slow, Quick>::hold() == 10_ms);
  CHECK(AnyOf<Quick, CompletionStatus<>, Slow>::hold() == 10_ms);
  CHECK(AnyOf<Patient, StallDeadline<>>::stall() == 200_ms);
  CHECK(AnyOf<CompletionStatus<>>::hold() == Duration{});
  CHECK(AnyOf<CompletionStatus<>, PortEvent<>>::stall() == Duration{});
}

template <class... Parts>
concept CanBeComposed = requires { typename AnyOf<Parts...>; };

struct Counts : Silent, OneState {};

TEST_CASE("only detectors without state can be parts, and at least one") {
  CHECK(CanBeComposed<Silent, Curious>);
  CHECK(Detector<Counts>);
  CHECK_FALSE(CanBeComposed<Silent, Counts>);
  CHECK_FALSE(CanBeComposed<Silent, int>);
  CHECK_FALSE(CanBeComposed<>);
}

}  // namespace
}  // namespace vccl::test
