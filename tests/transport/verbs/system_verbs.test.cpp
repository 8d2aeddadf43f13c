// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/verbs/system_verbs.hpp>

#include <doctest/doctest.h>

using namespace vccl::verbs;

TEST_CASE("the machine's list of devices is given, or refused with an errno, and freed") {
  int count = -1;
  errno = 0;
  ibv_device** const list = SystemVerbs::get_device_list(&count);
  if (list == nullptr) {
    CHECK(errno != 0);  // Without the kernel's module.
  } else {
    CHECK(count >= 0);
    CHECK(list[count] == nullptr);
    SystemVerbs::free_device_list(list);
  }
}
