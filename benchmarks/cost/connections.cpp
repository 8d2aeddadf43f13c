// SPDX-License-Identifier: Apache-2.0
// Messages over many connections in turn, on one thread: cost.py counts the instructions.
#include <codegen/message_cost/run.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace vccl::codegen {
namespace {

/// Connections between two hosts, each with a source and a target of its own.
template <class Link>
struct Many {
  /// What exchange() needs of one of them.
  struct One {
    typename Link::Listener listener;
    typename Link::Sender sender;
    typename Link::Receiver receiver;
    std::vector<std::byte> source, target;
    typename Link::Sender::Registered from, into;
    std::vector<Memory> sends;
    std::vector<RecvOp> receives;

    One(Many& m, std::size_t bytes)
        : listener{m.context_b.listen(Route{PortId{0}})},
          sender{m.context_a.connect(Route{PortId{0}}, listener.handle())},
          receiver{listener.accept()},
          source(bytes, std::byte{7}),
          target(bytes),
          from{sender.register_memory(source)},
          into{receiver.register_memory(target)},
          sends{from.whole()},
          receives{{into.whole(), Tag{7}}} {}
    bool ready() {
      bool all = false;
      for (int i = 0; i < 64; ++i) {
        bool const one = sender.ready();
        bool const other = receiver.ready();
        all = one && other;
      }
      return all;
    }
  };

  wire::Network network;
  wire::Host a{network}, b{network};
  typename Link::Context context_a{a}, context_b{b};
  std::vector<std::unique_ptr<One>> all;
};

template <class Link>
int run(std::size_t connections, long messages) {
  auto const many = std::make_unique<Many<Link>>();
  for (std::size_t i = 0; i < connections; ++i) {
    many->all.push_back(std::make_unique<typename Many<Link>::One>(*many, 8));
    if (!many->all.back()->ready()) return 1;
  }
  while (messages-- > 0) {
    for (auto const& one : many->all) exchange(*one, one->sends, one->receives, 1);
  }
  for (auto const& one : many->all) {
    if (one->source != one->target) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace vccl::codegen

int main(int argc, char** argv) {
  using namespace vccl::codegen;
  if (argc != 4) {
    std::fputs("usage: connections none|resilient <connections> <messages of each>\n", stderr);
    return 2;
  }
  std::size_t const connections = std::strtoul(argv[2], nullptr, 10);
  long const messages = std::strtol(argv[3], nullptr, 10);
  return std::strcmp(argv[1], "none") == 0 ? run<NoFailover>(connections, messages)
                                           : run<WithFailover>(connections, messages);
}
