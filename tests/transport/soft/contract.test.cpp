// SPDX-License-Identifier: Apache-2.0
// The software NIC keeps the contract of its role, and the contract sees what is wrong.
#include <contracts/host_contract.hpp>
#include <contracts/transport_contract.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace vccl;
using namespace vccl::literals;

namespace {
/// The software NIC with one thing wrong.
struct ForgetsFence : SoftNic {
  using SoftNic::SoftNic;
  Errc fence(FenceStep) noexcept { return Errc::ok; }
};
struct SwapsImmediate : SoftNic {
  using SoftNic::SoftNic;
  std::size_t poll(std::span<Completion> out) noexcept {
    std::size_t const n = SoftNic::poll(out);
    for (std::size_t i = 0; i < n; ++i) out[i].immediate = __builtin_bswap32(out[i].immediate);
    return n;
  }
};
struct KeepsNumbers : SoftNic {
  using SoftNic::SoftNic;
  Errc describe(LaneAddress& a) noexcept {
    Errc const e = SoftNic::describe(a);
    if (described_++ == 0) first_ = a.packet_numbers;
    a.packet_numbers = first_;
    return e;
  }
  int described_ = 0;
  std::array<std::uint32_t, max_qps> first_{};
};

template <class T>
std::string_view run() {
  soft::Fabric f{{.hosts = 2, .virtual_time = true, .latency = 1_us}};
  auto wait = [&] { f.advance(10_us); };
  return contracts::transport<T>(
      contracts::TransportPair<T, decltype(wait)>{f.host(0), f.host(1), PortId{0}, wait});
}
}  // namespace

TEST_CASE("the software NIC keeps the contract of a transport") { CHECK(run<SoftNic>() == ""); }

namespace {
/// The host with one thing wrong.
struct TellsTwice : soft::Host {
  using soft::Host::Host;
  bool poll_event(PortEvent& e) noexcept {
    if (std::exchange(again_, false)) return e = last_, true;
    again_ = soft::Host::poll_event(last_);
    e = last_;
    return again_;
  }
  bool again_ = false;
  PortEvent last_;
};

template <class H>
std::string_view run_host() {
  soft::Fabric f{{.hosts = 2, .virtual_time = true, .latency = 1_us}};
  H a{f.host(0).core(), 0};
  H b{f.host(1).core(), 1};
  auto wait = [&] { f.advance(10_us); };
  auto cable = [&](bool up) { up ? f.link(0, 1).up() : f.link(0, 1).down(); };
  using Pair = contracts::HostPair<H, decltype(wait), decltype(cable)>;
  return contracts::host(Pair{a, b, PortId{1}, wait, cable});
}
}  // namespace

TEST_CASE("a host of the software NIC keeps the contract, which sees an event that comes twice") {
  CHECK(run_host<soft::Host>() == "");
  CHECK(run_host<TellsTwice>() == "hands out each event once");
}

TEST_CASE("the contract sees a fence that does nothing, a swapped immediate, old packet numbers") {
  CHECK(run<ForgetsFence>() == "every receive is flushed in ERR");
  CHECK(run<SwapsImmediate>() == "a notify brings its immediate, in host order");
  CHECK(run<KeepsNumbers>() == "packet numbers are new each time");
}
