// SPDX-License-Identifier: Apache-2.0
// Set-up messages that are damaged: nothing crashes, nobody gets in, and one clear error tells.
#include <support/world.hpp>
#include <vccl/transport/soft/clock.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <initializer_list>

namespace vccl::test {

namespace {

using Damage = std::function<void(std::vector<std::byte>&)>;

/// Changes message `nth` of a host while connecting.
struct Damaged {
  Damaged(std::size_t host, int nth, Damage damage) : w{{.connect = false}} {
    w.hosts[host]->hooks.message = [this, nth, damage](std::vector<std::byte>& m) {
      if (sent++ == nth) {
        damage(m);
        ++changed;
      }
    };
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
  }
  World w;
  int sent = 0;
  int changed = 0;
};

Damage flip(std::size_t at, std::byte bits) {
  return [=](std::vector<std::byte>& m) { m[at % m.size()] ^= bits; };
}

/// Header bytes one by one, the rest of an offer in strides.
template <class F>
void for_each_byte(F f) {
  for (std::size_t at = 0; at < sizeof(detail::FrameHeader) + sizeof(detail::Offer);
       at += at < 80 ? 1 : 13) {
    f(at);
  }
}

}  // namespace

TEST_CASE("a hello with any byte changed is refused, and the next sender gets in") {
  for_each_byte([](std::size_t at) {
    CAPTURE(at);
    Damaged d{0, 0, flip(at, std::byte{0x41})};
    CHECK(!d.w.settle(50_ms));
    CHECK(d.changed == 1);
    CHECK(d.w.sender().cause == Cause::bad_handshake);
    CHECK(d.w.ends->refused() == 1);
    CHECK(!d.w.receiver().ended);
    d.w.ends->connect(PortId{0}, d.w.ends->handle());
    CHECK(d.w.settle(50_ms));
  });
}

TEST_CASE("a welcome, ready or go with any byte changed counts as lost, and comes again") {
  for (int message = 0; message < 3; ++message) {  // welcome, ready, go
    std::size_t const host = message == 1 ? 0 : 1;
    int const nth = message == 0 ? 0 : 1;
    std::size_t bytes = 0;
    for_each_byte([&](std::size_t at) {
      if (message != 0 && at >= sizeof(detail::FrameHeader)) return;
      CAPTURE(message);
      CAPTURE(at);
      Damaged d{host, nth, flip(at, std::byte{0x82})};
      CHECK(d.w.settle(200_ms));
      d.w.idle(50_ms);
      bytes += static_cast<std::size_t>(d.changed);
      d.w.load(Load::uniform(3, 100));
      CHECK(d.w.run(1_s));
      CHECK(d.w.problems() == "");
    });
    CHECK(bytes >= 24);
  }
}

TEST_CASE("set-up messages that are cut, stretched or rubbish hang nothing") {
  soft::Random random{3};
  for (std::size_t host = 0; host < 2; ++host) {
    for (int nth = 0; nth < 2; ++nth) {
      for (std::size_t const size : std::initializer_list<std::size_t>{1, 7, 23, 24, 25, 100, 1231,
                                                                       1233, 4095, 4096, 5000}) {
        for (bool const rubbish : {false, true}) {
          CAPTURE(host);
          CAPTURE(nth);
          CAPTURE(size);
          CAPTURE(rubbish);
          Damaged d{host, nth, [&](std::vector<std::byte>& m) {
                      m.resize(size);
                      if (!rubbish) return;
                      for (std::byte& b : m) b = static_cast<std::byte>(random.next());
                    }};
          bool const ready = d.w.settle(300_ms);
          if (ready) {
            d.w.load(Load::uniform(3, 100));
            CHECK(d.w.run(1_s));
            CHECK(d.w.problems() == "");
          } else {
            CHECK(d.w.sender().cause == Cause::bad_handshake);
          }
        }
      }
    }
  }
}

TEST_CASE("a peer that only ever sends rubbish ends the set-up at its deadline, at both ends") {
  for (std::size_t host = 0; host < 2; ++host) {
    World w{{.connect = false}};
    std::uint64_t n = 0;
    w.hosts[host]->hooks.message = [&](std::vector<std::byte>& m) {
      if (host == 1 || n != 0) m[m.size() - 1] ^= std::byte{1};  // The hello gets through.
      ++n;
    };
    w.ends->accept();
    w.ends->connect(PortId{0}, w.ends->handle());
    w.idle(25_s);
    CHECK(w.sender().ended == (host == 1));
    CHECK(w.receiver().ended);
    CHECK(w.receiver().cause == Cause::setup_deadline);
    CHECK(n > 1);
  }
}

TEST_CASE("control messages that are rubbish change nothing") {
  World w{{.fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  soft::Random random{9};
  std::uint64_t changed = 0;
  for (auto& host : w.hosts) {
    host->hooks.message = [&](std::vector<std::byte>& m) {
      if (random.below(2) == 0) return;
      ++changed;
      switch (random.below(3)) {
        case 0:
          m[random.below(m.size())] ^= std::byte{0x10};
          break;
        case 1:
          m.resize(1 + random.below(m.size()));
          break;
        default:
          for (std::byte& b : m) b = static_cast<std::byte>(random.next());
      }
    };
  }
  w.load(Load::uniform(2000, 1000));
  w.inject("after step 300 link host0.port0 down for 300ms\nafter step 1500 drop any host1 for 1s");
  CHECK(w.run());
  w.idle(10_s);
  CHECK(changed > 5);
  CHECK(w.sender().counters.failovers >= 1);
  CHECK(w.received() == 2000);
  CHECK(w.problems() == "");
}

}  // namespace vccl::test
