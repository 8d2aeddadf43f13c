// SPDX-License-Identifier: Apache-2.0
#include <sim/plan.hpp>

#include <vccl/transport/soft/clock.hpp>

#include <fmt/format.h>
#include <sim/faults.hpp>

#include <algorithm>
#include <array>

namespace vccl::sim {

namespace {

constexpr std::uint64_t gigabit = 125'000'000;  // bytes per second

/// The lanes of path q: ports next to each other.
Ports ports_of_path(std::size_t q, std::size_t lanes) {
  Ports p;
  p.count = static_cast<std::uint8_t>(lanes);
  for (std::size_t l = 0; l < lanes; ++l)
    p.at[l] = PortId{static_cast<std::uint16_t>(q * lanes + l)};
  return p;
}

void draw_network(Plan& p, Dice& dice, Shape const& shape) {
  soft::FabricConfig& f = p.fabric;
  f.seed = dice.next();
  f.ports_per_host = shape.paths * shape.lanes;
  f.ports_per_card = shape.cards ? shape.lanes : f.ports_per_host;
  f.latency = dice.pick({Duration{}, 1_us, 5_us, 50_us, 1_ms});
  f.bytes_per_second = dice.pick({std::uint64_t{0}, gigabit, 10 * gigabit, 400 * gigabit});
  f.mtu = dice.pick({1024u, 4096u, 4096u});
  f.oob_latency = dice.pick({Duration{}, 10_us, 2_ms});
  f.gids_per_port = 1 + dice.below(3);
  f.rails = dice.one_in(4);
  f.reuse_qp_numbers = dice.one_in(2);
  if (p.promise != Promise::calm) f.timeout_percent = dice.pick({100u, 100u, 30u, 300u});
  f.flush_receives_in_error = dice.one_in(2);
  f.loopback_needs_link = dice.one_in(2);
  if (dice.one_in(3)) f.max_message = 8192;
  // With adaptive routing only the NIC's timer finds a lost packet, later than a probe's time.
  p.adaptive_routing = p.promise != Promise::calm && dice.one_in(4);
}

void draw_route(Plan& p, Dice& dice, Shape const& shape) {
  Route r{ports_of_path(0, shape.lanes)};
  r.qps_per_lane = static_cast<std::uint8_t>(dice.one_in(3) ? 1 + dice.below(4) : 1);
  r.send_depth = dice.pick({std::uint16_t{32}, std::uint16_t{256}});
  // Just below the wraps of the immediate's step and of what is kept in 32 bits, or anywhere.
  Step const wrap = dice.pick({Step{0}, Step{1} << 16, Step{1} << 31, Step{1} << 32});
  if (wrap != 0) r.first_step = wrap - dice.below(40);
  if (dice.one_in(4)) p.first_sequence = 0xffff'ffff - static_cast<std::uint32_t>(dice.below(20));
  r.first_epoch = static_cast<Epoch>(dice.pick({1u, 1u, 254u, 0xffff'fffeu}));
  // The selector chooses where it can: one lane, one backup on the same card.
  bool const chosen = shape.lanes == 1 && shape.paths == 2 && !shape.cards;
  for (std::size_t q = 1; q < shape.paths && !chosen; ++q)
    r.backups[q - 1] = ports_of_path(q, shape.lanes);
  p.sender = p.receiver = r;
}

void draw_load(Plan& p, Dice& dice) {
  std::size_t const steps = 5 + dice.below(dice.one_in(4) ? 150 : 40);
  std::uint64_t const bytes = dice.pick({64u, 1000u, 4096u, 20'000u});
  test::Load& l = p.load = test::Load::random(dice.next(), steps, bytes);
  l.ahead = dice.one_in(2) ? 0 : 1 + dice.below(l.depth);
  if (dice.one_in(3)) l.kind = MemoryKind::device;
  l.pause = dice.pick({Duration{}, 100_us, 1_ms, 10_ms, 30_ms});
  if (dice.one_in(8)) {  // A send that is longer than its receive, now and then.
    for (auto& pieces : l.steps) {
      if (dice.one_in(10)) pieces[0].send = pieces[0].receive + 1 + dice.below(100);
    }
  }
  if (!dice.one_in(4)) return;
  for (std::size_t n = 1 + dice.below(3); n-- > 0;) {
    Duration const from = dice.between(0_ms, 1_s);
    l.absences.push_back(
        {dice.one_in(2) ? End::sender : End::receiver, from, from + dice.between(1_ms, 1_s)});
  }
}

void cut_down(Plan& p, Cut const& cut) {
  std::vector<FaultLines> kept;
  for (std::size_t i = 0; i < p.faults.size(); ++i) {
    if (std::find(cut.without.begin(), cut.without.end(), i) == cut.without.end())
      kept.push_back(p.faults[i]);
  }
  p.faults = std::move(kept);
  if (cut.steps < p.load.steps.size()) p.load.steps.resize(cut.steps);
  if (!cut.simple) return;
  p.sender.qps_per_lane = p.receiver.qps_per_lane = 1;
  p.load.kind = MemoryKind::host;
  p.load.absences.clear();
  for (auto& pieces : p.load.steps) pieces.assign(1, {64, 64});
}

void spoil(Plan& p, Mutant m) {
  if (m == Mutant::no_fence) p.switches.fence = test::Switches::Fence::none;
  if (m == Mutant::local_fence) p.switches.fence = test::Switches::Fence::local;
  if (m == Mutant::sender_done) p.switches.sender_done = true;
  if (m == Mutant::release_on_ack) p.switches.release = test::Switches::Release::ack;
  if (m == Mutant::blind) p.switches.blind = true;
  if (m == Mutant::same_psn) p.fabric.first_psn = 1000;
}

}  // namespace

Plan make_plan(std::uint64_t seed, Mutant mutant, Cut const& cut) {
  Dice dice{seed};
  Plan p;
  p.seed = seed;
  std::uint64_t const promise = dice.below(100);
  p.promise = promise < 8 ? Promise::calm : promise < 78 ? Promise::heals : Promise::lethal;
  std::uint64_t const wire = dice.below(100);
  p.wire = wire < 52   ? Wire::both
           : wire < 64 ? Wire::in_band
           : wire < 76 ? Wire::out_of_band
           : wire < 94 ? Wire::four_paths
                       : Wire::plain;
  // Without a backup nothing heals that the NIC's own repetition does not.
  if (p.wire == Wire::plain && p.promise == Promise::heals) p.promise = Promise::calm;

  Shape shape;
  shape.paths = p.wire == Wire::four_paths ? 4 : p.wire == Wire::plain ? 1 : 2;
  shape.lanes = dice.one_in(4) ? 1 + dice.below(max_lanes) : 1;
  p.switches.never_return = dice.one_in(7);
  p.switches.per_connection = dice.one_in(5);
  if (dice.one_in(3)) p.switches.release = test::Switches::Release::confirm;
  // Where nothing can bring back a path that both ends have lost, one is left alone.
  shape.spares = p.wire == Wire::in_band || p.switches.never_return;
  shape.cards = shape.spares || dice.one_in(2);

  draw_network(p, dice, shape);
  draw_route(p, dice, shape);
  draw_load(p, dice);
  p.early = p.promise != Promise::calm && dice.one_in(12);
  draw_faults(p, dice, shape);
  p.finish = static_cast<Finish>(dice.below(7));
  if (p.promise == Promise::lethal && dice.one_in(3))
    p.finish_after = dice.below(p.load.steps.size());
  p.must_return = p.promise == Promise::heals && !p.switches.never_return && !p.early &&
                  p.script().find("speed") == std::string::npos && dice.one_in(6);

  p.slow_backup = dice.one_in(2);

  cut_down(p, cut);
  spoil(p, mutant);
  return p;
}

std::string Plan::script() const {
  std::string all;
  for (FaultLines const& f : faults) all += f;
  return all;
}

std::string describe(Plan const& p) {
  constexpr std::array promises{"calm", "heals", "lethal"};
  constexpr std::array wires{"in band and out of band", "in band", "out of band", "four paths",
                             "no backup"};
  constexpr std::array finishes{"close at the sender",   "close at the receiver",
                                "close at both",         "abort at the sender",
                                "abort at the receiver", "destroy the sender",
                                "destroy the receiver"};
  auto const us = [](Duration d) { return static_cast<double>(d.ns) / 1e3; };
  std::string text = fmt::format(
      "seed {}: {}, {}, {} lanes of {} QPs, {} ports a card, latency {} us, {} bytes/s, MTU {}, "
      "timeout {} %{}{}{}\n",
      p.seed, promises[static_cast<std::size_t>(p.promise)],
      wires[static_cast<std::size_t>(p.wire)], p.sender.primary.count, p.sender.qps_per_lane,
      p.fabric.ports_per_card, us(p.fabric.latency), p.fabric.bytes_per_second, p.fabric.mtu,
      p.fabric.timeout_percent, p.adaptive_routing ? ", adaptive routing" : "",
      p.switches.never_return ? ", never returns" : "",
      p.switches.release == test::Switches::Release::confirm ? ", released on confirmation" : "");
  text += fmt::format(
      "  {} steps from {} in epoch {}, depth {}, ahead {}, pause {} us, {} memory\n",
      p.load.steps.size(), p.sender.first_step, p.receiver.first_epoch, p.load.depth, p.load.ahead,
      us(p.load.pause), p.load.kind == MemoryKind::device ? "device" : "host");
  for (test::Absence const& a : p.load.absences) {
    text += fmt::format("  the {} is away from {} to {} us\n",
                        a.end == End::sender ? "sender" : "receiver", us(a.from), us(a.until));
  }
  text += p.early ? "  faults, from before the set-up:\n" : "  faults:\n";
  for (std::size_t i = 0; i < p.faults.size(); ++i) {
    std::string lines = p.faults[i];
    for (std::size_t at = 0; (at = lines.find('\n', at)) + 1 < lines.size();)
      lines.replace(at, 1, "\n      "), at += 7;
    text += fmt::format("  {:>2}: {}", i, lines);
  }
  if (p.finish_after < p.load.steps.size())
    text += fmt::format("  after {} steps: ", p.finish_after);
  else
    text += p.must_return ? "  then the return to the primary, then: " : "  then: ";
  return text + finishes[static_cast<std::size_t>(p.finish)] + "\n";
}

}  // namespace vccl::sim
