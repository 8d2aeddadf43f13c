// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The cold half of a lane: making it, describing it, connecting it, making it quiet.

#include <vccl/concepts.hpp>
#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/soft/core.hpp>
#include <vccl/transport/soft/port_actions.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace vccl::soft {

/// What a call says when the script refuses it with that errno.
[[nodiscard]] constexpr Errc refusal(int error) noexcept {
  if (error == ENOMEM || error == EAGAIN || error == EBUSY) return Errc::would_block;
  if (error == EINVAL) return Errc::invalid_argument;
  return Errc::path_down;
}

/// The lane's QPs and the one for flush reads, in RESET.
inline void create_queue_pairs(Core& core, Lane& lane) {
  LaneConfig const& c = lane.config;
  for (std::size_t i = 0; i <= c.qps; ++i) {
    QueuePair& qp = core.qps.create(core.config.reuse_qp_numbers);
    qp.lane = lane.slot;
    qp.port = lane.port;
    qp.loopback = i == c.qps;
    qp.timeout = c.timeout;
    qp.retry_count = c.retry_count;
    qp.rnr_retry = c.rnr_retry;
    qp.min_rnr_timer = c.min_rnr_timer;
    qp.sends.set_depth(c.send_depth);
    qp.receives.set_depth(qp.loopback ? 0 : c.receive_depth);
    lane.qps.push_back(&qp);
  }
}

inline Lane* make_lane(Core& core, std::uint32_t host, LaneConfig const& config) {
  std::size_t const n = static_cast<std::size_t>(config.port);
  if (n >= core.config.ports_per_host)
    throw SetupError{"SoftNic", ENODEV, "no such port on this host"};
  if (config.qps < 1 || config.qps > max_qps || config.send_depth == 0 ||
      config.receive_depth == 0) {
    throw SetupError{"SoftNic", EINVAL, "a lane has 1 to 4 QPs with queues of at least 1"};
  }
  if (config.timeout > 31 || config.retry_count > 7 || config.rnr_retry > 7 ||
      config.min_rnr_timer > 31) {
    throw SetupError{"SoftNic", EINVAL, "timeout and min_rnr_timer have 5 bits, retry counts 3"};
  }
  Port const& port = core.port(host, n);
  if (port.fatal) throw SetupError{"SoftNic", EIO, "the device is dead"};
  std::uint32_t slot;
  if (core.free_lanes.empty()) {
    slot = static_cast<std::uint32_t>(core.lanes.size());
    core.lanes.emplace_back();
  } else {
    slot = core.free_lanes.back();
    core.free_lanes.pop_back();
  }
  Lane& lane = core.lanes[slot];
  std::uint32_t const serial = lane.serial;
  lane = Lane{};
  lane.slot = slot;
  lane.serial = serial;
  lane.host = host;
  lane.incarnation = core.hosts[host].incarnation;
  lane.port = port.index;
  lane.config = config;
  lane.max_message = core.config.max_message;
  std::uint32_t const all =
      std::uint32_t{config.qps} * (std::uint32_t{config.send_depth} + config.receive_depth) +
      config.send_depth;
  lane.cq.set_depth(config.cq_depth == 0 ? all : config.cq_depth);
  create_queue_pairs(core, lane);
  return &lane;
}

inline void free_lane(Core& core, Lane& lane) {
  destroy_queue_pairs(core, lane);
  lane.fencing = false;
  ++lane.serial;
  core.free_lanes.push_back(lane.slot);
}

/// A fresh first PSN: random, unless the fabric fixes it.
[[nodiscard]] inline std::uint32_t fresh_psn(Core& core, Lane const& lane) noexcept {
  if (core.config.first_psn >= 0)
    return static_cast<std::uint32_t>(core.config.first_psn) & psn_mask;
  std::uint64_t const v =
      core.config.virtual_time ? core.hosts[lane.host].random.next() : entropy();
  return static_cast<std::uint32_t>(v) & psn_mask;
}

