// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/end_core.hpp>

#include <support/world.hpp>
#include <vccl/detail/setup.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <vector>

using namespace vccl;
using namespace vccl::test;
using detail::Frame;

namespace {
/// Which kind of set-up message it is; 0: none.
Frame kind_of(std::vector<std::byte> const& m) {
  detail::FrameHeader h;
  return detail::read_header(m, h) ? h.kind : Frame{};
}

/// Counts what both hosts send on their pipes, and loses the first of some kinds. Outlives its
/// World.
struct Watch {
  std::map<Frame, int> sent, lose;
  std::vector<std::vector<std::byte>> welcomes;

  void over(World& w) {
    for (auto& h : w.hosts) {
      h->hooks.message = [this](std::vector<std::byte>& m) {
        Frame const k = kind_of(m);
        ++sent[k];
        if (k == Frame::welcome) welcomes.push_back(m);
        if (lose[k] > 0) {
          --lose[k];
          m.clear();
        }
      };
    }
  }
};

}  // namespace

// ---- Set-up

TEST_CASE("set-up is four messages, and neither end says more when all arrive") {
  Watch watch;
  World w{{.connect = false}};
  watch.over(w);
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  w.idle(100_ms);
  for (Frame k : {Frame::hello, Frame::welcome, Frame::ready, Frame::go}) {
    CAPTURE(static_cast<int>(k));
    CHECK(watch.sent[k] == 1);
  }
  CHECK(watch.sent[Frame::refuse] == 0);
}

TEST_CASE("a hello is repeated every 10 ms until it is answered") {
  Watch watch;
  World w{{.connect = false}};
  watch.over(w);
  w.ends->connect(PortId{0}, w.ends->handle());
  w.idle(95_ms);
  CHECK(watch.sent[Frame::hello] == 10);
  CHECK_FALSE(w.ends->ready(End::sender));
  w.ends->accept();
  REQUIRE(w.settle());
  int const hellos = watch.sent[Frame::hello];
  w.idle(100_ms);
  CHECK(watch.sent[Frame::hello] == hellos);
}

