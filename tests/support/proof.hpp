// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What every test of a fault that is survived must show, or it has tested nothing.

#include <support/world.hpp>
#include <vccl/transport/soft/fault.hpp>

#include <cstdint>
#include <string>

namespace vccl::test {

/// Made before the fault. lacks() is empty when the fault struck, both ends failed over and back,
/// and the primary's QP carried data after that.
class Proof {
 public:
  Proof(World& w, soft::Action fault)
      : world_{w},
        fault_{fault},
        fired_{w.fired(fault)},
        failovers_{w.sender().counters.failovers, w.receiver().counters.failovers},
        failbacks_{w.sender().counters.failbacks, w.receiver().counters.failbacks} {}

  /// Call once traffic is back on the primary: what its QP carries counts from here.
  void returned() { carried_ = world_.messages_by_qp(primary_qp()); }

  [[nodiscard]] std::string lacks() {
    std::string all;
    Counters const s = world_.sender().counters;
    Counters const r = world_.receiver().counters;
    if (world_.fired(fault_) == fired_) all += "the fault did not strike\n";
    if (s.failovers == failovers_[0] || r.failovers == failovers_[1]) all += "no failover\n";
    if (s.failbacks == failbacks_[0] || r.failbacks == failbacks_[1]) all += "no failback\n";
    if (world_.messages_by_qp(primary_qp()) == carried_)
      all += "the primary's QP carried nothing after the failback\n";
    return all;
  }

 private:
  [[nodiscard]] std::uint32_t primary_qp() const {
    return world_.hosts[0]->hooks.described[0].qp_numbers[0];
  }

  World& world_;
  soft::Action fault_;
  std::uint64_t fired_, failovers_[2], failbacks_[2];
  std::uint64_t carried_ = 0;
};

}  // namespace vccl::test