inline Errc describe_lane(Core& core, Lane& lane, LaneAddress& mine) {
  Port& port = core.ports[lane.port];
  std::size_t const gid_index = port.first_gid();
  if (!port.up || gid_index == Port::gid_slots) return Errc::would_block;
  bool again = lane.qps.empty();
  for (QueuePair const* qp : lane.qps) {
    if (qp->state == QpState::err) return Errc::path_down;
    if (qp->state == QpState::rtr || qp->state == QpState::rts) return Errc::invalid_argument;
    again = again || qp->broken;
  }
  if (again) {
    destroy_queue_pairs(core, lane);
    create_queue_pairs(core, lane);
  }
  mine = {};
  for (std::size_t i = 0; i < lane.qps.size(); ++i) {
    QueuePair& qp = *lane.qps[i];
    if (qp.state == QpState::reset) {
      qp.state = QpState::init;
      qp.first_psn = fresh_psn(core, lane);
    }
    qp.gid_index = static_cast<std::uint32_t>(gid_index);
    qp.gid = port.gids[gid_index];
    if (qp.loopback) continue;
    mine.qp_numbers[i] = qp.number;
    mine.packet_numbers[i] = qp.first_psn;
  }
  mine.gid = make_gid({port.host, port.number, port.gids[gid_index]});
  mine.max_message = core.config.max_message;
  mine.speed_mbps = port.speed_mbps();
  mine.lid = 0;
  mine.mtu = static_cast<std::uint8_t>(std::bit_width(port.mtu / 256));
  mine.qps = lane.config.qps;
  return Errc::ok;
}

inline Errc connect_lane(Core& core, Lane& lane, LaneAddress const& theirs) {
  Port const& port = core.ports[lane.port];
  GidParts const g = gid_parts(theirs.gid);
  if (theirs.qps != lane.config.qps || g.host >= core.config.hosts ||
      g.port >= core.config.ports_per_host || theirs.mtu < 1 || theirs.mtu > 5 ||
      theirs.max_message == 0) {
    return Errc::invalid_argument;
  }
  std::uint32_t const far = core.port(g.host, g.port).index;
  for (std::size_t i = 0; i < lane.qps.size(); ++i) {
    QueuePair const& qp = *lane.qps[i];
    if (qp.state == QpState::err) return Errc::path_down;
    if (qp.state == QpState::reset) return Errc::invalid_argument;
    bool const other = !qp.loopback && qp.peer != QpPeer{far, g.serial, theirs.qp_numbers[i]};
    if (qp.state == QpState::rts && other) return Errc::invalid_argument;
  }
  if (lane.qps[0]->state == QpState::rts) return Errc::ok;
  if (!port.up) return Errc::would_block;
  for (std::size_t i = 0; i < lane.qps.size(); ++i) {
    QueuePair& qp = *lane.qps[i];
    qp.peer = qp.loopback ? QpPeer{qp.port, qp.gid, qp.number}
                          : QpPeer{far, g.serial, theirs.qp_numbers[i]};
    qp.expected = (qp.loopback ? qp.first_psn : theirs.packet_numbers[i]) & psn_mask;
    qp.mtu = std::min(port.mtu, std::uint32_t{256} << (theirs.mtu - 1));
    qp.retries = qp.retry_count;
    qp.rnr_retries = qp.rnr_retry;
    qp.state = QpState::rts;
  }
  lane.max_message = std::min(core.config.max_message, theirs.max_message);
  return Errc::ok;
}

/// One asking of a fence, with what the fault script makes of it.
inline Errc fence_lane(Core& core, Lane& lane, FenceStep step) {
  bool done = true;
  for (QueuePair const* qp : lane.qps) {
    done = done &&
           (qp->state == QpState::reset || (step == FenceStep::error && qp->state == QpState::err));
  }
  bool& told = lane.fenced[step == FenceStep::reset ? 1 : 0];
  if (std::exchange(told, false) || (done && (step == FenceStep::error || !lane.overrun)))
    return Errc::ok;
  if (lane.fencing) return Errc::would_block;
  if (int const error = core.faults.on_call(Call::fence, lane.port); error != 0) {
    return refusal(error) == Errc::would_block ? Errc::would_block : Errc::failed;
  }
  FenceFate const fate = core.faults.on_fence(lane.port, step);
  if (fate.fails) return Errc::failed;
  if (fate.hangs) return Errc::would_block;
  if (fate.takes.ns > 0) {
    lane.fencing = true;
    lane.step = step;
    core.events.push(core.now() + fate.takes, Event::Kind::fence, lane.slot, lane.serial);
    return Errc::would_block;
  }
  apply_fence(core, lane, step);
  return Errc::ok;
}

}  // namespace vccl::soft
