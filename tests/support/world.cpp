// SPDX-License-Identifier: Apache-2.0
#include <support/world.hpp>

#include <vccl/transport/soft/fabric.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace vccl::test {

World::World(Start const& start) {
  switches = {};
  soft::FabricConfig config = start.fabric;
  config.virtual_time = start.virtual_time;
  fabric_ = std::make_shared<soft::Fabric>(config);
  for (std::size_t h = 0; h < 2; ++h) hosts[h] = std::make_shared<Host>(fabric_->host(h));
  ends = start.link(*hosts[0], *hosts[1]);
  begin(start);
}

World::World(World& other, Start const& start)
    : fabric_{other.fabric_}, hosts{other.hosts}, ends{other.ends->another(start.reversed)} {
  begin(start);
}

void World::begin(Start const& start) {
  ends->listen(start.receiver);
  if (!start.connect) return;
  ends->accept();
  ends->connect(start.sender, ends->handle());
}

World::~World() {
  if (!fabric_->config().virtual_time) return;  // The service threads may be looking at them.
  for (auto& host : hosts) {
    if (host.use_count() == 1) host->hooks = {};  // What they refer to may be gone already.
  }
}

Time World::now() const { return fabric_->now(); }

void World::pass(Time until) {
  Time const t = now();
  if (next_service_ < t) next_service_ = t;
  Time const next = std::min({fabric_->next_event(), next_service_, until});
  fabric_->advance(next > t ? next - t : Duration{});
  if (now() < next_service_) return;
  if (!is_paused(End::sender)) ends->service(End::sender);
  if (!is_paused(End::receiver)) ends->service(End::receiver);
  next_service_ = now() + service_period;
}

void World::idle(Duration d) {
  for (Time const end = now() + d; now() < end;) pass(end);
}

bool World::settle(Duration limit) {
  Time const end = now() + limit;
  for (;;) {
    bool const sender = ends->ready(End::sender);
    if (ends->ready(End::receiver) && sender) return true;
    if (now() >= end) return false;
    pass(end);
  }
}

void World::load(Load const& load) {
  load_ = load;
  loaded_ = now();
  stopped_ = false;
  base_ = steps_.size();
  next_receive_ = next_send_ = oldest_receive_ = oldest_send_ = base_;
  next_piece_ = 0;
  std::size_t longest_source = 1;
  std::size_t longest_target = 1;
  for (auto const& pieces : load.steps) {
    steps_.emplace_back().pieces = pieces;
    longest_source = std::max(longest_source, offset_of(pieces, pieces.size(), true));
    longest_target = std::max(longest_target, offset_of(pieces, pieces.size(), false));
  }
  for (Slot& s : targets_) check_consumed(s);
  ends->release_memory();
  std::size_t const ahead = load.ahead == 0 ? load.depth : load.ahead;
  sources_ = std::vector<Slot>(std::min(ahead, load.steps.size()));
  targets_ = std::vector<Slot>(std::min(load.depth, load.steps.size()));
  for (Slot& s : sources_) {
    s.words.resize(longest_source);
    s.memory =
        ends->register_memory(End::sender, s.words.data(), longest_source * 8, MemoryKind::host);
  }
  for (Slot& s : targets_) {
    s.words.resize(longest_target);
    s.memory = ends->register_memory(End::receiver, s.words.data(), longest_target * 8, load.kind);
  }
}

bool World::finished(End end) const {
  if (end == End::receiver)
    return oldest_receive_ == next_receive_ && (stopped_ || next_receive_ == steps_.size());
  if (oldest_send_ != next_send_ || next_piece_ != 0) return false;
  return stopped_ || next_send_ == steps_.size();
}

bool World::run(Duration limit) {
  for (Time const end = now() + limit; !finished();) {
    if (round()) continue;
    if (now() >= end) {
      problem(oldest_receive_, "hangs: it is not received");
      if (oldest_send_ != oldest_receive_) problem(oldest_send_, "hangs: it is not sent");
      return false;
    }
    pass(end);
  }
  return true;
}

void World::wind_up() {
  steps_.resize(std::max(next_receive_, next_send_ + (next_piece_ != 0 ? 1 : 0)));
}

bool run_all(std::span<World* const> worlds, Duration limit) {
  return until_all(
      worlds,
      [&] {
        return std::all_of(worlds.begin(), worlds.end(), [](World* w) { return w->finished(); });
      },
      limit);
}

bool World::run_until(std::size_t steps, Duration limit) {
  return until([&] { return oldest_receive_ >= base_ + steps; }, limit);
}

Result World::wait(End end, Request r, Duration limit) {
  Result result;
  until(
      [&] {
        result = ends->test(end, r);
        return result.done;
      },
      limit);
  return result;
}

bool World::present(End end) const {
  if (is_paused(end)) return false;
  for (Absence const& a : load_.absences) {
    if (a.end == end && now() >= loaded_ + a.from && now() < loaded_ + a.until) return false;
  }
  return true;
}

