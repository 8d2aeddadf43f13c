// SPDX-License-Identifier: Apache-2.0
#include <vccl/policies/detect/completion_status.hpp>

#include <contracts/detector_contract.hpp>

#include <doctest/doctest.h>

namespace vccl::test {
namespace {

using Kind = Verdict::Kind;
using Strict = detect::CompletionStatus<>;
using Lenient = detect::CompletionStatus<detect::StatusRules{.rnr_is_path_fault = true}>;

TEST_CASE_TEMPLATE("completion status detectors keep the contract", D, Strict, Lenient) {
  CHECK(contracts::detector<D>() == "");
}

/// The whole table by number, so that a reordered enumeration is noticed.
constexpr Verdict expected(unsigned number, bool address_gone, bool rnr_is_path_fault) {
  switch (number) {
    case 0:
      return {};
    case 12:
      return {Kind::path, Cause::retry_exceeded};
    case 5:
      return {Kind::path, Cause::flushed};
    case 13:
      if (rnr_is_path_fault) return {Kind::path, Cause::rnr_exhausted};
      return {Kind::fatal, Cause::protocol_error};
    case 2:
      if (address_gone) return {Kind::path, Cause::address_gone};
      return {Kind::fatal, Cause::local_error};
    case 1:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 19:
      return {Kind::fatal, Cause::local_error};
    case 9:
    case 10:
    case 11:
      return {Kind::fatal, Cause::remote_error};
    default:
      return {Kind::fatal, Cause::unknown_status};
  }
}

TEST_CASE("every one of the 256 status values means what the table says") {
  for (unsigned number = 0; number < 256; ++number) {
    CAPTURE(number);
    auto const status = static_cast<Status>(number);
    for (bool const gone : {false, true}) {
      CHECK(Strict::on_completion(status, gone) == expected(number, gone, false));
      CHECK(Lenient::on_completion(status, gone) == expected(number, gone, true));
    }
  }
}

TEST_CASE("a local QP operation error is a path fault only when the address is gone") {
  constexpr auto status = Status::local_qp_operation;
  CHECK(Strict::on_completion(status, true) == Verdict{Kind::path, Cause::address_gone});
  CHECK(Strict::on_completion(status, false) == Verdict{Kind::fatal, Cause::local_error});
}

TEST_CASE("a gone address excuses no other error") {
  CHECK(Strict::on_completion(Status::remote_access, true).kind == Kind::fatal);
  CHECK(Strict::on_completion(Status::local_protection, true).kind == Kind::fatal);
}

TEST_CASE("ports and waits say nothing to it") {
  CHECK(Strict::on_port({.down = true, .down_for = 3'600_s}) == Verdict{});
  CHECK(Strict::on_wait({.waiting = 3'600_s, .probing = 3'600_s}) == Verdict{});
  CHECK(Strict::hold() == Duration{});
  CHECK(Strict::stall() == Duration{});
}

}  // namespace
}  // namespace vccl::test
