// SPDX-License-Identifier: Apache-2.0
#include <programs/verbs.hpp>

namespace worker {
template int run_end<LinkRetryTimeout>(Options const&, VerbsMachine&, vccl::End);
template int run_end<LinkLongHold>(Options const&, VerbsMachine&, vccl::End);
template int run_end<LinkNoReturn>(Options const&, VerbsMachine&, vccl::End);
}  // namespace worker
