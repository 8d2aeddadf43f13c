// SPDX-License-Identifier: Apache-2.0
#include <demo/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace demo {

Progress::Progress(bool quiet)
    : quiet_{quiet},
      terminal_{::isatty(STDOUT_FILENO) != 0},
      colours_{terminal_ && std::getenv("NO_COLOR") == nullptr} {}

void Progress::update(double seconds, double part, std::uint64_t bytes, unsigned path) {
  if (quiet_) return;
  if (seconds - rate_at_ >= 0.25) {
    rate_ = static_cast<double>(bytes - rate_bytes_) / (seconds - rate_at_);
    rate_at_ = seconds;
    rate_bytes_ = bytes;
  }
  std::string const speed = bytes_text(rate_) + "/s";
  if (!terminal_) {
    if (part < next_part_) return;
    fmt::print("{:6.2f} s  {:3.0f} %  {:>10}  on the {}\n", seconds, 100 * part, speed,
               path_name(path));
    std::fflush(stdout);
    while (next_part_ <= part) next_part_ += 0.1;
    return;
  }
  if (seconds < next_) return;
  next_ = seconds + 0.05;
  constexpr std::size_t width = 30;
  auto const full = static_cast<std::size_t>(part * width);
  std::string_view const on = !colours_ ? "" : path == 0 ? "\x1b[34m" : "\x1b[33m";
  std::string_view const off = colours_ ? "\x1b[0m" : "";
  fmt::print("\r\x1b[K{:6.2f} s  [{}{}{}{}] {:3.0f} %  {:>10}  on the {}{}{}", seconds, on,
             std::string(full, '#'), off, std::string(width - full, '.'), 100 * part, speed, on,
             path_name(path), off);
  std::fflush(stdout);
  drawn_ = true;
}

void Progress::note(double seconds, std::string_view what) {
  if (quiet_) return;
  clear();
  fmt::print("{:6.2f} s  {}\n", seconds, what);
  std::fflush(stdout);
  next_ = 0;
}

void Progress::clear() {
  if (!std::exchange(drawn_, false)) return;
  fmt::print("\r\x1b[K");
  std::fflush(stdout);
}

std::string bytes_text(double bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string_view path_name(unsigned path) {
  return path == 0 ? "primary" : path == 1 ? "backup" : "another path";
}

}  // namespace demo
