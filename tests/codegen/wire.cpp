// SPDX-License-Identifier: Apache-2.0
#include <codegen/wire.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace vccl::wire {

namespace {

[[nodiscard]] void* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);
}

}  // namespace

// ---- Set-up messages
// ---------------------------------------------------------------------------------------------

std::uint32_t Network::new_pipe() {
  inboxes_.resize(inboxes_.size() + 2);
  return static_cast<std::uint32_t>(inboxes_.size() - 2);
}

/// The block registered last that holds all of a place.
Network::Region Network::region_of(std::uint64_t address, std::uint64_t length) const noexcept {
  auto const in = std::find_if(regions_.rbegin(), regions_.rend(), [&](Region const& r) {
    return address >= r.address && address + length <= r.address + r.length;
  });
  return in != regions_.rend() ? *in : Region{};
}

void Network::note(WorkRequest const& w) {
  Region const from = region_of(w.local, w.length);
  Region const to = region_of(w.remote, w.length);
  auto const* const bytes = static_cast<const std::byte*>(pointer(w.local));
  journal->push_back(
      {.kind = w.kind,
       .traffic = w.traffic,
       .qp = w.qp,
       .signaled = w.signaled,
       .inlined = w.inlined,
       .immediate = w.kind == WorkRequest::Kind::write_with_immediate ? w.immediate : 0,
       .offset = w.length == 0 ? 0 : w.remote - to.address,
       .keys_fit = w.length == 0 || (w.keys.local == Registration{from.address}.keys().local &&
                                     w.keys.remote == Registration{to.address}.keys().remote),
       .bytes = std::vector<std::byte>(bytes, bytes + w.length)});
}

Errc Pipe::send(std::span<std::byte const> message) noexcept {
  if (network_ == nullptr) return Errc::path_down;
  network_->inboxes_[end_ ^ 1].emplace_back(message.begin(), message.end());
  return Errc::ok;
}

std::size_t Pipe::receive(std::span<std::byte> into) noexcept {
  if (network_ == nullptr || network_->inboxes_[end_].empty()) return 0;
  std::vector<std::byte> const message = std::move(network_->inboxes_[end_].front());
  network_->inboxes_[end_].pop_front();
  std::size_t const n = std::min(message.size(), into.size());
  std::copy_n(message.begin(), n, into.begin());
  return n;
}

bool Door::accept(Pipe& into) noexcept {
  auto& waiting = network_->doors_[door_];
  if (waiting.empty()) return false;
  into = Pipe{*network_, waiting.front()};
  waiting.pop_front();
  return true;
}

// ---- Host
// ---------------------------------------------------------------------------------------------

Time Host::now() const noexcept { return {1'000'000'000}; }
bool Host::real_time() const noexcept { return false; }

Door Host::listen() {
  network_->doors_.emplace_back();
  return {*network_, static_cast<std::uint32_t>(network_->doors_.size() - 1)};
}

Pipe Host::dial(Address const& address) {
  std::uint32_t const end = network_->new_pipe();
  network_->doors_.at(address.door).push_back(end + 1);
  return {*network_, end};
}

std::size_t Host::port_count() noexcept { return 2; }
PortState Host::port_state(PortId) noexcept {
  return {.active = true, .card = 0, .speed_mbps = 100'000};
}
bool Host::poll_event(PortEvent&) noexcept { return false; }
std::uint64_t Host::random() noexcept { return random_ = random_ * 6364136223846793005u + 1; }

// ---- Lane
// ---------------------------------------------------------------------------------------------

Keys Registration::keys() const noexcept {
  auto const key = static_cast<std::uint32_t>(address_ >> 4);
  return {key, ~key};
}

Lane::Lane(Host& host, LaneConfig const& config)
    : network_{host.network_},
      number_{static_cast<std::uint32_t>(host.network_->lanes_.size())},
      qps_{config.qps} {
  network_->lanes_.push_back(this);
}
Lane::~Lane() { network_->lanes_[number_] = nullptr; }

bool Lane::has_room() const noexcept { return tail_ - head_ < cq_depth; }
void Lane::complete(Completion const& c) noexcept { completions_[tail_++ % cq_depth] = c; }

Errc Lane::post(WorkRequest const& w) noexcept {
  Lane* const peer = peer_ == nobody ? nullptr : network_->lanes_[peer_];
  if (peer == nullptr) return Errc::path_down;
  if (!has_room() || !peer->has_room()) return Errc::would_block;
  bool const notifies = w.kind == WorkRequest::Kind::write_with_immediate;
  Queue& q = peer->queues_[w.qp];
  if (notifies && q.head == q.tail) return Errc::would_block;
  if (network_->journal != nullptr) network_->note(w);
  if (w.length != 0) std::memcpy(pointer(w.remote), pointer(w.local), w.length);
  if (notifies) {
    peer->complete({.id = q.receives[q.head++ % receive_depth],
                    .kind = Completion::Kind::received_with_immediate,
                    .immediate = w.immediate,
                    .bytes = static_cast<std::uint32_t>(w.length)});
  }
  if (w.signaled) complete({.id = w.id});
  return Errc::ok;
}

Errc Lane::post_receive(std::uint8_t qp, std::uint64_t id) noexcept {
  Queue& q = queues_[qp];
  if (q.tail - q.head == receive_depth) return Errc::would_block;
  q.receives[q.tail++ % receive_depth] = id;
  return Errc::ok;
}

Errc Lane::post_flush_read(Memory const&, Keys, std::uint64_t id) noexcept {
  if (!has_room()) return Errc::would_block;
  complete({.id = id});
  return Errc::ok;
}

Errc Lane::flush() noexcept { return Errc::ok; }

std::size_t Lane::poll(std::span<Completion> out) noexcept {
  std::size_t n = 0;
  while (n < out.size() && head_ != tail_) out[n++] = completions_[head_++ % cq_depth];
  return n;
}

Errc Lane::fence(FenceStep step) noexcept {
  peer_ = nobody;
  if (step == FenceStep::reset) {
    head_ = tail_;
    queues_ = {};
  }
  return Errc::ok;
}

Errc Lane::describe(LaneAddress& mine) noexcept {
  mine = {};
  mine.qp_numbers[0] = number_;
  mine.qps = qps_;
  mine.speed_mbps = 100'000;
  mine.max_message = max_message();
  return Errc::ok;
}

Errc Lane::connect(LaneAddress const& theirs) noexcept {
  peer_ = theirs.qp_numbers[0];
  return Errc::ok;
}

std::uint64_t Lane::max_message() noexcept { return std::uint64_t{1} << 30; }

Registration Lane::register_memory(Host& host, PortId, void* p, std::size_t n, Access, MemoryKind) {
  auto const address = reinterpret_cast<std::uint64_t>(p);
  host.network_->regions_.push_back({address, n});
  return Registration{address};
}

}  // namespace vccl::wire
