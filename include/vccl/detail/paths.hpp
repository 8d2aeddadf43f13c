// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The paths of a connection, each of its own transport type, addressed by PathId.

#include <vccl/detail/path.hpp>
#include <vccl/fwd.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace vccl::detail {

/// Primary and backups as one list of transports.
template <class Primary, class Backup>
struct TransportsOf {
  template <template <class...> class List>
  using apply = List<Primary, Backup>;
};
template <class Primary>
struct TransportsOf<Primary, NoBackup> {
  template <template <class...> class List>
  using apply = List<Primary>;
};
template <class Primary, class... More>
struct TransportsOf<Primary, Backups<More...>> {
  template <template <class...> class List>
  using apply = List<Primary, More...>;
};

/// Holds a Path per transport. With one path, choosing costs nothing.
template <class... Transports>
class PathSet {
 public:
  static constexpr std::size_t count = sizeof...(Transports);
  static_assert(count <= max_paths, "a connection has at most four paths");
  /// Without another path to switch to, a path that fails ends the connection.
  static constexpr Life life = count == 1 ? Life::one : Life::many;

  PathSet() noexcept {
    each([](auto id, auto& path) { path.set_id(id); });
  }
  PathSet(PathSet const&) = delete;
  PathSet& operator=(PathSet const&) = delete;

  /// Makes `q` the path that chosen() means, at first the primary. A message uses it several times,
  /// so paths of one type are told apart here and not there.
  void choose(PathId q) noexcept {
    if constexpr (count == 1) {
      static_cast<void>(q);
    } else if constexpr (same) {
      with(q, [&](auto& path) {
        chosen_ = &path;
        return 0;
      });
    } else {
      chosen_ = q;
    }
  }
  template <class F>
  [[gnu::always_inline]] decltype(auto) chosen(F&& f) noexcept {
    if constexpr (count == 1) {
      return f(std::get<0>(paths_));
    } else if constexpr (same) {
      return f(*chosen_);
    } else {
      return pick<0>(chosen_, f);
    }
  }

  /// Calls `f(path)` for path `q`; every path's answer has the same type.
  template <class F>
  [[gnu::always_inline]] decltype(auto) with(PathId q, F&& f) noexcept {
    if constexpr (same) {
      auto* chosen = &std::get<0>(paths_);
      each([&](auto id, auto& path) {
        if (id != 0 && id == q) chosen = &path;
      });
      return f(*chosen);
    } else {
      return pick<0>(q, f);
    }
  }

  /// Calls `f(id, path)` for each; `id` is an integral_constant of PathId.
  template <class F>
  void each(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::integral_constant<PathId, static_cast<PathId>(I)>{}, std::get<I>(paths_)), ...);
    }(std::index_sequence_for<Transports...>{});
  }

  template <std::size_t I>
  [[nodiscard]] auto& get() noexcept {
    return std::get<I>(paths_);
  }

 private:
  template <std::size_t I, class F>
  decltype(auto) pick(PathId q, F& f) noexcept {
    if constexpr (I + 1 == count) {
      return f(std::get<I>(paths_));
    } else {
      if (q == I) return f(std::get<I>(paths_));
      return pick<I + 1>(q, f);
    }
  }

  static constexpr bool same =
      (std::is_same_v<Transports, std::tuple_element_t<0, std::tuple<Transports...>>> && ...);

  using List = std::tuple<Path<Transports, life>...>;
  using First = std::tuple_element_t<0, List>;
  struct Only {};

  List paths_;
  [[no_unique_address]] std::conditional_t<count == 1, Only,
                                           std::conditional_t<same, First*, PathId>> chosen_ =
      first(paths_);

  static constexpr auto first(List& paths) noexcept {
    if constexpr (count == 1) {
      static_cast<void>(paths);
      return Only{};
    } else if constexpr (same) {
      return &std::get<0>(paths);
    } else {
      static_cast<void>(paths);
      return PathId{0};
    }
  }
};

}  // namespace vccl::detail
