// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Ends of a given Connection type. Included by the files that make one, and no test.

#include <support/ends.hpp>
#include <vccl/connection.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace vccl::test {

template <class Link>
class LinkEnds final : public Ends {
 public:
  using Context = typename Link::Context;

  LinkEnds(Host& sender, Host& receiver)
      : a_{std::make_shared<Context>(sender)}, b_{std::make_shared<Context>(receiver)} {}
  LinkEnds(std::shared_ptr<Context> a, std::shared_ptr<Context> b) : a_{a}, b_{b} {}
  LinkEnds(LinkEnds const&) = delete;
  LinkEnds& operator=(LinkEnds const&) = delete;
  ~LinkEnds() override = default;

  std::unique_ptr<Ends> another(bool reversed) override {
    return reversed ? std::make_unique<LinkEnds>(b_, a_) : std::make_unique<LinkEnds>(a_, b_);
  }
  void listen(Route const& route) override { listener_.emplace(*b_, route); }
  void stop_listening() override { listener_.reset(); }
  Handle handle() const override { return listener_->handle(); }
  std::uint64_t refused() const override { return listener_->refused(); }
  void accept() override { receiver_.reset(new auto(listener_->accept())); }
  void connect(Route const& route, Handle const& handle) override {
    sender_.reset(new auto(a_->connect(route, handle)));
  }
  void destroy(End end) override {
    if (end == End::sender) {
      sender_.reset();
    } else {
      receiver_.reset();
    }
  }

  bool ready(End end) override {
    return with(end, [](auto& e) { return e.ready(); });
  }
  Request isend(Memory const& from, Tag tag) override { return sender_->isend(from, tag); }
  Request irecv(std::span<RecvOp const> ops) override { return receiver_->irecv(ops); }
  Result test(End end, Request r) override {
    return with(end, [&](auto& e) { return e.test(r); });
  }
  ConnectionStatus status(End end) override {
    return with(end, [](auto& e) { return e.status(); });
  }
  void close(End end) override {
    with(end, [](auto& e) { e.close(); });
  }
  void abort(End end) override {
    with(end, [](auto& e) { e.abort(); });
  }
  bool closed(End end) override {
    return with(end, [](auto& e) { return e.closed(); });
  }
  Memory register_memory(End end, void* p, std::size_t n, MemoryKind kind) override {
    return with(end, [&](auto& e) {
      return registered_.emplace_back(e.register_memory(p, n, kind)).whole();
    });
  }
  void release_memory() override { registered_.clear(); }
  void service(End end) override { (end == End::sender ? *a_ : *b_).service(); }
  std::vector<Event> events(End end) override {
    return with(end, [](auto& e) {
      std::vector<Event> all;
      e.telemetry([&](auto const& t) {
        if constexpr (requires { t.size(); }) {
          for (std::size_t i = 0; i < t.size(); ++i) all.push_back(t[i]);
        }
      });
      return all;
    });
  }

 private:
  template <class F>
  auto with(End end, F f) {
    return end == End::sender ? f(*sender_) : f(*receiver_);
  }

  std::shared_ptr<Context> a_, b_;
  std::optional<typename Link::Listener> listener_;
  std::unique_ptr<typename Link::Receiver> receiver_;
  std::unique_ptr<typename Link::Sender> sender_;
  std::deque<typename Link::Sender::Registered> registered_;
};

}  // namespace vccl::test
