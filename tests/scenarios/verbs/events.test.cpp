// SPDX-License-Identifier: Apache-2.0
// Asynchronous events of libibverbs: whose they are, and what comes of them.
#include <support/proof.hpp>
#include <support/verbs_link.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace vccl::test {

namespace {

using emulated::Machine;
using emulated::Verb;

Load steady(std::size_t steps) {
  Load load = Load::uniform(steps, 1000);
  load.pause = 1_ms;
  return load;
}

/// Both ends' primary on InfiniBand, or on Ethernet as everything else.
VerbsSetup with_primary(bool infiniband) {
  VerbsSetup setup;
  if (infiniband) {
    setup.prepare = [](Machine& m) {
      m.infiniband(0, 0);
      m.infiniband(1, 0);
    };
  }
  return setup;
}

/// Steady load on a connection that is up.
void run_into(World& w, std::size_t steps = 3000) {
  REQUIRE(w.settle());
  w.load(steady(steps));
  REQUIRE(w.run_until(20));
}

/// Waits for the way back, and ends the load.
void come_back(World& w, Proof& proof) {
  REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
  proof.returned();
  std::size_t const before = w.received();
  REQUIRE(w.until([&] { return w.received() >= before + 20; }));
  w.wind_up();
  CHECK(w.run());
  CHECK(w.received() == w.sent());
}

}  // namespace

TEST_CASE("K1: of a device with two ports only the port that an event names is concerned") {
  World w{{.link = links::verbs, .fabric = {.ports_per_card = 2, .latency = 5_us}}};
  run_into(w);
  CHECK(machine().made("context") == 2);  // One reader each.
  machine().raise(0, 0, IBV_EVENT_PORT_ACTIVE);
  w.inject("link host0.port1 down for 200ms\nat 20ms gid host1.port1 new");
  REQUIRE(w.until([&] { return !w.sender().has_backup; }, 1_s));
  CHECK(w.fired(soft::Action::link_down) == 1);
  CHECK(w.sender().path_causes[1] == Cause::port_down);
  CHECK(w.sender().path_causes[0] == Cause::none);
  w.until([] { return false; }, 100_ms);
  CHECK(w.fired(soft::Action::gid_new) == 1);
  CHECK(w.until([&] { return w.sender().has_backup && w.receiver().has_backup; }, 3_s));
  CHECK(w.sender().counters.rearms > 0);
  CHECK(w.sender().counters.failovers == 0);
  CHECK(w.receiver().counters.failovers == 0);
  CHECK(w.sender().active_path == 0);
  w.wind_up();
  CHECK(w.run());
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

TEST_CASE("K4: a device that is removed fails over without a flush, and is used no more") {
  // Calls say EIO before the event comes, or after it.
  for (bool const calls_first : {false, true}) {
    CAPTURE(calls_first);
    {
      World w{apart()};
      run_into(w);
      if (calls_first) {
        for (Verb const v : {Verb::post_send, Verb::poll_cq, Verb::modify_qp, Verb::query_port}) {
          machine().refuse({.verb = v, .count = 0, .error = EIO, .host = 0, .device = "emu0_0"});
        }
        REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 2_s));
        CHECK(machine().calls().struck() > 0);
      }
      w.inject("device host0.port0 fatal");
      REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 2_s));
      CHECK(w.fired(soft::Action::device_fatal) == 1);
      // There again, and not opened again.
      w.inject("device host0.port0 returns");
      std::size_t const before = w.received();
      REQUIRE(w.until([&] { return w.received() >= before + 1000; }));
      CHECK(w.sender().active_path == 1);
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.sender().counters.failbacks == 0);
      CHECK(machine().asked_after_death() == 0);
      w.wind_up();
      CHECK(w.run());
      CHECK(w.received() == w.sent());
      CHECK(w.problems() == "");
    }
    CHECK(Machine::last_words() == "");
  }
}

TEST_CASE("K5: a QP that dies without a completion takes its path, whichever event tells") {
  for (ibv_event_type const type :
       {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR}) {
    for (std::string const host : {"host0", "host1"}) {
      CAPTURE(static_cast<int>(type));
      CAPTURE(host);
      VerbsSetup setup;
      setup.habits.qp_event = type;
      VerbsScope const scope{setup};
      World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
      run_into(w);
      Proof proof{w, soft::Action::qp_fatal};
      Time const begun = w.now();
      w.inject("qp " + host + ".port0 fatal");
      REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 2_s));
      CHECK(w.now() - begun < 350_ms);  // By the stall and its probe; the event takes no part.
      come_back(w, proof);
      CHECK(proof.lacks() == "");
      CHECK(w.sender().counters.failovers == 1);
      CHECK(w.problems() == "");
      CHECK(machine().violations() == "");
    }
  }
}

