// SPDX-License-Identifier: Apache-2.0
// The lane of libibverbs keeps the contract of its role, on devices that carry bytes.
#include <contracts/host_contract.hpp>
#include <contracts/transport_contract.hpp>
#include <support/emulated_verbs/emulated_verbs.hpp>
#include <vccl/transport/soft/fabric.hpp>
#include <vccl/transport/verbs/lane.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace vccl;
using namespace vccl::literals;

namespace {

using Boot = soft::Host;
using Lane = IbVerbs<Boot, test::EmulatedVerbs>;
using test::emulated::Habits;
using test::emulated::Machine;

struct Net {
  explicit Net(Habits habits = {}, bool infiniband = false)
      : fabric{{.hosts = 2, .virtual_time = true, .latency = 1_us}},
        machine{fabric.host(0).core(), habits} {
    for (std::size_t h = 0; h < 2 && infiniband; ++h) machine.infiniband(h, 1);
  }
  static Lane::Host open(Boot& boot) {
    Machine::At const at{boot.index()};
    return Lane::Host{boot};
  }
  /// What is wrong with a lane type between the hosts' port n.
  template <class T>
  std::string run(std::uint16_t n = 0) {
    std::string wrong;
    {
      Lane::Host a = open(fabric.host(0));
      Lane::Host b = open(fabric.host(1));
      auto wait = [this] { fabric.advance(10_us); };
      wrong = contracts::transport<T>(
          contracts::TransportPair<T, decltype(wait)>{a, b, PortId{n}, wait});
    }
    return wrong + machine.leaks() + machine.violations();
  }
  soft::Fabric fabric;
  Machine machine;
};

/// The lane with one thing wrong.
struct ForgetsFence : Lane {
  using Lane::Lane;
  Errc fence(FenceStep) noexcept { return Errc::ok; }
};
struct SwapsImmediate : Lane {
  using Lane::Lane;
  std::size_t poll(std::span<Completion> out) noexcept {
    std::size_t const n = Lane::poll(out);
    for (std::size_t i = 0; i < n; ++i) out[i].immediate = __builtin_bswap32(out[i].immediate);
    return n;
  }
};

}  // namespace

TEST_CASE("a lane keeps the contract of a transport, leaves nothing and breaks no rule of verbs") {
  CHECK(Net{}.run<Lane>() == "");
  CHECK(Net{{.clears_cq = false, .minus_one = true}}.run<Lane>() == "");
  CHECK(Net{{.ece_vendor = 0x2c9}}.run<Lane>() == "");
  CHECK(Net{{}, true}.run<Lane>(1) == "");
}

TEST_CASE("a host keeps the contract of its role, for each of its ports") {
  for (std::uint16_t const n : {std::uint16_t{0}, std::uint16_t{1}}) {
    CAPTURE(n);
    Net net;
    {
      Lane::Host a = Net::open(net.fabric.host(0));
      Lane::Host b = Net::open(net.fabric.host(1));
      auto wait = [&] { net.fabric.advance(10_us); };
      auto cable = [&](bool up) { up ? net.fabric.link(0, n).up() : net.fabric.link(0, n).down(); };
      using Pair = contracts::HostPair<Lane::Host, decltype(wait), decltype(cable)>;
      CHECK(contracts::host(Pair{a, b, PortId{n}, wait, cable}) == "");
    }
    CHECK(Machine::here().leaks() + Machine::here().violations() == "");
  }
}

TEST_CASE("the contract sees a fence that does nothing, and a swapped immediate") {
  CHECK(Net{}.run<ForgetsFence>() == "every receive is flushed in ERR");
  CHECK(Net{}.run<SwapsImmediate>() == "a notify brings its immediate, in host order");
}
