// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// A thread for calls of the kernel that wait for the network.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace vccl::verbs {

/// Something to be run once by a thread of its own. Lives in what it is for; asked by one thread.
class Errand {
 public:
  Errand() = default;
  Errand(Errand const&) = delete;
  Errand& operator=(Errand const&) = delete;

  /// True from start() until it has run. What it wrote is then there to be read.
  [[nodiscard]] bool under_way() const noexcept {
    return under_way_.load(std::memory_order_acquire);
  }

 private:
  friend class Errands;
  void (*run_)(void*) noexcept = nullptr;
  void* for_ = nullptr;
  Errand* next_ = nullptr;
  std::atomic<bool> under_way_ = false;
};

/// Runs errands one after the other, on a thread that is made for the first of them.
///
/// Thread safety: start() from any thread. Errands must be over before they, or this, end.
class Errands {
 public:
  Errands() = default;
  Errands(Errands const&) = delete;
  Errands& operator=(Errands const&) = delete;
  ~Errands() {
    {
      std::scoped_lock const lock{mutex_};
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Calls `run(what)` soon; false when there can be no thread. The errand must not be under way.
  [[nodiscard]] bool start(Errand& e, void (*run)(void*) noexcept, void* what) noexcept {
    e.run_ = run;
    e.for_ = what;
    e.next_ = nullptr;
    {
      std::scoped_lock const lock{mutex_};
      if (!thread_.joinable()) {
        try {
          thread_ = std::thread{[this] { work(); }};
        } catch (...) {
          return false;
        }
      }
      e.under_way_.store(true, std::memory_order_relaxed);
      (last_ != nullptr ? last_->next_ : first_) = &e;
      last_ = &e;
    }
    wake_.notify_all();
    return true;
  }

 private:
  void work() noexcept {
    std::unique_lock lock{mutex_};
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
      if (first_ == nullptr) return;
      Errand& e = *first_;
      first_ = e.next_;
      if (first_ == nullptr) last_ = nullptr;
      lock.unlock();
      e.run_(e.for_);
      e.under_way_.store(false, std::memory_order_release);  // From here on it may be gone.
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  Errand* first_ = nullptr;
  Errand* last_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace vccl::verbs
