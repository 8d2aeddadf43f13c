// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file What both ends of the worker do alike: buffers, telling how it goes, waiting to be ended.

#include <vccl/connection.hpp>

#include <fmt/format.h>
#include <programs/content.hpp>
#include <programs/options.hpp>
#include <programs/report.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace worker {

inline void rest(std::chrono::microseconds d) { std::this_thread::sleep_for(d); }

/// Steps of `group` messages, at most `window` of them under way, each with buffers of its own.
template <class Link, class EndOfLink, vccl::End which>
class Half {
 public:
  using Host = typename Link::Primary::Host;

  Half(Options const& options, Host& host, EndOfLink& end)
      : options_{options},
        host_{host},
        end_{end},
        place_{(options.longest() + 63) / 64 * 64},
        buffers_(place_ * options.window * options.group),
        memory_{end.register_memory(buffers_)},
        requests_(options.window * options.group),
        begun_{host.now()} {}

 protected:
  [[nodiscard]] std::span<std::byte> buffer(std::uint64_t message, std::uint64_t size) {
    return std::span{buffers_}.subspan(at(message), size);
  }
  [[nodiscard]] vccl::Memory memory(std::uint64_t message, std::uint64_t size) const {
    return size == 0 ? vccl::Memory{} : memory_.part(at(message), size);
  }
  [[nodiscard]] vccl::Request& request(std::uint64_t n) { return requests_[n % requests_.size()]; }

  [[nodiscard]] double seconds() const {
    return static_cast<double>((host_.now() - begun_).ns) / 1e9;
  }
  [[nodiscard]] bool failed() const noexcept { return !problem_.empty(); }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  /// A request that ended with an error.
  void fail(std::string_view what, std::uint64_t n, vccl::Errc e) {
    fail(fmt::format("{} {}: {}: {}", what, n, text(e), text(end_.status().cause)));
  }
  [[nodiscard]] bool exists(const char* name) const {
    std::error_code none;
    return std::filesystem::exists(std::filesystem::path{options_.folder} / name, none);
  }

  /// The application is busy with something else for a while, once.
  void pause(std::uint64_t messages_done) {
    if (paused_ || options_.pause == 0 || messages_done < options_.pause_after) return;
    paused_ = true;
    report_.line("pauses", host_.now());
    rest(std::chrono::milliseconds{static_cast<std::int64_t>(options_.pause * 1000)});
    report_.line("goes_on", host_.now());
  }

  /// Tells what is new, every few milliseconds. True when files may be looked at again.
  bool tell(bool now = false) {
    vccl::Time const t = host_.now();
    if (!now && t - told_ < look_every) return false;
    told_ = t;
    end_.telemetry([&](auto const& log) {
      std::uint64_t const recorded = log.lost() + log.size();
      for (; events_ < recorded; ++events_) {
        if (events_ >= log.lost()) fresh_.push_back(log[events_ - log.lost()]);
      }
      return 0;
    });
    for (vccl::Event const& e : std::exchange(fresh_, {})) report_.event(e);
    if (now || t - position_told_ >= position_every) {
      position_told_ = t;
      report_.position(t, tally_, end_.status());
    }
    if (seconds() > options_.limit) fail(fmt::format("not at its end after {} s", options_.limit));
    return true;
  }

  void wait_until_ready() {
    while (!failed() && !end_.ready()) {
      tell();
      if (end_.status().ended)
        fail(fmt::format("the connection did not come up: {}", text(end_.status().cause)));
      rest(std::chrono::microseconds{200});
    }
    if (!failed()) report_.line("up", host_.now());
  }

  /// The application has nothing to do any more: it neither posts nor polls until it is told to
  /// end.
  void park() {
    tell(true);
    report_.line("done", host_.now());
    while (!failed() && !end_.status().ended) {
      if (tell() && exists("end")) break;
      rest(std::chrono::milliseconds{5});
    }
  }
  /// The last words; the exit status.
  int finish() {
    vccl::ConnectionStatus const before = end_.status();  // a closed connection's cause is closed
    if constexpr (which == vccl::End::receiver) {
      // The sender's close gets through first; what it said stays in this end's status.
      for (int i = 0; i < 5000 && Link::resilient && !failed() && !end_.closed(); ++i)
        rest(std::chrono::milliseconds{1});
    }
    end_.close();
    tell(true);
    vccl::ConnectionStatus s = end_.status();
    if (before.ended) s.cause = before.cause;
    report_.final(host_.now(), tally_, s, problem_);
    return failed() ? 1 : 0;
  }

  static constexpr vccl::Duration look_every{20'000'000};
  static constexpr vccl::Duration position_every{100'000'000};

  Options const& options_;
  Host& host_;
  EndOfLink& end_;
  Report report_{which};
  Tally tally_;

 private:
  [[nodiscard]] std::uint64_t at(std::uint64_t message) const {
    return message % requests_.size() * place_;
  }

  std::uint64_t place_;  ///< Bytes between two buffers.
  std::vector<std::byte> buffers_;
  typename EndOfLink::Registered memory_;
  std::vector<vccl::Request> requests_;
  vccl::Time begun_;
  vccl::Time told_{}, position_told_{};
  std::uint64_t events_ = 0;  ///< Told of.
  std::vector<vccl::Event> fresh_;
  bool paused_ = false;
  std::string problem_;  ///< The first one.
};

}  // namespace worker
