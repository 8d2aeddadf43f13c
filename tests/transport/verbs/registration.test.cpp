// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/registration.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <string>
#include <vector>

using namespace vccl;
using namespace vccl::verbs;

namespace {
/// Each rung of the ladder says what it is told to.
struct Scripted {
  static inline int plain_error = 0, dma_buf_error = 0, last_fd = -1;
  static inline std::uint64_t last_offset = 0, last_iova = 0;
  static inline unsigned last_access = 0;
  static inline int regions = 0;
  static inline std::vector<int> calls;  // 1: plain, 2: DMA-BUF.

  static ibv_mr* made(int error) noexcept {
    if (error != 0) return errno = error, nullptr;
    ++regions;
    auto* mr = new ibv_mr{};
    mr->lkey = 5;
    mr->rkey = 6;
    return mr;
  }
  static ibv_mr* reg_mr(ibv_pd*, void*, std::size_t, unsigned access) noexcept {
    calls.push_back(1);
    last_access = access;
    return made(plain_error);
  }
  static ibv_mr* reg_dmabuf_mr(ibv_pd*, std::uint64_t offset, std::size_t, std::uint64_t iova,
                               int fd, unsigned) noexcept {
    calls.push_back(2);
    last_fd = ::fcntl(fd, F_GETFD) == -1 ? -1 : fd;
    last_offset = offset;
    last_iova = iova;
    return made(dma_buf_error);
  }
  static int dereg_mr(ibv_mr* mr) noexcept {
    --regions;
    delete mr;
    return EIO;  // As of a device that is gone.
  }
  static void start(int plain, int dma_buf) {
    plain_error = plain;
    dma_buf_error = dma_buf;
    calls.clear();
  }
};
int export_error = 0;
int export_null(void*, std::size_t, std::uint64_t* offset) noexcept {
  *offset = 64;
  return export_error != 0 ? -export_error : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

alignas(64) std::byte block[256];

Keys registered(MemoryKind kind, ExportDmaBuf e) {
  Registration<Scripted> const r{nullptr, block, sizeof block, Access::remote_write_relaxed,
                                 kind,    e};
  CHECK(Scripted::regions == 1);
  return r.keys();
}
std::string refused(MemoryKind kind, ExportDmaBuf e) {
  try {
    static_cast<void>(registered(kind, e));
  } catch (SetupError const& error) {
    return error.what();
  }
  return "";
}
bool says(std::string const& text, const char* part) { return text.find(part) != text.npos; }
}  // namespace

TEST_CASE("host memory is registered plainly, payload with relaxed ordering") {
  Scripted::start(0, 0);
  Keys const k = registered(MemoryKind::host, export_null);
  CHECK(k.local == 5);
  CHECK(k.remote == 6);
  CHECK(Scripted::calls == std::vector{1});
  CHECK((Scripted::last_access & IBV_ACCESS_RELAXED_ORDERING) != 0);
  CHECK(Scripted::regions == 0);
}

TEST_CASE("device memory goes by DMA-BUF first, and the descriptor is closed") {
  Scripted::start(0, 0);
  export_error = 0;
  static_cast<void>(registered(MemoryKind::device, export_null));
  CHECK(Scripted::calls == std::vector{2});
  REQUIRE(Scripted::last_fd >= 0);
  CHECK(::fcntl(Scripted::last_fd, F_GETFD) == -1);
  CHECK(Scripted::last_offset == 64);
  CHECK(Scripted::last_iova == reinterpret_cast<std::uintptr_t>(block));
}

TEST_CASE("each rung that fails leads to the next one") {
  for (int error : {EOPNOTSUPP, EINVAL, EFAULT, ENOMEM}) {
    CAPTURE(error);
    export_error = 0;
    Scripted::start(0, error);
    static_cast<void>(registered(MemoryKind::device, export_null));
    CHECK(Scripted::calls == std::vector{2, 1});
    export_error = error;
    Scripted::start(0, 0);
    static_cast<void>(registered(MemoryKind::device, export_null));
    CHECK(Scripted::calls == std::vector{1});

    Scripted::start(error, 0);
    std::string const last = refused(MemoryKind::device, export_null);
    CHECK(says(last, ("DMA-BUF gave errno " + std::to_string(error)).c_str()));
    CHECK(says(last, "stage through host memory"));
    CHECK(says(refused(MemoryKind::device, nullptr), "no DMA-BUF exporter"));
    CHECK(Scripted::regions == 0);
  }
}

TEST_CASE("host memory that is refused says the errno and what to do") {
  Scripted::start(EFAULT, 0);
  CHECK(says(refused(MemoryKind::host, nullptr), "errno 14"));
  CHECK(says(refused(MemoryKind::host, nullptr), "MemoryKind"));
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &old) == 0);
  rlimit const low{64 << 10, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &low) == 0);
  Scripted::start(ENOMEM, 0);
  std::string const text = refused(MemoryKind::host, nullptr);
  REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &old) == 0);
  CHECK(says(text, "64 KiB (ulimit -l)"));
  CHECK(says(text, "1 KiB more"));
}

TEST_CASE("an empty block and one that wraps around are refused before the device is asked") {
  Scripted::start(0, 0);
  auto make = [](void* p, std::size_t n) {
    Registration<Scripted> const r{nullptr, p, n, Access::local, MemoryKind::host, nullptr};
  };
  CHECK_THROWS_AS(make(nullptr, 1), SetupError);
  CHECK_THROWS_AS(make(block, 0), SetupError);
  CHECK_THROWS_AS(make(block, ~std::size_t{0}), SetupError);
  CHECK(Scripted::calls.empty());
}