TEST_CASE("several hellos of one sender make one connection, with one welcome's words") {
  Watch watch;
  World w{{.connect = false}};
  watch.over(w);
  watch.lose[Frame::welcome] = 3;
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  CHECK(watch.sent[Frame::hello] == 4);
  REQUIRE(watch.welcomes.size() == 4);
  for (auto const& m : watch.welcomes) CHECK(m == watch.welcomes[0]);
  w.load(Load::uniform(100, 1000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE("any of the set-up messages may be lost, several times") {
  for (Frame k : {Frame::hello, Frame::welcome, Frame::ready, Frame::go}) {
    for (MakeEnds link : {links::resilient, links::plain}) {
      CAPTURE(static_cast<int>(k));
      CAPTURE((link == links::plain));
      Watch watch;
      World w{{.link = link, .connect = false}};
      watch.over(w);
      watch.lose[k] = 7;
      w.ends->accept();
      w.ends->connect(PortId{0}, w.ends->handle());
      REQUIRE(w.settle());
      w.load(Load::uniform(100, 1000));
      CHECK(w.run());
      w.idle(200_ms);
      if (k != Frame::go) CHECK(watch.lose[k] == 0);  // The first CTS says that as well.
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("a sender that gets a CTS needs no go") {
  Watch watch;
  World w{{.connect = false}};
  watch.over(w);
  watch.lose[Frame::go] = 1'000'000;
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  w.load(Load::uniform(50, 1000));
  CHECK(w.run());
  w.idle(20_ms);
  int const readies = watch.sent[Frame::ready];
  w.idle(200_ms);
  CHECK(watch.sent[Frame::ready] == readies);
}

TEST_CASE("a sender that nobody lets in gives up at the set-up deadline, and a receiver that met") {
  World w{{.connect = false}};
  w.ends->connect(PortId{0}, w.ends->handle());
  w.idle(9'900_ms);
  CHECK_FALSE(w.sender().ended);
  w.idle(300_ms);
  CHECK(w.sender().ended);
  CHECK(w.sender().cause == Cause::setup_deadline);

  Watch watch;
  World met{{.connect = false}};
  watch.over(met);
  watch.lose[Frame::welcome] = 1'000'000;
  met.ends->accept();
  met.ends->connect(PortId{0}, met.ends->handle());
  met.idle(10'500_ms);
  CHECK(met.sender().cause == Cause::setup_deadline);
  CHECK(met.receiver().cause == Cause::setup_deadline);
}

TEST_CASE("a path that the sender cannot connect is left at both ends, and set-up goes on") {
  int described = 0;
  World w{{.connect = false}};
  w.hosts[1]->hooks.address = [&](LaneAddress& a) {
    if (++described == 2) a.mtu = 0;  // Of the backup: the sender's NIC refuses it.
  };
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  REQUIRE(w.settle());
  w.idle(20_ms);
  CHECK(w.sender().path_causes[1] == Cause::not_armed);
  CHECK_FALSE(w.receiver().has_backup);
  w.load(Load::uniform(20, 100));
  CHECK(w.run());
  w.idle(1'000_ms);
  CHECK(w.receiver().has_backup);  // Tried again, with an address that is right.
}

TEST_CASE("what cannot be opened throws, and leaves nothing") {
  World w{{.connect = false}};
  CHECK_THROWS_AS(w.ends->connect(PortId{9}, w.ends->handle()), SetupError);
  w.inject("call register_memory 1 host0 fails ENOMEM");
  CHECK_THROWS_AS(w.ends->connect(PortId{0}, w.ends->handle()), SetupError);
  CHECK(w.queue_pairs() == 0);
  CHECK(w.registrations() == 0);
  w.ends->accept();
  w.ends->connect(PortId{0}, w.ends->handle());
  CHECK(w.settle());
}

// ---- What data brings

TEST_CASE(
    "a post that is refused for a moment is made good, one that is refused for good is a fault") {
  for (Errc refusal : {Errc::would_block, Errc::path_down, Errc::invalid_argument}) {
    CAPTURE(static_cast<int>(refusal));
    for (std::size_t host : {0u, 1u}) {
      CAPTURE(host);
      int posts = 0;
      World w;
      REQUIRE(w.settle());
      w.hosts[host]->hooks.post = [&](PortId port, WorkRequest const& wr) {
        if (port != PortId{0} || wr.traffic == Traffic::control) return Errc::ok;
        ++posts;
        return posts >= 20 && posts < 23 ? refusal : Errc::ok;
      };
      w.load(Load::uniform(100, 1000));
      CHECK(w.run());
      CHECK(posts >= 20);
      End const end = host == 0 ? End::sender : End::receiver;
      bool const faults = refusal != Errc::would_block;
      CHECK(w.ends->status(end).counters.path_faults == (faults ? 1 : 0));
      if (faults) CHECK(w.ends->status(end).path_causes[0] == Cause::call_failed);
      CHECK(w.received() == 100);
      CHECK(w.problems() == "");
    }
  }
}

TEST_CASE("a notify that cannot be ends the connection at both ends as a protocol error") {
  for (MakeEnds link : {links::resilient, links::plain}) {
    CAPTURE((link == links::plain));
    int notifies = 0;
    World w{{.link = link}};
    REQUIRE(w.settle());
    w.hosts[1]->hooks.completion = [&](PortId, Completion& c) {
      if (c.kind == Completion::Kind::received_with_immediate && ++notifies == 10)
        c.immediate ^= 0x0100'0000;  // Of another epoch.
    };
    w.load(Load::uniform(100, 1000));
    CHECK(w.run());
    CHECK(w.receiver().ended);
    CHECK(w.receiver().cause == Cause::protocol_error);
    CHECK(w.received() == 9);
    if (link == links::plain) continue;  // It tells its peer nothing.
    CHECK(w.sender().cause == Cause::protocol_error);
  }
}

TEST_CASE("without a backup a failure ends the end that sees it, with its cause, fenced") {
  World w{{.link = links::plain}};
  REQUIRE(w.settle());
  w.load(Load::uniform(1000, 1000));
  w.inject("after step 20 link host0.port0 down");
  CHECK(w.run(30_s));
  CHECK(w.sender().ended);
  CHECK(w.sender().cause == Cause::retry_exceeded);
  w.inject("link host0.port0 up");
  w.idle(1_s);
  CHECK(w.problems() == "");
}

// ---- Ports

TEST_CASE("a path is as healthy as the worst of its ports") {
  Route route{Ports{PortId{0}, PortId{1}}};
  route.backups[0] = Ports{PortId{2}, PortId{3}};
  World w{{.fabric = {.ports_per_host = 4}, .sender = route, .receiver = route}};
  REQUIRE(w.settle());
  w.inject("link host1.port1 down");
  w.idle(45_ms);
  CHECK(w.receiver().active_path == 0);
  w.idle(30_ms);
  CHECK(w.receiver().active_path == 1);
  CHECK(w.receiver().path_causes[0] == Cause::port_down);
  CHECK(w.sender().path_causes[0] == Cause::peer_report);
  w.load(Load::uniform(50, 200'000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE("where there is no second port there is no backup, and the end of the port is the end") {
  World w{{.fabric = {.ports_per_host = 1}}};
  REQUIRE(w.settle());
  CHECK_FALSE(w.sender().has_backup);
  CHECK_FALSE(w.receiver().has_backup);
  w.load(Load::uniform(10'000, 1000));
  w.inject("after step 30 link host0.port0 down for 500ms");
  CHECK(w.run(60_s));
  CHECK(w.received() == 10'000);  // The same path, armed anew.
  CHECK(w.sender().counters.failovers == 0);
  CHECK(w.problems() == "");
}

// ---- Control messages

TEST_CASE("control messages that are lost on every way are made good") {
  int lost = 0;
  World w;
  REQUIRE(w.settle());
  for (auto& h : w.hosts) {
    h->hooks.message = [&](std::vector<std::byte>& m) {
      if (kind_of(m) == Frame::control && ++lost < 20) m.clear();
    };
    h->hooks.post = [&](PortId, WorkRequest const& wr) {
      return wr.traffic == Traffic::control && lost < 20 ? Errc::would_block : Errc::ok;
    };
  }
  w.load(Load::uniform(200, 1000));
  w.inject("after step 50 link host0.port0 down");
  CHECK(w.run());
  CHECK(lost >= 20);
  CHECK(w.received() == 200);
  CHECK(w.problems() == "");
}
