// SPDX-License-Identifier: Apache-2.0
#include <vccl/connection.hpp>

#include <archetypes/transport.hpp>
#include <support/world.hpp>
#include <vccl/sync/receiver_decides.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace vccl;
using namespace vccl::literals;
using test::Load;
using test::World;

namespace {
using T = archetype::Transport;
template <class... Args>
concept Connectable = requires { typename Connection<Args...>::Sender; };
}  // namespace

TEST_CASE("a connection composes what belongs together, and nothing else") {
  CHECK(Connectable<T>);
  CHECK(Connectable<T, T, sync::ReceiverDecides<>, Resilient>);
  CHECK(Connectable<T, Backups<T, T>, sync::ReceiverDecides<>, Resilient>);
  CHECK_FALSE(Connectable<T, T>);                                  // Nobody agrees on a switch.
  CHECK_FALSE(Connectable<T, NoBackup, sync::ReceiverDecides<>>);  // Nothing to switch to.
  CHECK_FALSE(Connection<T>::resilient);
  CHECK(Connection<T, T, sync::ReceiverDecides<>, Resilient>::resilient);
}

TEST_CASE("without a backup, messages of every kind arrive whole and in order") {
  World w{{.link = test::links::plain}};
  w.load(Load::random(1, 300, 200'000));
  CHECK(w.run());
  CHECK(w.received() == 300);
  CHECK(w.problems() == "");
}

TEST_CASE("a port that dies in the middle is survived, and its return is noticed") {
  World w;
  w.load(Load::uniform(400, 20'000));
  REQUIRE(w.run_until(100));
  w.inject("at 0ms link host0.port0 down");
  CHECK(w.run());
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().active_path == 1);
  CHECK(w.sender().counters.failovers == 1);
  CHECK(w.receiver().counters.failovers == 1);
  w.inject("at 0ms link host0.port0 up");
  w.idle(5_s);
  CHECK(w.sender().active_path == 0);
  CHECK(w.receiver().counters.failbacks == 1);
  w.load(Load::uniform(50, 20'000));
  CHECK(w.run());
  CHECK(w.received() == 450);
  CHECK(w.problems() == "");
}

TEST_CASE("lanes and QPs of any number carry sizes around every edge") {
  for (std::uint8_t lanes = 1; lanes <= 4; ++lanes) {
    for (std::uint8_t qps = 1; qps <= 4; qps = static_cast<std::uint8_t>(qps + 1)) {
      CAPTURE(int{lanes});
      CAPTURE(int{qps});
      Route route{PortId{0}};
      Ports backup;
      for (std::uint8_t l = 0; l < lanes; ++l) {
        route.primary.at[l] = PortId{l};
        backup.at[l] = PortId{static_cast<std::uint16_t>(lanes + l)};
      }
      route.primary.count = backup.count = lanes;
      route.backups[0] = backup;
      route.qps_per_lane = qps;
      World w{{.fabric = {.hosts = 2, .ports_per_host = 8, .max_message = 40'000},
               .sender = route,
               .receiver = route}};
      Load load;
      for (std::uint64_t n : std::initializer_list<std::uint64_t>{
               0, 1, 127, 128, 129, 4095, 4096, 4097, 39'999, 40'000, 40'001, 65'535, 65'536,
               65'537, 131'072, 200'001}) {
        load.steps.push_back({{n, n}});
        load.steps.push_back({{n, n + 1}, {n / 2, n}, {0, 5}});
      }
      w.load(load);
      REQUIRE(w.run_until(10));
      w.inject("at 0ms link host0.port0 down");
      CHECK(w.run());
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("a switch in the middle of every step's life loses and repeats nothing") {
  std::uint64_t resent = 0;
  for (int at = 0; at < 40; ++at) {
    CAPTURE(at);
    World w{{.fabric = {.latency = 20_us, .bytes_per_second = 300'000'000}}};
    w.load(Load::random(static_cast<std::uint64_t>(at), 60, 30'000));
    w.inject("at " + std::to_string(100 + at * 37) + "us link host0.port0 down");
    CHECK(w.run());
    CHECK(w.fired(soft::Action::link_down) == 1);
    CHECK(w.problems() == "");
    CHECK(w.received() == 60);
    resent += w.sender().counters.resent_steps;
  }
  CHECK(resent > 0);
}

TEST_CASE("counters and epochs that start just below a wrap go over it, with a switch on the way") {
  for (Step first : {Step{0xfffc}, Step{0xffff'fffc}, (Step{1} << 48) - 4}) {
    for (Epoch epoch : {Epoch{254}, Epoch{255}, Epoch{0xffff}, Epoch{0xffff'ffff}}) {
      Route r{PortId{0}};
      r.first_step = first;
      r.first_epoch = epoch;
      World w{{.sender = r, .receiver = r}};
      w.load(Load::uniform(40, 3'000, 3));
      REQUIRE(w.run_until(3));
      w.inject("at 0ms link host0.port0 down");
      CHECK(w.run());
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.sender().epoch == static_cast<Epoch>(epoch + 1));
      CHECK(w.receiver().counters.steps == 40);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("three backups are tried in order, and the last one is as good as the first") {
  Route r{PortId{0}};
  r.backups = {PortId{1}, PortId{2}, PortId{3}};
  World w{{.link = test::links::four_paths,
           .fabric = {.ports_per_host = 4},
           .sender = r,
           .receiver = r}};
  w.load(Load::uniform(400, 10'000));
  for (int port = 0; port < 3; ++port) {
    REQUIRE(w.run_until(100 * static_cast<std::size_t>(port + 1)));
    w.inject("at 0ms link host" + std::to_string(port % 2) + ".port" + std::to_string(port) +
             " down");
  }
  CHECK(w.run());
  CHECK(w.sender().active_path == 3);
  CHECK(w.sender().counters.failovers == 3);
  CHECK(w.problems() == "");
}

TEST_CASE(
    "when no path works, every request at both ends ends with the same cause by the deadline") {
  World w;
  w.load(Load::uniform(400, 10'000));
  REQUIRE(w.run_until(100));
  w.inject("at 0ms link host0.port0 down\nat 20ms link host0.port1 down");
  Time const then = w.now();
  CHECK(w.run(40_s));
  CHECK(w.fired(soft::Action::link_down) == 2);
  CHECK(w.now() - then < 35_s);
  CHECK(w.sender().ended);
  CHECK(w.receiver().ended);
  CHECK(w.sender().cause == w.receiver().cause);
  CHECK(is_path_cause(w.sender().cause));
  CHECK(w.problems() == "");
}
