// SPDX-License-Identifier: Apache-2.0
// Registering memory with libibverbs: the ladder, its limits, keys of each path.
#include <memory>

#include <support/emulated_verbs/lanes.hpp>
#include <support/proof.hpp>
#include <support/soak.hpp>
#include <support/verbs_link.hpp>
#include <support/world.hpp>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace vccl::test {

namespace {

using emulated::Machine;
using emulated::Verb;

int export_error = 0;
int exported = 0;

/// A file that stands for a DMA-BUF.
int export_block(void*, std::size_t, std::uint64_t* offset) noexcept {
  *offset = 0;
  if (export_error != 0) return -export_error;
  ++exported;
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

std::ptrdiff_t open_files() {
  std::filesystem::directory_iterator const all{"/proc/self/fd"};
  return std::distance(begin(all), end(all));
}

struct Ladder {
  int exporter = 0;  ///< errno, here and below; 0: works.
  int dma_buf = 0;
  int peer_memory = 0;
};

/// A World whose hosts export DMA-BUFs.
VerbsSetup exporting() {
  VerbsSetup setup;
  setup.habits.dma_buf = true;
  setup.hosts[0].export_dma_buf = setup.hosts[1].export_dma_buf = export_block;
  return setup;
}

/// Registers device memory at the receiver, with that failing on `device`. What it says.
std::string registers(World& w, Ladder const& l, std::string const& device,
                      std::vector<std::uint64_t>& words) {
  export_error = l.exporter;
  if (l.dma_buf != 0)
    machine().refuse({.verb = Verb::reg_dmabuf_mr, .error = l.dma_buf, .device = device});
  if (l.peer_memory != 0)
    machine().refuse({.verb = Verb::reg_mr, .error = l.peer_memory, .device = device});
  std::string said;
  try {
    static_cast<void>(
        w.ends->register_memory(End::receiver, words.data(), words.size() * 8, MemoryKind::device));
  } catch (SetupError const& e) {
    said = e.what();
  }
  export_error = 0;
  return said;
}

}  // namespace

TEST_CASE("J1: each rung of the ladder that fails leads to the next, on each path's device") {
  for (std::string const device : {"emu1_0", "emu1_1"}) {
    for (int const error : {EOPNOTSUPP, EINVAL, EFAULT, ENOMEM}) {
      CAPTURE(device);
      CAPTURE(error);
      VerbsScope const scope{exporting()};
      World w{apart()};
      REQUIRE(w.settle());
      std::size_t const before = w.registrations();
      std::ptrdiff_t const files = open_files();
      std::vector<std::uint64_t> words(64);
      exported = 0;
      CHECK(registers(w, {}, device, words) == "");
      CHECK(exported == 2);  // Once for each device.
      CHECK(machine().calls().calls(Verb::reg_dmabuf_mr) == 2);
      w.ends->release_memory();
      std::uint64_t const peer = machine().calls().calls(Verb::reg_mr);
      CHECK(registers(w, {.dma_buf = error}, device, words) == "");
      CHECK(machine().calls().calls(Verb::reg_mr) == peer + 1);
      w.ends->release_memory();
      CHECK(registers(w, {.exporter = error}, device, words) == "");
      w.ends->release_memory();
      CHECK(w.registrations() == before);
      // No rung is left: it is refused now, on the primary's device or on the backup's.
      std::string const said =
          registers(w, {.dma_buf = error, .peer_memory = error}, device, words);
      CHECK(said.find("ibv_reg_mr") != std::string::npos);
      CHECK(said.find("device memory") != std::string::npos);
      CHECK(said.find("stage through host memory") != std::string::npos);
      CHECK(machine().calls().struck() == 3);
      CHECK(w.registrations() == before);  // Nothing of it stays on the other.
      CHECK(open_files() == files);
      w.load(Load::uniform(20, 1000));  // Host memory.
      CHECK(w.run());
      CHECK(w.problems() == "");
      CHECK(machine().violations() == "");
    }
  }
}

TEST_CASE("J4: device memory that cannot be had names what is missing; host memory works") {
  World w{apart()};
  REQUIRE(w.settle());
  std::vector<std::uint64_t> words(64);
  std::string const said = registers(w, {.peer_memory = EFAULT}, {}, words);
  CHECK(said.find("device memory") != std::string::npos);
  CHECK(said.find("DMA-BUF") != std::string::npos);
  CHECK(said.find("nvidia_peermem") != std::string::npos);
  CHECK(machine().calls().struck() == 1);
  w.load(Load::uniform(20, 1000));
  CHECK(w.run());
  CHECK(w.problems() == "");
}

TEST_CASE(
    "J5: locked memory that only the primary fits into leaves it without a backup, and says so") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  rlimit const limited{64 << 10, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &limited) == 0);
  // What a connection with both paths needs at a host.
  std::uint64_t all = 0;
  {
    World w{apart()};
    REQUIRE(w.settle());
    CHECK(w.sender().has_backup);
    all = machine().registered(0);
  }
  VerbsSetup setup;
  setup.habits.memlock = all - 1;
  VerbsScope const scope{setup};
  World w{apart()};
  REQUIRE(w.settle());
  CHECK(!w.sender().has_backup);
  CHECK(!w.receiver().has_backup);
  CHECK(machine().registered(0) < all - 1);
  w.load(Load::uniform(20, 1000));
  CHECK(w.run());
  CHECK(w.received() == 20);
  CHECK(w.problems() == "");
  std::vector<std::uint64_t> words(all);
  std::string said;
  try {
    static_cast<void>(
        w.ends->register_memory(End::sender, words.data(), words.size() * 8, MemoryKind::host));
  } catch (SetupError const& e) {
    said = e.what();
  }
  CHECK(said.find("ulimit -l") != std::string::npos);
  CHECK(said.find(std::to_string((all * 8 + 1023) >> 10) + " KiB") != std::string::npos);
  CHECK(machine().violations() == "");
  ::setrlimit(RLIMIT_MEMLOCK, &before);
}

