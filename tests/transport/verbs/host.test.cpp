// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/host.hpp>

#include <doctest/doctest.h>
#include <transport/verbs/recording_verbs.hpp>

#include <string>
#include <vector>

using namespace vccl;
using namespace vccl::verbs;

namespace {
using Machine = verbs::Host<NoBootstrap, RecordingVerbs>;
static_assert(vccl::Host<Machine>);

NoBootstrap boot;
std::vector<std::string> names(std::vector<std::string> wanted) {
  RecordingVerbs::start();
  std::vector<std::string> all;
  {
    Machine m{boot, {.ports = std::move(wanted)}};
    for (std::size_t i = 0; i < m.port_count(); ++i)
      all.push_back(m.port_name(PortId{static_cast<std::uint16_t>(i)}));
  }
  CHECK(RecordingVerbs::live == 0);
  return all;
}
std::string refused(std::vector<std::string> wanted) {
  try {
    static_cast<void>(names(std::move(wanted)));
  } catch (SetupError const& e) {
    CHECK(RecordingVerbs::live == 0);
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("ports are those named, in that order; without names all of them") {
  CHECK(names({}) == std::vector<std::string>{"mlx5_1:1", "mlx5_1:2", "mlx5_10:1"});
  CHECK(names({"mlx5_10", "mlx5_1:2"}) == std::vector<std::string>{"mlx5_10:1", "mlx5_1:2"});
  CHECK(names({"mlx5_1"}) == std::vector<std::string>{"mlx5_1:1", "mlx5_1:2"});
}

TEST_CASE("a name that is none, one that is not there and one given twice are refused by name") {
  CHECK(refused({"mlx5_2"}).find("there is no mlx5_2") != std::string::npos);
  CHECK(refused({"mlx5_1:3"}).find("there is no mlx5_1:3") != std::string::npos);
  CHECK(refused({"mlx5_1:2", "mlx5_1"}).find("mlx5_1:2 is named twice") != std::string::npos);
  CHECK(refused({"mlx5_1:x"}) != "");
}

TEST_CASE("functions of one PCI device are one card") {
  RecordingVerbs::start();
  Machine m{boot};
  CHECK(m.port_state(PortId{0}).active);
  CHECK(m.port_state(PortId{0}).card == m.port_state(PortId{2}).card);
  RecordingVerbs::port = IBV_PORT_DOWN;
  CHECK(!m.port_state(PortId{0}).active);
  CHECK(!m.port_state(PortId{9}).active);
}

TEST_CASE("a device that cannot be opened keeps its ports' numbers, and says why when it is used") {
  RecordingVerbs::start();
  RecordingVerbs::open_error = EACCES;
  {
    Machine m{boot, {.ports = {"mlx5_10", "mlx5_1"}}};
    CHECK(m.port_count() == 3);
    CHECK(!m.port_state(PortId{0}).active);
    CHECK(m.port_state(PortId{1}).active);
    try {
      static_cast<void>(m.open_port(PortId{0}));
      FAIL("opened");
    } catch (SetupError const& e) {
      CHECK(e.number() == EACCES);
    }
    CHECK_THROWS_AS(static_cast<void>(m.open_port(PortId{3})), SetupError);
  }
  CHECK(RecordingVerbs::live == 0);
}

TEST_CASE("an event of a port is of that port only, one of the device of all its ports") {
  RecordingVerbs::start();
  Machine m{boot, {.ports = {"mlx5_10", "mlx5_1"}}};
  ibv_async_event e{};
  e.event_type = IBV_EVENT_PORT_ERR;
  e.element.port_num = 2;
  RecordingVerbs::events.push_back(e);
  e.event_type = IBV_EVENT_DEVICE_FATAL;
  RecordingVerbs::events.push_back(e);
  PortEvent got;
  REQUIRE(m.poll_event(got));
  CHECK(got.kind == PortEvent::Kind::port_error);
  CHECK(got.port == PortId{2});
  CHECK(m.port_state(PortId{1}).active);
  std::vector<PortId> dead;
  while (m.poll_event(got)) {
    CHECK(got.kind == PortEvent::Kind::device_fatal);
    dead.push_back(got.port);
  }
  CHECK(dead == std::vector{PortId{1}, PortId{2}});
  CHECK(!m.port_state(PortId{1}).active);
  CHECK(m.port_state(PortId{0}).active);
  CHECK_THROWS_AS(static_cast<void>(m.open_port(PortId{1})), SetupError);
}
