// SPDX-License-Identifier: Apache-2.0
#include <programs/verbs.hpp>

namespace worker {
template int run_end<LinkResilient>(Options const&, VerbsMachine&, vccl::End);
template int run_end<LinkQuick>(Options const&, VerbsMachine&, vccl::End);
template int run_end<LinkNoBackup>(Options const&, VerbsMachine&, vccl::End);
}  // namespace worker
