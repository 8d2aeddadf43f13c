// SPDX-License-Identifier: Apache-2.0
/// @file
/// The README's program: two hosts, two ports each, a cable that is pulled between two messages.

#include <vccl/connection.hpp>
#include <vccl/sync/receiver_decides.hpp>
#include <vccl/transport/soft/fabric.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<char> source(1 << 16, 'x'), target(source.size());
  // [readme]
  using Link = vccl::Connection<vccl::SoftNic, vccl::SoftNic,  // primary, backup
                                vccl::sync::ReceiverDecides<>, vccl::Resilient>;

  vccl::soft::Fabric fabric{{.hosts = 2, .ports_per_host = 2}};
  Link::Context a{fabric.host(0)}, b{fabric.host(1)};  // one per process: ports, service thread
  auto listener = b.listen(vccl::PortId{0});
  auto sender = a.connect(vccl::PortId{0}, listener.handle());  // a handle travels as you like
  auto receiver = listener.accept();                            // nothing blocks
  auto from = sender.register_memory(source);                   // on every path at once
  auto into = receiver.register_memory(target);

  int messages = 0;
  do {
    auto r = receiver.irecv(into.whole(), vccl::Tag{7});
    auto s = sender.isend(from.whole(), vccl::Tag{7});
    if (++messages == 100) fabric.link(0, 0).down();  // pulls the cable of host 0, port 0
    vccl::Result sent, received;
    while (!sent.done || !received.done) {  // test makes progress; the loss is invisible here
      if (!sent.done) sent = sender.test(s);
      if (!received.done) received = receiver.test(r);
    }
    if (sent.error != vccl::Errc::ok || received.error != vccl::Errc::ok) return 1;
  } while (sender.status().active_path == 0);
  std::puts("on backup");
  // [readme]
  auto const status = sender.status();
  if (messages < 100 || source != target) {
    std::printf("quickstart: FAILED after %d messages\n", messages);
    return 1;
  }
  std::printf("quickstart: OK failovers=%llu cause=%s\n",
              static_cast<unsigned long long>(status.counters.failovers),
              vccl::text(status.path_causes[0]).data());
}
