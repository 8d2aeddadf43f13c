// SPDX-License-Identifier: Apache-2.0
#include <vccl/detail/service.hpp>

#include <doctest/doctest.h>

#include <atomic>

using namespace vccl;
using namespace vccl::literals;
using detail::Service;
using detail::ServiceNode;

namespace {
struct Counter : ServiceNode {
  Counter() {
    step = [](ServiceNode& n, Time t) noexcept {
      auto& c = static_cast<Counter&>(n);
      ++c.steps;
      c.last = t.ns;
    };
  }
  std::atomic<int> steps{0};
  std::atomic<std::int64_t> last{0};
};
}  // namespace

TEST_CASE("every node that is enlisted is stepped with the time, and none after it was removed") {
  Service s;
  Counter a, b, c;
  s.add(a);
  s.add(b);
  s.add(c);
  s.run(Time{5});
  s.remove(b);  // From the middle, ...
  s.run(Time{6});
  s.remove(c);  // ... from the front, ...
  s.remove(a);  // ... and the last.
  s.run(Time{7});
  CHECK(a.steps == 2);
  CHECK(b.steps == 1);
  CHECK(c.steps == 2);
  CHECK(a.last == 6);
}

TEST_CASE("the thread ticks until it is stopped, and stopping twice is harmless") {
  std::atomic<int> ticks{0};
  Service s;
  s.start(100_us, [&] { ++ticks; });
  while (ticks < 3) {
  }
  s.stop();
  int const then = ticks;
  s.stop();
  CHECK(ticks == then);
  CHECK(then >= 3);
}
