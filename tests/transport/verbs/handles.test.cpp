// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/handles.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

using namespace vccl;
using namespace vccl::verbs;

namespace {
/// Counts what is made and destroyed, in which order, and refuses the call of number `fail_at`.
struct Counting {
  static inline int calls, fail_at, alive;
  static inline std::string destroyed;
  static void begin(int fail) {
    calls = alive = 0;
    fail_at = fail;
    destroyed.clear();
  }
  template <class T>
  static T* make(T& object) noexcept {
    if (calls++ == fail_at) {
      errno = ENOMEM;
      return nullptr;
    }
    ++alive;
    return &object;
  }
  static int end(char what) noexcept {
    --alive;
    destroyed += what;
    return EIO;  // As a device that is gone says; nothing may come of it.
  }
  static inline std::array<ibv_device*, 2> devices{};
  static inline ibv_context context;
  static inline ibv_pd pd;
  static inline ibv_cq cq;
  static inline ibv_qp qp;
  static inline ibv_mr mr;
  static ibv_device** get_device_list(int* count) noexcept {
    *count = 1;
    return make(devices[0]);
  }
  static void free_device_list(ibv_device**) noexcept { end('l'); }
  static ibv_context* open_device(ibv_device*) noexcept { return make(context); }
  static int close_device(ibv_context*) noexcept { return end('c'); }
  static ibv_pd* alloc_pd(ibv_context*) noexcept { return make(pd); }
  static int dealloc_pd(ibv_pd*) noexcept { return end('p'); }
  static ibv_cq* create_cq(ibv_context*, int, void*) noexcept { return make(cq); }
  static int destroy_cq(ibv_cq*) noexcept { return end('q'); }
  static ibv_qp* create_qp(ibv_pd*, ibv_qp_init_attr*) noexcept { return make(qp); }
  static int destroy_qp(ibv_qp*) noexcept { return end('Q'); }
  static ibv_mr* reg_mr(ibv_pd*, void*, std::size_t, unsigned) noexcept { return make(mr); }
  static int dereg_mr(ibv_mr*) noexcept { return end('m'); }
};

/// One of each. Gives the call that failed, or nothing.
std::string make_all() {
  try {
    DeviceList<Counting> const list;
    Context<Counting> const context = open_device<Counting>(*list.begin());
    Domain<Counting> const domain = alloc_pd<Counting>(context.get());
    Queue<Counting> const queue = create_cq<Counting>(context.get(), 1, nullptr);
    QueuePair<Counting> const pair = create_qp<Counting>(domain.get(), {});
    Region<Counting> const region = reg_mr<Counting>(domain.get(), nullptr, 0, 0, "why");
    CHECK(Counting::alive == 6);
    return {};
  } catch (SetupError const& e) {
    CHECK(e.number() == ENOMEM);
    return e.call();
  }
}
}  // namespace

TEST_CASE("each call fails in turn: it is named, and all that was made is destroyed in reverse") {
  std::array<std::string_view, 7> const names{"ibv_get_device_list",
                                              "ibv_open_device",
                                              "ibv_alloc_pd",
                                              "ibv_create_cq",
                                              "ibv_create_qp",
                                              "ibv_reg_mr",
                                              ""};
  std::array<std::string_view, 7> const left{"", "l", "cl", "pcl", "qpcl", "Qqpcl", "mQqpcl"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(i);
    Counting::begin(static_cast<int>(i));
    CHECK(make_all() == names[i]);
    CHECK(Counting::alive == 0);
    CHECK(Counting::destroyed == left[i]);
  }
}

TEST_CASE("moving hands the object over, and assigning destroys what was held") {
  Counting::begin(-1);
  {
    Domain<Counting> a = alloc_pd<Counting>(nullptr);
    Domain<Counting> b = std::move(a);
    CHECK(b);
    b = alloc_pd<Counting>(nullptr);
    CHECK(Counting::alive == 1);
    CHECK(b.reset() == EIO);
    CHECK(b.reset() == 0);
    CHECK_FALSE(b);
  }
  CHECK(Counting::destroyed == "pp");
}
