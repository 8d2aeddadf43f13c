// SPDX-License-Identifier: Apache-2.0
// The software NIC keeps the contract of its role, and the contract sees what is wrong.
#include <contracts/transport_contract.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <doctest/doctest.h>

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

TEST_CASE("the contract sees a fence that does nothing, a swapped immediate, old packet numbers") {
  CHECK(run<ForgetsFence>() == "every receive is flushed in ERR");
  CHECK(run<SwapsImmediate>() == "a notify brings its immediate, in host order");
  CHECK(run<KeepsNumbers>() == "packet numbers are new each time");
}
