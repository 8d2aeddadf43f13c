// SPDX-License-Identifier: Apache-2.0
#include <programs/verbs.hpp>

namespace worker {
template int run_end<LinkInBand>(Options const&, VerbsMachine&, vccl::End);
template int run_end<LinkOutOfBand>(Options const&, VerbsMachine&, vccl::End);
}  // namespace worker
