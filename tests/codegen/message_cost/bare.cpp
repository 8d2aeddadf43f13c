// SPDX-License-Identifier: Apache-2.0
#include <codegen/message_cost/run.hpp>

int main(int argc, char** argv) {
  using namespace vccl::codegen;
  return message_cost<Bare>(argc, argv);
}
