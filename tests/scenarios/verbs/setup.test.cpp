// SPDX-License-Identifier: Apache-2.0
// Setting connections up over libibverbs: addresses, MTUs, link layers, ports and devices that are
// not there.
#include <support/proof.hpp>
#include <support/verbs_link.hpp>
#include <support/world.hpp>
#include <vccl/detail/records.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vccl::test {

namespace {

using emulated::Machine;
using emulated::NamedGid;
using emulated::Verb;
using Table = std::vector<std::optional<NamedGid>>;

NamedGid gid(std::array<std::uint8_t, 16> raw, bool v2) {
  return {raw, v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1};
}
NamedGid link_local(bool v2, std::uint8_t host) {
  return gid({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, host}, v2);
}
NamedGid ipv4(bool v2, std::uint8_t host) {
  return gid({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host}, v2);
}
NamedGid unique_local(bool v2, std::uint8_t host) {
  return gid({0xfd, 0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host}, v2);
}

/// The GID indices of the primary's QPs of data, as they last went to RTR; -1: they never did.
std::array<int, 2> chosen() {
  std::array<int, 2> all{-1, -1};
  for (std::uint32_t h = 0; h < 2; ++h) {
    auto const t = transitions(h, 0, IBV_QPS_RTR);
    if (!t.empty()) all[h] = t.back().attributes.ah_attr.grh.sgid_index;
  }
  return all;
}

/// Both ends of a primary are connected to each other, in their last life.
bool matches() {
  bool good = true;
  for (std::uint32_t h = 0; h < 2; ++h) {
    auto const mine = transitions(h, 0, IBV_QPS_RTR);
    auto const theirs = transitions(1 - h, 0, IBV_QPS_RTS);
    if (mine.empty() || theirs.empty()) return false;
    good = good && mine.back().attributes.dest_qp_num == theirs.back().qp_num &&
           mine.back().attributes.rq_psn == theirs.back().attributes.sq_psn;
  }
  return good;
}

/// Starts with tables that depend on the host's number.
template <class F>
std::array<int, 2> start_with(F table, verbs::GidWish wish = {}) {
  VerbsSetup setup;
  setup.prepare = [&](Machine& m) {
    m.gids(0, 0, table(std::uint8_t{1}));
    m.gids(1, 0, table(std::uint8_t{2}));
    for (std::uint8_t h = 0; h < 2; ++h) {  // The backup has one at every index.
      Table all;
      for (std::uint8_t i = 0; i < 7; ++i)
        all.push_back(unique_local(true, static_cast<std::uint8_t>(16 * (h + 1) + i)));
      m.gids(h, 1, all);
    }
  };
  setup.hosts[0].gid = setup.hosts[1].gid = wish;
  VerbsScope const scope{setup};
  std::array<int, 2> out{};
  {
    World w{{.link = links::verbs}};
    REQUIRE(w.settle(1_s));
    out = chosen();
    w.load(Load::uniform(20, 1000));
    CHECK(w.run());
    CHECK(w.problems() == "");
    CHECK(w.sender().active_path == (out[0] == -1 ? 1 : 0));
  }
  CHECK(Machine::last_words() == "");
  return out;
}

using Indices = std::array<int, 2>;

}  // namespace

TEST_CASE("D1: the GID is routable RoCE v2, of one type at both ends; a given index is honoured") {
  auto const full = [](std::uint8_t h) {
    return Table{link_local(false, h), link_local(true, h), ipv4(false, h), ipv4(true, h), {}, {},
                 unique_local(true, h)};
  };
  CHECK(start_with(full) == Indices{3, 3});
  CHECK(start_with(full, {.prefer_ipv4 = false}) == Indices{6, 6});
  CHECK(start_with(full, {.index = 1}) == Indices{1, 1});
  // RoCE v1 is not taken where there is v2, though the v2 is link-local.
  CHECK(start_with([](std::uint8_t h) { return Table{ipv4(false, h), link_local(true, h)}; }) ==
        Indices{1, 1});
  CHECK(start_with([](std::uint8_t h) { return Table{{}, ipv4(false, h)}; }) == Indices{1, 1});
  // An index that holds nothing is not replaced by another: the path is not used.
  CHECK(start_with(full, {.index = 4}) == Indices{-1, -1});
}

