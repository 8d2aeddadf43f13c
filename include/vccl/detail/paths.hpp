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

  std::tuple<Path<Transports, life>...> paths_;
};

}  // namespace vccl::detail
