// SPDX-License-Identifier: Apache-2.0
#include <vccl/op.hpp>

int main() {
  using namespace vccl::literals;
  return 1_ms + 2_ms == 3_ms ? 0 : 1;
}
