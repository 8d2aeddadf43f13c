// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// The service thread of a context: steps what nobody polls, so idle ends are served too.

#include <vccl/op.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace vccl::detail {

/// Something that wants to be stepped now and then. Intrusive: lives in what it steps.
struct ServiceNode {
  ServiceNode* next = nullptr;
  ServiceNode* previous = nullptr;
  void (*step)(ServiceNode& self, Time now) noexcept = nullptr;
};

/// A list of nodes and, where time passes by itself, a thread that steps them.
///
/// Thread safety: add, remove and run from any thread; remove returns only when no step of that
/// node runs.
class Service {
 public:
  Service() = default;
  Service(Service const&) = delete;
  Service& operator=(Service const&) = delete;
  ~Service() { stop(); }

  void add(ServiceNode& n) {
    std::scoped_lock const lock{mutex_};
    n.next = first_;
    n.previous = nullptr;
    if (first_ != nullptr) first_->previous = &n;
    first_ = &n;
  }

  void remove(ServiceNode& n) noexcept {
    std::scoped_lock const lock{mutex_};
    if (n.next != nullptr) n.next->previous = n.previous;
    (n.previous != nullptr ? n.previous->next : first_) = n.next;
  }

  void run(Time now) noexcept {
    std::scoped_lock const lock{mutex_};
    for (ServiceNode* n = first_; n != nullptr; n = n->next) n->step(*n, now);
  }

  /// Calls `tick()` every `period` until stop().
  template <class F>
  void start(Duration period, F tick) {
    thread_ = std::thread{[this, period, tick] {
      std::unique_lock lock{sleep_};
      while (!stopping_) {
        wake_.wait_for(lock, std::chrono::nanoseconds{period.ns});
        if (stopping_) return;
        lock.unlock();
        tick();
        lock.lock();
      }
    }};
  }

  void stop() noexcept {
    if (!thread_.joinable()) return;
    {
      std::scoped_lock const lock{sleep_};
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  ServiceNode* first_ = nullptr;
  std::mutex sleep_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

/// In the place of Service where no end needs to be stepped: connections without a backup.
struct NoService {
  void run(Time) noexcept {}
  void stop() noexcept {}
};

}  // namespace vccl::detail
