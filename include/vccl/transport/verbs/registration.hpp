// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The owner of a registration on one port, and the ladder by which device memory gets one.

#include <vccl/error.hpp>
#include <vccl/op.hpp>
#include <vccl/transport/verbs/handles.hpp>
#include <vccl/transport/verbs/queue_pair.hpp>

#include <infiniband/verbs.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace vccl::verbs {

/// Makes a DMA-BUF of device memory: gives a file descriptor, which the caller closes, and where
/// the memory begins in it; or an errno, negative. What to give here: a call of
/// cuMemGetHandleForAddressRange.
using ExportDmaBuf = int (*)(void* address, std::size_t length, std::uint64_t* offset) noexcept;

namespace registration_detail {

/// What to do about a refused registration of host memory.
[[noreturn]] inline void refuse_host(int error, std::size_t length) {
  char advice[128];
  rlimit limit{};
  bool const limited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if ((error == ENOMEM || error == EAGAIN) && limited) {
    std::snprintf(advice, sizeof advice,
                  "locked memory is limited to %llu KiB (ulimit -l) and this needs %llu KiB more",
                  static_cast<unsigned long long>(limit.rlim_cur >> 10),
                  static_cast<unsigned long long>((length + 1023) >> 10));
  } else if (error == EFAULT) {
    std::snprintf(advice, sizeof advice,
                  "not memory of this process, not writable, or a device's: say its MemoryKind");
  } else {
    std::snprintf(advice, sizeof advice, "the device refused %zu bytes", length);
  }
  throw SetupError{"ibv_reg_mr", error, advice};
}

[[noreturn]] inline void refuse_device(int dma_buf, int peer_memory) {
  char advice[160];
  if (dma_buf == 0) {
    std::snprintf(advice, sizeof advice,
                  "device memory: no DMA-BUF exporter was given, and peer memory is refused "
                  "(nvidia_peermem loaded?); stage through host memory");
  } else {
    std::snprintf(advice, sizeof advice,
                  "device memory: DMA-BUF gave errno %d, and peer memory is refused "
                  "(nvidia_peermem loaded?); stage through host memory",
                  dma_buf);
  }
  throw SetupError{"ibv_reg_mr", peer_memory, advice};
}

/// DMA-BUF first: it needs no module of the GPU's maker, only a kernel of 5.12 or later. Then peer
/// memory. Throws SetupError that says what each said; the third rung, host memory, is the user's,
/// who must copy there.
template <class Api>
[[nodiscard]] Region<Api> register_device(ibv_pd* pd, void* address, std::size_t length,
                                          unsigned access, ExportDmaBuf export_dma_buf) {
  int dma_buf_error = 0;
  if (export_dma_buf != nullptr) {
    std::uint64_t offset = 0;
    int const fd = export_dma_buf(address, length, &offset);
    dma_buf_error = -fd;
    if (fd >= 0) {
      Region<Api> mr{Api::reg_dmabuf_mr(pd, offset, length,
                                        reinterpret_cast<std::uintptr_t>(address), fd, access)};
      dma_buf_error = errno;
      ::close(fd);
      if (mr) return mr;
    }
  }
  Region<Api> mr{Api::reg_mr(pd, address, length, access)};
  if (!mr) refuse_device(dma_buf_error, errno);
  return mr;
}

}  // namespace registration_detail

/// Move-only. Giving it up makes its keys invalid at once. A device that is gone took them along.
template <class Api>
class Registration {
 public:
  /// Throws SetupError: refused, with what to do.
  Registration(ibv_pd* pd, void* address, std::size_t length, Access access, MemoryKind kind,
               ExportDmaBuf export_dma_buf) {
    if (address == nullptr || length == 0 ||
        reinterpret_cast<std::uintptr_t>(address) + length < length) {
      throw SetupError{"register_memory", EINVAL, "the block is empty or wraps around"};
    }
    unsigned const flags = access_flags(access, kind);
    if (kind == MemoryKind::device) {
      region_ =
          registration_detail::register_device<Api>(pd, address, length, flags, export_dma_buf);
    } else {
      region_ = Region<Api>{Api::reg_mr(pd, address, length, flags)};
      if (!region_) registration_detail::refuse_host(errno, length);
    }
  }

  [[nodiscard]] Keys keys() const noexcept { return {region_->lkey, region_->rkey}; }

 private:
  Region<Api> region_;
};

}  // namespace vccl::verbs