bool World::round() {
  bool moved = false;
  bool const sender_here = present(End::sender);
  bool const receiver_here = present(End::receiver);
  if (now() >= next_post_) {
    moved = receiver_here && post_receive();
    moved = (sender_here && post_sends()) || moved;
    if (moved) next_post_ = now() + load_.pause;
  }
  moved = (sender_here && poll_sends()) || moved;
  return (receiver_here && poll_receives()) || moved;
}

bool World::post_receive() {
  if (stopped_ || next_receive_ == steps_.size()) return false;
  std::size_t const n = next_receive_;
  if (n - oldest_receive_ >= targets_.size()) return false;
  Slot& s = target(n);
  check_consumed(s);
  StepRecord& step = steps_[n];
  std::array<RecvOp, max_receives> ops;
  for (std::size_t r = 0; r < step.pieces.size(); ++r) {
    std::size_t const at = offset_of(step.pieces, r, false);
    fill(s.words, at, step.pieces[r].receive, Owner::fresh, n, r);
    Memory m = s.memory;
    m.address += at * 8;
    m.length = step.pieces[r].receive;
    ops[r] = {m, Tag{static_cast<std::uint32_t>(r)}};
  }
  step.request = ends->irecv({ops.data(), step.pieces.size()});
  if (!step.request) {
    if (step.request.why != Errc::would_block) stopped_ = true;
    return false;
  }
  step.posted = true;
  ++next_receive_;
  return true;
}

bool World::post_sends() {
  if (stopped_ && next_piece_ != 0) {  // A step is whole or not there.
    next_piece_ = 0;
    ++next_send_;
  }
  if (stopped_ || next_send_ == steps_.size()) return false;
  std::size_t const n = next_send_;
  if (n - base_ >= sends_at_most) return false;
  if (n - oldest_send_ >= sources_.size()) return false;
  StepRecord& step = steps_[n];
  std::size_t const r = next_piece_;
  Slot& s = source(n);
  std::size_t const at = offset_of(step.pieces, r, true);
  fill(s.words, at, step.pieces[r].send, Owner::sent, n, r);
  Memory m = s.memory;
  m.address += at * 8;
  m.length = step.pieces[r].send;
  Request const q = ends->isend(m, Tag{static_cast<std::uint32_t>(r)});
  if (!q) {
    if (q.why != Errc::would_block) stopped_ = true;
    return false;
  }
  step.sends[r].request = q;
  step.sends[r].posted = true;
  if (++next_piece_ == step.pieces.size()) {
    next_piece_ = 0;
    ++next_send_;
  }
  return true;
}

/// Newest first: an older one that is done later was overtaken.
bool World::poll_receives() {
  bool moved = false;
  bool newer_done = false;
  for (std::size_t n = next_receive_; n-- > oldest_receive_;) {
    StepRecord& step = steps_[n];
    if (!step.result.done) {
      step.result = ends->test(End::receiver, step.request);
      if (step.result.done) {
        check_received(n);
        moved = true;
      } else if (newer_done) {
        problem(n, "was overtaken");
      }
    }
    newer_done = step.result.done;
  }
  while (oldest_receive_ < next_receive_ && steps_[oldest_receive_].result.done) ++oldest_receive_;
  return moved;
}

bool World::poll_sends() {
  bool moved = false;
  std::size_t const end = next_send_ + (next_piece_ != 0 ? 1 : 0);
  for (std::size_t n = oldest_send_; n < end; ++n) {
    StepRecord& step = steps_[n];
    for (std::size_t r = 0; r < step.pieces.size(); ++r) {
      Send& q = step.sends[r];
      if (!q.posted || q.result.done) continue;
      q.result = ends->test(End::sender, q.request);
      if (!q.result.done) continue;
      moved = true;
      if (q.result.error == Errc::ok) ++sent_;
      if (q.result.error != Errc::ok && q.result.error != Errc::message_too_long) stopped_ = true;
      if (q.result.error == Errc::ok && q.result.sizes[0] != step.pieces[r].send)
        problem(n, "tells a wrong size of its send");
      if (!sender().buffers_unsafe)
        fill(source(n).words, offset_of(step.pieces, r, true), step.pieces[r].send, Owner::garbage,
             n, r);
    }
  }
  auto const done = [this](StepRecord const& step) {
    for (std::size_t r = 0; r < step.pieces.size(); ++r) {
      bool const waits = step.sends[r].posted ? !step.sends[r].result.done : !stopped_;
      if (waits) return false;
    }
    return true;
  };
  while (oldest_send_ < next_send_ && done(steps_[oldest_send_])) ++oldest_send_;
  return moved;
}