TEST_CASE("K5: a CQ that breaks takes its path and no other, and is made again") {
  for (std::string const host : {"host0", "host1"}) {
    CAPTURE(host);
    World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
    run_into(w);
    CHECK(machine().made("CQ") == 4);  // Of each end and path.
    Proof proof{w, soft::Action::cq_error};
    w.inject("cq " + host + ".port0 error");
    REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 2_s));
    come_back(w, proof);
    CHECK(machine().made("CQ") > 4);
    CHECK(proof.lacks() == "");
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");
  }
}

TEST_CASE("K5: a device that dies takes its path, and is not waited for") {
  for (std::string const host : {"host0", "host1"}) {
    CAPTURE(host);
    World w{apart()};
    run_into(w, 500);
    Time const begun = w.now();
    w.inject("device " + host + ".port0 fatal");
    REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 2_s));
    CHECK(w.now() - begun < 150_ms);
    CHECK(w.fired(soft::Action::device_fatal) == 1);
    CHECK(w.run());
    CHECK(w.received() == 500);
    CHECK(w.sender().counters.failovers == 1);
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");
  }
}

TEST_CASE("K6: an address event that changes nothing does nothing, idle or busy") {
  for (bool const infiniband : {false, true}) {
    for (bool const busy : {false, true}) {
      CAPTURE(infiniband);
      CAPTURE(busy);
      VerbsScope const scope{with_primary(infiniband)};
      World w{apart()};
      run_into(w, 300);
      if (!busy) CHECK(w.run());
      std::uint64_t const read = machine().calls().calls(Verb::get_async_event);
      machine().raise(0, 0, infiniband ? IBV_EVENT_LID_CHANGE : IBV_EVENT_GID_CHANGE);
      if (busy) CHECK(w.run());
      w.idle(1_s);
      CHECK(machine().calls().calls(Verb::get_async_event) > read);
      CHECK(w.sender().counters.path_faults == 0);
      CHECK(w.receiver().counters.path_faults == 0);
      CHECK(w.problems() == "");
      CHECK(machine().violations() == "");
    }
  }
}

TEST_CASE("K6: a new address takes the path down and up again with that address at both ends") {
  for (bool const infiniband : {false, true}) {
    for (bool const busy : {false, true}) {
      CAPTURE(infiniband);
      CAPTURE(busy);
      VerbsScope const scope{with_primary(infiniband)};
      World w{apart()};
      run_into(w, busy ? 3000 : 50);
      if (!busy) CHECK(w.run());
      Proof proof{w, soft::Action::gid_new};
      LaneAddress const before = w.hosts[0]->hooks.described[0];
      w.inject("gid host0.port0 new");
      if (!busy) {
        w.idle(1_s);
        w.load(steady(3000));
      }
      come_back(w, proof);
      LaneAddress const after = w.hosts[0]->hooks.described[0];
      CHECK(after.gid != before.gid);
      ibv_ah_attr const used = transitions(1, 0, IBV_QPS_RTR).back().attributes.ah_attr;
      if (infiniband) {
        CHECK(after.lid != before.lid);
        CHECK(used.dlid == after.lid);
      } else {
        CHECK(std::memcmp(used.grh.dgid.raw, after.gid.data(), 16) == 0);
      }
      CHECK(proof.lacks() == "");
      CHECK(w.problems() == "");
      CHECK(machine().violations() == "");
    }
  }
}

TEST_CASE("K6: an address that cannot be asked for keeps the path out of use until it can") {
  World w{apart()};
  run_into(w);
  Proof proof{w, soft::Action::gid_new};
  machine().refuse({.verb = Verb::query_gid, .count = 0, .error = EIO, .device = "emu0_0"});
  w.inject("gid host0.port0 new");
  REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 3_s));
  std::size_t const before = w.received();
  REQUIRE(w.until([&] { return w.received() >= before + 1000; }));
  CHECK(w.sender().counters.failbacks == 0);
  CHECK(machine().calls().struck() > 3);  // It goes on asking.
  machine().clear_refusals();
  come_back(w, proof);
  CHECK(proof.lacks() == "");
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

}  // namespace vccl::test
