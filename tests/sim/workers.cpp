// SPDX-License-Identifier: Apache-2.0
#include <sim/workers.hpp>

#include <fmt/format.h>
#include <sim/run.hpp>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <unistd.h>

namespace vccl::sim {

namespace {

/// What a worker tells its parent, in memory that both map.
struct Page {
  struct Record {
    std::uint64_t seed;
    std::array<char, 1000> problems;
  };
  Coverage coverage;
  std::uint64_t running;  ///< The seed under way; 0: none.
  std::uint64_t failed;
  std::array<Record, 8> records;
};

struct Shared {
  std::atomic<std::uint64_t> next;
  std::atomic<bool> stop;
  std::array<Page, 64> pages;
};

void note_failure(Page& page, std::uint64_t seed, std::string const& problems) {
  if (page.failed < page.records.size()) {
    Page::Record& r = page.records[page.failed];
    r.seed = seed;
    std::size_t const n = std::min(problems.size(), r.problems.size() - 1);
    std::memcpy(r.problems.data(), problems.data(), n);
    r.problems[n] = 0;
  }
  ++page.failed;
}

void work(Shared& shared, Page& page, Batch const& batch) {
  watch.coverage = &page.coverage;
  watch.mutant = batch.mutant;
  auto const begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> const most{batch.seconds};
  for (std::uint64_t seed; !shared.stop && (seed = shared.next++) < batch.first + batch.count;) {
    if (batch.seconds > 0 && std::chrono::steady_clock::now() - begin >= most) break;
    page.running = seed;
    std::string const problems = run(make_plan(seed, batch.mutant, {}));
    page.running = 0;
    if (problems.empty()) continue;
    note_failure(page, seed, problems);
    if (batch.stop_at_failure) shared.stop = true;
  }
}

}  // namespace

Found simulate(Batch const& batch) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error{"no shared memory for the workers"};
  auto* const shared = new (memory) Shared{};
  shared->next = batch.first;
  std::vector<pid_t> children(std::min<std::size_t>(batch.jobs, shared->pages.size()));
  for (std::size_t j = 0; j < children.size(); ++j) {
    children[j] = ::fork();
    if (children[j] < 0) throw std::runtime_error{"fork failed"};
    if (children[j] != 0) continue;
    work(*shared, shared->pages[j], batch);
    ::_exit(0);
  }
  Found found;
  for (std::size_t j = 0; j < children.size(); ++j) {
    int status = 0;
    ::waitpid(children[j], &status, 0);
    Page& page = shared->pages[j];
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      note_failure(page, page.running,
                   WIFSIGNALED(status) ? fmt::format("crashed with signal {}", WTERMSIG(status))
                                       : fmt::format("exited with {}", WEXITSTATUS(status)));
    }
    found.coverage.add(page.coverage);
    found.failed += page.failed;
    for (std::size_t i = 0; i < std::min<std::size_t>(page.failed, page.records.size()); ++i)
      found.failures.push_back({page.records[i].seed, page.records[i].problems.data()});
  }
  std::sort(found.failures.begin(), found.failures.end(),
            [](Failure const& a, Failure const& b) { return a.seed < b.seed; });
  ::munmap(memory, sizeof(Shared));
  return found;
}

}  // namespace vccl::sim
