// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Which calls of libibverbs fail, counted one by one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vccl::test::emulated {

/// A call of the API. Calls that give nothing back cannot fail and are not counted.
enum class Verb : std::uint8_t {
  get_device_list,
  open_device,
  close_device,
  query_device,
  query_port,
  query_gid,
  alloc_pd,
  dealloc_pd,
  create_cq,
  destroy_cq,
  poll_cq,
  create_qp,
  destroy_qp,
  modify_qp,
  post_send,
  post_recv,
  reg_mr,
  reg_dmabuf_mr,
  dereg_mr,
  query_ece,
  set_ece,
  unblock_events,
  get_async_event,
  any,  ///< In a Refusal: whichever.
};
inline constexpr std::size_t verbs_counted = 24;
inline constexpr std::array<std::string_view, verbs_counted> verb_names{
    "get_device_list", "open_device",    "close_device",    "query_device", "query_port",
    "query_gid",       "alloc_pd",       "dealloc_pd",      "create_cq",    "destroy_cq",
    "poll_cq",         "create_qp",      "destroy_qp",      "modify_qp",    "post_send",
    "post_recv",       "reg_mr",         "reg_dmabuf_mr",   "dereg_mr",     "query_ece",
    "set_ece",         "unblock_events", "get_async_event", "any"};
static_assert(static_cast<std::size_t>(Verb::any) + 1 == verbs_counted);
[[nodiscard]] constexpr std::string_view name_of(Verb v) noexcept {
  return verb_names[static_cast<std::size_t>(v)];
}

inline constexpr std::uint32_t any_host = UINT32_MAX;

/// Calls that fail. They are counted from when the refusal was given.
struct Refusal {
  Verb verb = Verb::any;
  std::uint64_t from = 1;   ///< The first of the calls that fails.
  std::uint64_t count = 1;  ///< How many; 0: all from then on.
  int error = 5;            ///< errno; EIO.
  std::uint32_t host = any_host;
  int accepts = 0;  ///< Posts: work requests of the chain that are taken before it fails. Only
                    ///< chains of more count.
  std::string_view device{};  ///< Of that device only; empty: of any.
};

/// What a call meets.
struct Fate {
  int error = 0;
  int accepts = 0;
};

class CallScript {
 public:
  void refuse(Refusal const& r) { rules_.push_back({r, 0, 0}); }
  void clear() { rules_.clear(); }

  [[nodiscard]] Fate on_call(Verb verb, std::uint32_t host, std::string_view device,
                             int chain = 1) {
    ++calls_[static_cast<std::size_t>(verb)];
    ++total_;
    for (Rule& r : rules_) {
      Refusal const& f = r.what;
      bool const other = (f.verb != Verb::any && f.verb != verb) ||
                         (f.host != any_host && f.host != host) ||
                         (!f.device.empty() && f.device != device) || f.accepts >= chain;
      if (other || ++r.seen < f.from || (f.count != 0 && r.seen - f.from >= f.count)) continue;
      ++r.struck;
      ++struck_;
      last_ = verb;
      return {f.error, f.accepts};
    }
    return {};
  }

  [[nodiscard]] std::uint64_t calls() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t calls(Verb v) const noexcept {
    return calls_[static_cast<std::size_t>(v)];
  }
  /// Calls that were refused by the script.
  [[nodiscard]] std::uint64_t struck() const noexcept { return struck_; }
  /// The one refused last.
  [[nodiscard]] Verb last() const noexcept { return last_; }

 private:
  struct Rule {
    Refusal what;
    std::uint64_t seen = 0;
    std::uint64_t struck = 0;
  };
  std::vector<Rule> rules_;
  std::array<std::uint64_t, verbs_counted> calls_{};
  std::uint64_t total_ = 0;
  std::uint64_t struck_ = 0;
  Verb last_ = Verb::any;
};

}  // namespace vccl::test::emulated
