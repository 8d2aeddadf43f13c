// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A user buffer, registered on every lane of every path at once.

#include <vccl/concepts.hpp>
#include <vccl/detail/paths.hpp>

#include <cstddef>
#include <memory>
#include <tuple>

namespace vccl {

/// Owns the registrations of one buffer. Must outlive every operation on it, and must not outlive
/// the hosts. Move-only; moving keeps Memory values valid.
///
/// Thread safety: const members from any thread.
template <class... Transports>
class Registration {
 public:
  /// All of the buffer.
  [[nodiscard]] Memory whole() const noexcept { return part(0, length_); }

  /// `bytes` from `offset`. What lies outside the buffer is cut off.
  [[nodiscard]] Memory part(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (offset > length_) offset = length_;
    if (bytes > length_ - offset) bytes = length_ - offset;
    return {address_ + offset, bytes, &owned_->keys, kind_};
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return length_; }

  /// Registers on `ports(path, lane)` of `paths`. Throws SetupError; then nothing stays registered.
  template <class Paths, class Hosts>
  Registration(Paths& paths, Hosts& hosts, void* p, std::size_t n, Access access, MemoryKind kind)
      : owned_{std::make_unique<Owned>()},
        address_{reinterpret_cast<std::uint64_t>(p)},
        length_{n},
        kind_{kind} {
    paths.each([&]<class T, detail::Life life>(auto id, detail::Path<T, life>& path) {
      auto& list = std::get<id()>(owned_->lists);
      for (std::size_t l = 0; l < path.lane_count(); ++l) {
        list.emplace(T::register_memory(hosts.get(id), path.port(l), p, n, access, kind));
        owned_->keys[id][l] = list[l].keys();
      }
    });
  }

 private:
  struct Owned {
    KeyTable keys{};
    std::tuple<detail::Lanes<typename Transports::Registration>...> lists;
  };

  std::unique_ptr<Owned> owned_;
  std::uint64_t address_ = 0;
  std::uint64_t length_ = 0;
  MemoryKind kind_ = MemoryKind::host;
};

}  // namespace vccl
