// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The fault language, one fault a line: text to Fault and back. docs/faults.md has the grammar.

#include <vccl/op.hpp>
#include <vccl/transport/soft/fault.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace vccl::soft {

/// A line that is no fault. what() is one line: number of the line, the word, what was expected.
class ScriptError : public std::exception {
 public:
  ScriptError(std::size_t line, std::string_view word, std::string_view expected)
      : line_{line}, text_{"line "} {
    // By appending: GCC 12 warns of operator+ with a literal in front (its bug 105651).
    text_.append(std::to_string(line)).append(": ");
    if (word.empty()) {
      text_.append("the line ends");
    } else {
      text_.append("'").append(word).append("'");
    }
    text_.append(", expected ").append(expected);
  }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }

 private:
  std::size_t line_;
  std::string text_;
};

/// Reads one line.
class FaultParser {
 public:
  FaultParser(std::string_view line, std::size_t number) noexcept
      : rest_{line.substr(0, line.find('#'))}, number_{number} {
    next();
  }
  [[nodiscard]] bool empty() const noexcept { return word_.empty(); }

  /// Throws ScriptError.
  [[nodiscard]] Fault parse() {
    Fault f;
    while (word_ == "at" || word_ == "after" || word_ == "every") parse_when(f);
    std::string_view const verb = word_;
    bool const known = verb_exists(verb);
    if (!known)
      expected(
          "at, after, every, link, drop, delay, reorder, duplicate, hold, gid, kill, revive, "
          "device, qp, cq, fence, call or reset");
    next();
    if (verb == "call") {
      f.call = static_cast<Call>(one_of(call_words,
                                        "post_send, post_receive, poll, flush, describe, connect, "
                                        "fence or register_memory"));
      parse_range(f);
    }
    for (ActionWords const& a : action_words) {
      if (a.verb == verb && soft::picks_packets(a.action)) {
        f.packets = static_cast<PacketKind>(
            one_of(packet_kind_words, "data, cts, control, ack, oob or any"));
        f.action = a.action;
      }
    }
    f.place = verb == "kill" || verb == "revive" ? host() : place();
    parse_detail(f, verb);
    if ((f.after_packet != 0 || f.every != 1 || f.chance != Fault::always) &&
        !soft::picks_packets(f.action)) {
      throw ScriptError{
          number_, verb,
          "drop, delay, reorder, duplicate or hold behind 'after packet' and 'every'"};
    }
    while (!word_.empty()) parse_clause(f);
    if ((f.action == Action::delay || f.action == Action::reorder) && f.by.ns == 0)
      expected("by and a duration");
    if (f.action == Action::hold && f.lasts.ns == 0) expected("for and a duration");
    return f;
  }

 private:
  static bool verb_exists(std::string_view verb) noexcept {
    for (ActionWords const& a : action_words) {
      if (a.verb == verb) return true;
    }
    return false;
  }

