// SPDX-License-Identifier: Apache-2.0
#include <vccl/error.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

using namespace vccl;

TEST_CASE("every error and every cause has a text of its own") {
  std::set<std::string_view> seen;
  for (unsigned v = 0; v <= static_cast<unsigned>(Errc::failed); ++v) {
    CHECK(text(static_cast<Errc>(v)) != "unknown");
    seen.insert(text(static_cast<Errc>(v)));
  }
  CHECK(seen.size() == static_cast<unsigned>(Errc::failed) + 1);
  seen.clear();
  for (unsigned v = 0; v <= static_cast<unsigned>(Cause::setup_deadline); ++v) {
    CHECK(text(static_cast<Cause>(v)) != "unknown");
    seen.insert(text(static_cast<Cause>(v)));
  }
  CHECK(seen.size() == static_cast<unsigned>(Cause::setup_deadline) + 1);
  CHECK(text(static_cast<Errc>(200)) == "unknown");
  CHECK(text(static_cast<Cause>(200)) == "unknown");
}

TEST_CASE("what another path may cure is told from what it may not") {
  CHECK_FALSE(is_path_cause(Cause::none));
  CHECK(is_path_cause(Cause::retry_exceeded));
  CHECK(is_path_cause(Cause::not_armed));
  CHECK_FALSE(is_path_cause(Cause::local_error));
  CHECK_FALSE(is_path_cause(Cause::setup_deadline));
}

TEST_CASE("a set-up error names the call, the errno and what to do, and cuts what does not fit") {
  SetupError const e{"ibv_open_device", 19, "no such device"};
  CHECK(std::string{e.what()} == "ibv_open_device failed with errno 19: no such device");
  CHECK(e.number() == 19);
  CHECK(std::string{e.call()} == "ibv_open_device");
  SetupError const plain{"Route", 0, "one to four ports"};
  CHECK(std::string{plain.what()} == "Route: one to four ports");
  std::string const words(500, 'x');
  SetupError const longer{"call", 1, words.c_str()};
  CHECK(std::string{longer.what()}.size() < 200);
}