TEST_CASE("D2: without IPv4 the unique local v2 is taken; without any the path is not") {
  CHECK(start_with([](std::uint8_t h) {
          return Table{link_local(true, h), unique_local(true, h)};
        }) == Indices{1, 1});
  CHECK(start_with([](std::uint8_t) { return Table{{}, gid({}, true)}; }) == Indices{-1, -1});
  VerbsScope const scope{{.prepare = [](Machine& m) {
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t p = 0; p < 2; ++p) m.gids(h, p, {});
    }
  }}};
  World w{{.link = links::verbs}};
  CHECK_FALSE(w.settle(2_s));
  CHECK(w.sender().cause == Cause::not_armed);
  CHECK(w.receiver().cause == Cause::not_armed);
  CHECK(machine().violations() == "");
}

TEST_CASE("D4: the path MTU is the smaller of both ends, for each path, and asked again") {
  World w{{.link = links::verbs, .fabric = {.latency = 5_us}, .connect = false}};
  auto const set = [&](std::size_t host, std::size_t port, std::uint32_t mtu) {
    w.fabric().link(host, port).set_mtu(mtu);
  };
  set(0, 0, 4096);
  set(1, 0, 1024);
  set(0, 1, 1024);
  set(1, 1, 4096);
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  auto const mtu = [](std::uint32_t host, std::uint32_t port) {
    return transitions(host, port, IBV_QPS_RTR).back().attributes.path_mtu;
  };
  for (std::uint32_t h = 0; h < 2; ++h) {
    CHECK(mtu(h, 0) == IBV_MTU_1024);
    CHECK(mtu(h, 1) == IBV_MTU_1024);
  }
  Load sizes;
  for (std::uint64_t const n : {1u, 1023u, 1024u, 1025u, 2047u, 2048u, 2049u, 1u << 20})
    sizes.steps.push_back({{n, n}});
  Proof proof{w, soft::Action::link_down};
  w.load(sizes);
  CHECK(w.run());
  set(0, 0, 2048);  // What the port has when it comes back.
  set(1, 0, 4096);
  w.inject("link host0.port0 down for 200ms");
  REQUIRE(w.until([&] { return w.receiver().active_path == 1; }));
  w.load(sizes);
  CHECK(w.run());
  REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
  proof.returned();
  CHECK(mtu(0, 0) == IBV_MTU_2048);
  CHECK(mtu(1, 0) == IBV_MTU_2048);
  w.load(sizes);
  CHECK(w.run());
  CHECK(proof.lacks() == "");
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

namespace {

VerbsSetup mixed(bool sender_ethernet = false) {
  VerbsSetup setup;
  setup.prepare = [sender_ethernet](Machine& m) {
    if (!sender_ethernet) m.infiniband(0, 0);
    m.infiniband(1, 0);
  };
  return setup;
}

}  // namespace

TEST_CASE("D5: each path has addresses of its own link layer") {
  VerbsScope const scope{mixed()};
  World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  for (std::uint32_t h = 0; h < 2; ++h) {
    ibv_ah_attr const ib = transitions(h, 0, IBV_QPS_RTR).back().attributes.ah_attr;
    ibv_ah_attr const ethernet = transitions(h, 1, IBV_QPS_RTR).back().attributes.ah_attr;
    CHECK(ib.is_global == 0);
    CHECK(ib.dlid == w.hosts[1 - h]->hooks.described[0].lid);
    CHECK(ib.dlid != 0);
    CHECK(ethernet.is_global == 1);
    CHECK(ethernet.dlid == 0);
    CHECK(std::memcmp(ethernet.grh.dgid.raw, w.hosts[1 - h]->hooks.described[1].gid.data(), 16) ==
          0);
  }
  Proof proof{w, soft::Action::link_down};
  w.load(Load::uniform(100, 3000));
  REQUIRE(w.run_until(10));
  w.inject("link host1.port0 down for 200ms");
  CHECK(w.run());
  REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
  proof.returned();
  w.load(Load::uniform(10, 3000));
  CHECK(w.run());
  CHECK(proof.lacks() == "");
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

TEST_CASE(
    "D5: an address of another link layer shows while setting up, one that leads nowhere then") {
  for (bool const other_layer : {false, true}) {
    CAPTURE(other_layer);
    VerbsScope const scope{mixed(other_layer)};
    World w{{.link = links::verbs, .fabric = {.latency = 5_us}, .connect = false}};
    bool changed = false;
    if (!other_layer) {
      w.hosts[1]->hooks.address = [&](LaneAddress& a) {
        if (a.lid == 0) return;
        a.lid = 0x4fff;
        changed = true;
      };
    }
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    REQUIRE(w.settle(5_s));
    CHECK(w.sender().active_path == (other_layer ? 1 : 0));
    CHECK(w.receiver().active_path == (other_layer ? 1 : 0));
    CHECK((changed || other_layer));
    // Setting up sends nothing on a path: whether it leads anywhere shows with the first step.
    w.load(Load::uniform(100, 3000));
    CHECK(w.run(1_s));
    CHECK(w.sender().active_path == 1);
    CHECK(!w.sender().has_backup);
    CHECK(w.sender().counters.failovers == (other_layer ? 0 : 1));
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");
  }
}

TEST_CASE("D6: addresses of earlier attempts change nothing, in whatever order they come") {
  constexpr std::size_t frame = sizeof(detail::ControlFrame) - 3 * sizeof(LaneAddress);
  struct Old {
    std::size_t host;
    std::vector<std::byte> bytes;
  };
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::size_t delivered = 0;
  do {
    World w{{.link = links::verbs_out_of_band, .fabric = {.latency = 5_us, .oob_latency = 20_us}}};
    REQUIRE(w.settle());
    Load load = Load::uniform(5000, 1000);
    load.pause = 1_ms;
    w.load(load);
    REQUIRE(w.run_until(10));
    std::vector<Old> old;
    std::size_t wanted = 0;
    std::deque<Old> late;
    for (std::size_t h = 0; h < 2; ++h) {
      w.hosts[h]->hooks.message = [&, h](std::vector<std::byte>& m) {
        auto const of_host =
            std::count_if(old.begin(), old.end(), [h](Old const& o) { return o.host == h; });
        // One of each host in each of two attempts.
        if (m.size() >= frame && static_cast<std::size_t>(of_host) < wanted) old.push_back({h, m});
        while (!late.empty() && late.front().host == h) {
          w.hosts[h]->hooks.extra.push_back(late.front().bytes);
          late.pop_front();
          ++delivered;
        }
      };
    }
    auto const cycle = [&] {
      std::uint64_t const before = w.receiver().counters.failbacks;
      w.inject("link host0.port0 down for 80ms");
      REQUIRE(w.until([&] { return w.receiver().active_path == 1; }, 1_s));
      REQUIRE(w.until([&] { return w.receiver().counters.failbacks > before; }, 5_s));
    };
    wanted = 1;
    cycle();
    wanted = 2;
    cycle();
    REQUIRE(old.size() == 4);
    for (std::size_t const i : order) late.push_back(old[i]);
    cycle();
    w.until([&] { return late.empty(); }, 200_ms);
    w.wind_up();
    CHECK(w.run());
    CHECK(matches());
    CHECK(w.sender().active_path == 0);
    CHECK(w.receiver().active_path == 0);
    CHECK(w.sender().counters.failbacks == 3);
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(delivered == 24 * 4);
}

TEST_CASE("D8: a primary that is not active at the start is left out, and taken when it is") {
  struct Case {
    std::optional<ibv_port_state> state;
    std::size_t host;
  };
  for (Case const c : {Case{IBV_PORT_DOWN, 0}, Case{IBV_PORT_INIT, 0}, Case{IBV_PORT_ARMED, 1},
                       Case{{}, 0}, Case{{}, 1}}) {
    CAPTURE(c.host);
    std::string const port = "host" + std::to_string(c.host) + ".port0";
    World w{{.link = links::verbs, .fabric = {.latency = 5_us}, .connect = false}};
    machine().port_state(c.host, 0, c.state);
    if (!c.state) w.inject("drop any " + port + " for 4s");  // Active, and reaches nobody.
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    REQUIRE(w.settle(3_s));
    if (c.state) {
      CHECK(w.sender().active_path == 1);
      CHECK(w.receiver().active_path == 1);
      CHECK(w.sender().path_causes[0] == Cause::not_armed);
      CHECK(!w.receiver().has_backup);
    }
    Load load = Load::uniform(200, 1000);
    load.pause = 20_ms;
    w.load(load);
    REQUIRE(w.run_until(20, 1_s));
    CHECK(w.receiver().active_path == 1);
    CHECK(w.receiver().counters.failbacks == 0);
    machine().port_state(c.host, 0, {});
    if (c.state) machine().raise(c.host, 0, IBV_EVENT_PORT_ACTIVE);
    CHECK(w.run());
    CHECK(w.until(
        [&] { return w.receiver().counters.failbacks != 0 && w.sender().counters.failbacks != 0; },
        40_s));
    if (!c.state) CHECK(w.fired(soft::Action::drop) > 0);
    CHECK(w.sender().active_path == 0);
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");
  }
}

TEST_CASE("D8: with no active port at all both ends are told") {
  World w{{.link = links::verbs, .connect = false}};
  machine().port_state(0, 0, IBV_PORT_DOWN);
  machine().port_state(1, 1, IBV_PORT_INIT);
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  CHECK_FALSE(w.settle(2_s));
  CHECK(w.sender().cause == Cause::not_armed);
  CHECK(w.receiver().cause == Cause::not_armed);
}

TEST_CASE("D11: a device that cannot be opened is no backup, and setting up says so") {
  for (std::uint32_t const host : {0u, 1u}) {
    CAPTURE(host);
    std::string const device = "emu" + std::to_string(host) + "_1";
    {
      VerbsScope const scope{{.prepare = [&](Machine& m) {
        m.refuse({.verb = Verb::open_device, .error = EACCES, .device = device});
      }}};
      World w{apart()};
      REQUIRE(w.settle(3_s));
      CHECK(machine().calls().struck() == 1);
      CHECK(!w.sender().has_backup);
      CHECK(!w.receiver().has_backup);
      w.load(Load::uniform(50, 1000));
      CHECK(w.run(1_s));
      // Nothing is looked for that is not there: the primary is waited for.
      w.inject("link host0.port0 down for 300ms");
      w.load(Load::uniform(50, 1000));
      CHECK(w.run(20_s));
      CHECK(w.sender().counters.failovers == 0);
      CHECK(w.problems() == "");
    }
    CHECK(Machine::last_words() == "");
  }
  // A primary that cannot be opened is an error that names call and reason.
  VerbsScope const scope{{.prepare = [](Machine& m) {
    m.refuse({.verb = Verb::open_device, .error = EACCES, .device = "emu1_0"});
  }}};
  std::string said;
  try {
    World const w{apart()};
  } catch (SetupError const& e) {
    said = e.what();
  }
  CHECK(said.find("ibv_open_device") != std::string::npos);
  CHECK(Machine::last_words() == "");
}

}  // namespace vccl::test
