// SPDX-License-Identifier: Apache-2.0
// A failover in virtual time: round trips from detection to the first new byte, bytes sent again.
#include <support/failover_cost.hpp>

#include "row.hpp"
#include <cstddef>
#include <cstdint>
#include <cstdio>

int main() {
  using namespace vccl;
  constexpr std::uint64_t bytes = 4096;
  bool ok = true;
  for (End detects : {End::receiver, End::sender}) {
    for (std::size_t outstanding : {0u, 64u}) {
      char variant[64];
      std::snprintf(variant, sizeof variant, "%s_detects/%zu_outstanding",
                    detects == End::sender ? "sender" : "receiver", outstanding);
      test::FailoverCost const cost = test::failover_cost(detects, outstanding, bytes);
      if (!cost.problems.empty() || cost.failovers != 2) {
        std::fprintf(stderr, "%s: %s\n", variant, cost.problems.c_str());
        ok = false;
      }
      auto const ms = [](Duration d) { return static_cast<double>(d.ns) / 1e6; };
      bench::row("failover_ms", variant, bytes, ms(cost.to_new_byte), "ms");
      bench::row("failover_fence_ms", variant, bytes, ms(cost.fence), "ms");
      bench::row("failover_round_trips", variant, bytes, cost.round_trips(), "round_trips");
      bench::row("resent_bytes", variant, bytes, static_cast<double>(cost.resent_bytes), "B");
      bench::row("missing_bytes", variant, bytes, static_cast<double>(cost.missing_bytes), "B");
    }
  }
  return ok ? 0 : 1;
}
