// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A Fault as a line of the fault language, such that parsing it gives the same Fault again.

#include <vccl/op.hpp>
#include <vccl/transport/soft/fault.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vccl::soft {

[[nodiscard]] inline std::string format(Duration d) {
  struct Unit {
    const char* name;
    std::int64_t ns;
  };
  for (Unit const u : {Unit{"s", 1'000'000'000}, Unit{"ms", 1'000'000}, Unit{"us", 1'000}}) {
    if (d.ns != 0 && d.ns % u.ns == 0) return std::to_string(d.ns / u.ns) + u.name;
  }
  return std::to_string(d.ns) + "ns";
}

[[nodiscard]] inline std::string format(Place p) {
  if (p.host == Place::all) return "any";
  std::string text = "host" + std::to_string(p.host);
  if (p.port != Place::all) text += ".port" + std::to_string(p.port);
  return text;
}

/// Bytes per second as a rate.
[[nodiscard]] inline std::string format_rate(std::uint64_t rate) {
  if (rate == 0) return "unlimited";
  if (rate % 125'000'000 == 0) return std::to_string(rate / 125'000'000) + "Gbps";
  if (rate % 125'000 == 0) return std::to_string(rate / 125'000) + "Mbps";
  return std::to_string(rate) + "B/s";
}

/// One line, without its end.
[[nodiscard]] inline std::string format(Fault const& f) {
  std::string text;
  if (f.at.ns != 0) text += "at " + format(f.at) + " ";
  if (f.after_step != 0) {
    text += "after step " + std::to_string(f.after_step) + " ";
    if (f.step_place != Place{}) text += "of " + format(f.step_place) + " ";
  }
  if (f.after_packet != 0) text += "after packet " + std::to_string(f.after_packet) + " ";
  if (f.every != 1) text += "every " + std::to_string(f.every) + " ";
  if (f.chance == Fault::always) {
    // Nothing to say.
  } else {
    std::string const digits = std::to_string(f.chance);
    text += "every p=0." + std::string(9 - digits.size(), '0') + digits + " ";
  }

  ActionWords const& words = action_words[static_cast<std::size_t>(f.action)];
  text += words.verb;
  if (f.action == Action::call_fails) {
    text += " " + std::string{call_words[static_cast<std::size_t>(f.call)]} + " " +
            std::to_string(f.first);
    if (f.last != f.first) text += ".." + (f.last == 0 ? std::string{} : std::to_string(f.last));
  }
  if (picks_packets(f.action))
    text += " " + std::string{packet_kind_words[static_cast<std::size_t>(f.packets)]};
  text += " " + format(f.place);
  if (!words.detail.empty()) text += " " + std::string{words.detail};

  switch (f.action) {
    case Action::link_speed:
    case Action::link_throttle:
      text += " " + format_rate(f.rate);
      break;
    case Action::link_latency:
    case Action::fence_takes:
      text += " " + format(f.by);
      break;
    case Action::gid_move:
      text += " " + std::to_string(f.index);
      break;
    case Action::call_fails:
      for (ErrorWord const& e : error_words) {
        if (e.number == f.error) text += " " + std::string{e.word};
      }
      break;
    default:
      if (f.by.ns != 0) text += " by " + format(f.by);
      break;
  }
  if (f.lasts.ns != 0) text += " for " + format(f.lasts);
  if (f.steps != FenceSteps::both) text += f.steps == FenceSteps::error ? " on error" : " on reset";
  if (f.count != 0) text += " count " + std::to_string(f.count);
  return text;
}

}  // namespace vccl::soft