  void next() noexcept {
    std::size_t const from = rest_.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) {
      word_ = rest_ = {};
      return;
    }
    std::size_t const to = rest_.find_first_of(" \t\r", from);
    word_ = rest_.substr(from, to - from);
    rest_ = to == std::string_view::npos ? std::string_view{} : rest_.substr(to);
  }
  [[noreturn]] void expected(std::string_view what) const {
    throw ScriptError{number_, word_, what};
  }
  bool skip(std::string_view w) noexcept {
    if (word_ != w) return false;
    next();
    return true;
  }
  template <std::size_t N>
  std::size_t one_of(std::array<std::string_view, N> const& words, std::string_view what) {
    for (std::size_t i = 0; i < N; ++i) {
      if (skip(words[i])) return i;
    }
    expected(what);
  }

  /// A whole number from the front of `text`, or false.
  static bool take_number(std::string_view& text, std::uint64_t& n) noexcept {
    auto const r = std::from_chars(text.data(), text.data() + text.size(), n);
    if (r.ec != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(r.ptr - text.data()));
    return true;
  }
  std::uint64_t number(std::string_view what, std::uint64_t least,
                       std::uint64_t most = UINT64_MAX) {
    std::string_view w = word_;
    std::uint64_t n = 0;
    if (!take_number(w, n) || !w.empty() || n < least || n > most) expected(what);
    next();
    return n;
  }
  /// "12" or "12.5" as a multiple of 1/scale, and the unit behind it. Digits beyond the scale are
  /// an error.
  bool decimal(std::string_view& w, std::uint64_t scale, std::uint64_t& out) const noexcept {
    std::uint64_t whole = 0;
    if (!take_number(w, whole) || whole > UINT64_MAX / 2 / scale) return false;
    out = whole * scale;
    if (w.empty() || w[0] != '.') return true;
    w.remove_prefix(1);
    std::size_t digits = 0;
    for (; !w.empty() && w[0] >= '0' && w[0] <= '9'; w.remove_prefix(1), ++digits) {
      if (scale % 10 != 0) return false;
      scale /= 10;
      out += scale * static_cast<std::uint64_t>(w[0] - '0');
    }
    return digits != 0;
  }
  Duration duration() {
    struct Unit {
      std::string_view name;
      std::uint64_t ns;
    };
    static constexpr Unit units[] = {
        {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
    for (Unit const& u : units) {
      std::string_view w = word_;
      std::uint64_t ns = 0;
      if (!decimal(w, u.ns, ns) || w != u.name || ns > INT64_MAX / 4) continue;
      next();
      return Duration{static_cast<std::int64_t>(ns)};
    }
    expected("a duration such as 300ms (ns, us, ms, s)");
  }
  std::uint64_t rate() {
    if (skip("unlimited")) return 0;
    struct Unit {
      std::string_view name;
      std::uint64_t bits;
    };
    static constexpr Unit units[] = {
        {"Gbps", 1'000'000'000}, {"Mbps", 1'000'000}, {"kbps", 1'000}, {"B/s", 8}};
    for (Unit const& u : units) {
      std::string_view w = word_;
      std::uint64_t bits = 0;
      if (!decimal(w, u.bits, bits) || w != u.name || bits < 8 || bits % 8 != 0) continue;
      next();
      return bits / 8;
    }
    expected("a rate such as 100Gbps (Gbps, Mbps, kbps, B/s), or unlimited");
  }
  Place place() {
    if (skip("any")) return {};
    std::string_view w = word_;
    std::uint64_t h = 0;
    std::uint64_t p = Place::all;
    bool good = w.starts_with("host");
    if (good) w.remove_prefix(4);
    good = good && take_number(w, h) && h < 0xffff;
    if (good && w.starts_with(".port")) {
      w.remove_prefix(5);
      good = take_number(w, p) && p < 0xffff;
    }
    if (!good || !w.empty()) expected("hostN, hostN.portM or any");
    next();
    return {static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(p)};
  }
  Place host() {
    std::string_view const w = word_;
    Place const p = place();
    if (p.host == Place::all || p.port != Place::all) throw ScriptError{number_, w, "hostN"};
    return p;
  }

  void parse_when(Fault& f) {
    if (skip("at")) {
      f.at = duration();
    } else if (skip("every")) {
      if (word_.starts_with("p=")) {
        std::string_view w = word_.substr(2);
        std::uint64_t n = 0;
        if (!decimal(w, Fault::always, n) || !w.empty() || n == 0 || n > Fault::always) {
          expected("p= and a number above 0, at most 1, with at most 9 decimals");
        }
        f.chance = static_cast<std::uint32_t>(n);
        next();
      } else {
        f.every = number("p=0.01 or a number of packets", 1);
      }
    } else {
      next();
      if (skip("step")) {
        f.after_step = number("a number of steps from 1", 1);
        if (skip("of")) f.step_place = place();
      } else if (skip("packet")) {
        f.after_packet = number("a number of packets from 1", 1);
      } else {
        expected("step or packet");
      }
    }
  }
  void parse_range(Fault& f) {
    std::string_view w = word_;
    bool good = take_number(w, f.first) && f.first >= 1;
    f.last = f.first;
    if (good && w.starts_with("..")) {
      w.remove_prefix(2);
      f.last = 0;
      good = w.empty() || (take_number(w, f.last) && f.last >= f.first);
    }
    if (!good || !w.empty()) expected("which call: 17, 17..20 or 17..");
    next();
  }
  void parse_detail(Fault& f, std::string_view verb) {
    std::string choices;
    for (ActionWords const& a : action_words) {
      if (a.verb != verb) continue;
      if (a.detail.empty() || skip(a.detail)) {
        f.action = a.action;
        choices.clear();
        break;
      }
      choices += (choices.empty() ? "" : " or ") + std::string{a.detail};
    }
    if (!choices.empty()) expected(choices);
    switch (f.action) {
      case Action::link_speed:
      case Action::link_throttle:
        f.rate = rate();
        break;
      case Action::link_latency:
      case Action::fence_takes:
        f.by = duration();
        break;
      case Action::gid_move:
        f.index = static_cast<std::uint32_t>(number("an index from 0 to 7", 0, 7));
        break;
      case Action::call_fails:
        f.error = error();
        break;
      default:
        break;
    }
  }
  int error() {
    for (ErrorWord const& e : error_words) {
      if (skip(e.word)) return e.number;
    }
    expected("EAGAIN, EBUSY, EFAULT, EINVAL, EIO, ENOMEM or EOPNOTSUPP");
  }
  void parse_clause(Fault& f) {
    bool const packets = soft::picks_packets(f.action);
    bool const fence = f.action >= Action::fence_takes && f.action <= Action::fence_hangs;
    bool const later = packets && f.action != Action::drop && f.action != Action::hold;
    if (later && f.by.ns == 0 && skip("by")) {
      f.by = duration();
    } else if ((packets || f.action == Action::link_down || f.action == Action::cq_mute) &&
               f.lasts.ns == 0 && skip("for")) {
      f.lasts = duration();
    } else if ((packets || fence) && f.count == 0 && skip("count")) {
      f.count = number("a number from 1", 1);
    } else if (fence && f.steps == FenceSteps::both && skip("on")) {
      if (word_ != "error" && word_ != "reset") expected("error or reset");
      f.steps = word_ == "error" ? FenceSteps::error : FenceSteps::reset;
      next();
    } else {
      expected(later     ? "by, for, count or the end of the line, each once"
               : packets ? "for, count or the end of the line, each once"
               : fence   ? "on, count or the end of the line, each once"
                         : "the end of the line (link down and cq mute take for)");
    }
  }

  std::string_view rest_;
  std::size_t number_;
  std::string_view word_;
};

/// All faults of a text, in order. Throws ScriptError.
[[nodiscard]] inline std::vector<Fault> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::size_t const end = text.find('\n');
    FaultParser parser{text.substr(0, end), line};
    if (!parser.empty()) faults.push_back(parser.parse());
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return faults;
}

}  // namespace vccl::soft