TEST_CASE("J6: children that are forked while a path fails over take nothing along") {
  std::size_t const rounds = soak_count(3, 100);
  World w{{.link = links::verbs, .fabric = {.latency = 5_us}}};
  REQUIRE(w.settle());
  std::ptrdiff_t const files = open_files();
  Proof proof{w, soft::Action::link_down};
  for (std::size_t n = 0; n < rounds; ++n) {
    w.load(Load::uniform(200, 3000));
    REQUIRE(w.run_until(20));
    w.inject("link host0.port0 down for 100ms");
    std::array<pid_t, 8> children{};
    for (pid_t& child : children) {
      w.run_until(30);
      child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        for (int i = 1; i < 100; ++i) {
          std::vector<char> touched(static_cast<std::size_t>(i) * 1000, 'x');
          if (touched.back() != 'x') ::_exit(1);
        }
        ::_exit(0);
      }
    }
    CHECK(w.run());
    for (pid_t const child : children) {
      int status = -1;
      CHECK(::waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
    REQUIRE(w.until([&] { return w.sender().counters.failbacks == n + 1; }));
  }
  proof.returned();
  w.load(Load::uniform(20, 3000));
  CHECK(w.run());
  CHECK(proof.lacks() == "");
  CHECK(open_files() == files);
  CHECK(w.problems() == "");
  CHECK(machine().violations() == "");
}

TEST_CASE("J8: each path uses the keys of its own device, also for steps whose CTS came before") {
  for (MemoryKind const kind : {MemoryKind::host, MemoryKind::device}) {
    CAPTURE((kind == MemoryKind::device));
    World w{apart()};
    REQUIRE(w.settle());
    // By host and port: the keys of the requests that went out there.
    std::array<std::array<std::set<std::uint32_t>, 2>, 2> local, remote;
    machine().on_send = [&](std::uint32_t host, ibv_qp const& qp, ibv_send_wr const& r) {
      if (r.num_sge == 0) return;
      std::size_t const port = machine().port_of(qp);
      if ((r.send_flags & IBV_SEND_INLINE) == 0) local[host][port].insert(r.sg_list->lkey);
      remote[host][port].insert(r.wr.rdma.rkey);
    };
    Load load = Load::uniform(200, 3000);
    load.kind = kind;
    w.load(load);
    REQUIRE(w.run_until(50));
    // All CTS are there, and no data follows them, when the primary is lost.
    w.sends_at_most = w.posted();
    w.until([&] { return w.received() == w.posted(); }, 10_ms);
    w.until([] { return false; }, 1_ms);
    Proof proof{w, soft::Action::link_down};
    w.inject("link host0.port0 down for 200ms");
    REQUIRE(w.until([&] { return w.receiver().active_path == 1; }));
    w.sends_at_most = World::none;
    CHECK(w.run());
    CHECK(w.received() == 200);
    REQUIRE(w.until([&] { return w.sender().counters.failbacks != 0; }));
    proof.returned();
    w.load(load);
    CHECK(w.run());
    for (std::size_t h = 0; h < 2; ++h) {
      for (auto const* keys : {&local, &remote}) {
        auto const& [primary, backup] = (*keys)[h];
        std::vector<std::uint32_t> both;
        std::set_intersection(primary.begin(), primary.end(), backup.begin(), backup.end(),
                              std::back_inserter(both));
        CHECK(both.empty());
        CHECK(!primary.empty());
        CHECK(!backup.empty());
      }
    }
    CHECK(proof.lacks() == "");
    CHECK(w.problems() == "");
    CHECK(machine().violations() == "");  // A key of another domain or device is one.
  }
}

}  // namespace vccl::test