void World::check_received(std::size_t n) {
  StepRecord& step = steps_[n];
  Result const& got = step.result;
  Slot& s = target(n);
  bool any_long = false;
  for (Piece const& p : step.pieces) any_long = any_long || p.send > p.receive;
  s.consumed = n;
  if (got.error != Errc::ok && got.error != Errc::message_too_long) {
    stopped_ = true;
    for (std::size_t r = 0; r < step.pieces.size(); ++r)
      fill(s.words, offset_of(step.pieces, r, false), step.pieces[r].receive, Owner::consumed, n,
           r);
    if (receiver().buffers_unsafe) s.consumed = none;
    return;
  }
  if (got.error != (any_long ? Errc::message_too_long : Errc::ok)) problem(n, text(got.error));
  if (got.receives != step.pieces.size()) problem(n, "has a wrong number of receives");
  for (std::size_t r = 0; r < step.pieces.size(); ++r) {
    Piece const& p = step.pieces[r];
    bool const fits = p.send <= p.receive;
    std::size_t const at = offset_of(step.pieces, r, false);
    std::uint64_t const here = fits ? p.send : 0;
    if (got.sizes[r] != p.send) problem(n, "has a wrong size");
    if (wrong(s.words, at, 0, here, Owner::sent, n, r) != 0) problem(n, "has wrong bytes");
    if (wrong(s.words, at, here, p.receive, Owner::fresh, n, r) != 0)
      problem(n, "was written beyond its size");
    fill(s.words, at, p.receive, Owner::consumed, n, r);
  }
  if (got.error == Errc::ok) ++received_;
}

/// Nothing may have changed what the consumer has.
void World::check_consumed(Slot& s) {
  if (s.consumed == none) return;
  auto const& pieces = steps_[s.consumed].pieces;
  for (std::size_t r = 0; r < pieces.size(); ++r) {
    if (wrong(s.words, offset_of(pieces, r, false), 0, pieces[r].receive, Owner::consumed,
              s.consumed, r) != 0) {
      problem(s.consumed, "was written after it was done");
    }
  }
  s.consumed = none;
}

std::string World::problems() {
  for (Slot& s : targets_) {
    std::size_t const keep = s.consumed;
    check_consumed(s);
    s.consumed = keep;
  }
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    StepRecord const& step = steps_[n];
    for (std::size_t r = 0; r < step.pieces.size(); ++r) {
      Result const& sent = step.sends[r].result;
      bool const has =
          step.posted && step.result.done &&
          (step.result.error == Errc::ok || (step.result.error == Errc::message_too_long &&
                                             step.pieces[r].send <= step.pieces[r].receive));
      if (!sent.done) continue;
      if (sent.error == Errc::ok && !has && step.result.done)
        problem(n, "was sent and is not received");
      if (sent.error == Errc::ok && !step.posted) problem(n, "was sent to nobody");
      if (sent.error == Errc::ok && sent.delivered != Delivered::yes)
        problem(n, "was sent, and says that it is not known to be delivered");
      if (sent.error != Errc::ok && sent.delivered == Delivered::no && has)
        problem(n, "is received, and the sender says no");
      if (sent.error != Errc::ok && sent.delivered == Delivered::yes && !has)
        problem(n, "is not received, and the sender says yes");
    }
  }
  std::string all;
  for (std::string const& p : problems_) all += p + '\n';
  return all;
}

void World::problem(std::size_t step, std::string_view what) {
  std::string line{"step "};
  line.append(std::to_string(step)).append(": ").append(what);
  bool const known = std::find(problems_.begin(), problems_.end(), line) != problems_.end();
  if (problems_.size() < 20 && !known) problems_.push_back(std::move(line));
}

Result const& World::send_result(std::size_t n, std::size_t r) const {
  return steps_.at(base_ + n).sends.at(r).result;
}
Result const& World::receive_result(std::size_t n) const { return steps_.at(base_ + n).result; }

std::vector<Errc> World::errors(End end) const {
  std::vector<Errc> all;
  auto const note = [&all](Result const& r) {
    if (r.done && r.error != Errc::ok && std::find(all.begin(), all.end(), r.error) == all.end())
      all.push_back(r.error);
  };
  for (StepRecord const& step : steps_) {
    if (end == End::receiver) {
      note(step.result);
    } else {
      for (Send const& q : step.sends) note(q.result);
    }
  }
  return all;
}

void World::inject(std::string_view script) { fabric_->inject(script); }
std::uint64_t World::fired(soft::Action a) { return fabric_->fired(a); }
std::uint64_t World::posts_not_rts() { return fabric_->posts_not_rts(); }
std::size_t World::queue_pairs() { return fabric_->census().queue_pairs; }
std::size_t World::registrations() { return fabric_->census().registrations; }
std::uint64_t World::messages_by_qp(std::uint32_t number) {
  return fabric_->messages_by_qp(number);
}
std::uint64_t World::data_bytes(std::size_t host, std::size_t port) {
  return fabric_->link(host, port).stats().data_bytes;
}
std::size_t World::held_writes(std::size_t host, std::size_t port) {
  return fabric_->link(host, port).held_writes();
}

}  // namespace vccl::test
