// SPDX-License-Identifier: Apache-2.0
// What is alive, what was done wrong, what devices have to tell.
#include <support/emulated_verbs/machine.hpp>
#include <vccl/transport/soft/engine.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vccl::test::emulated {

bool Machine::use(Object& o, Verb verb, bool destroys) {
  if (!o.alive) {
    violation(std::string{name_of(verb)} + " of a " + o.kind + " that was destroyed");
    return false;
  }
  if (!destroys) return true;
  if (o.users != 0) {
    violation(std::string{name_of(verb)} + " of a " + o.kind + " that " + std::to_string(o.users) +
              " objects need");
    return false;
  }
  return true;
}

void Machine::violation(std::string what) {
  if (violations_.size() < 20 &&
      std::find(violations_.begin(), violations_.end(), what) == violations_.end()) {
    violations_.push_back(std::move(what));
  }
}

int Machine::number(int error) {
  if (error == 0 || !habits.minus_one) return error;
  errno = error;
  return -1;
}

Fate Machine::begin(Verb verb, std::uint32_t host, std::string_view device, int chain) {
  soft::catch_up(core_);
  pump();
  return script_.on_call(verb, host, device, chain);
}

void Machine::pump() {
  for (std::uint32_t h = 0; h < core_.hosts.size(); ++h) {
    for (auto& events = core_.hosts[h].events; !events.empty();) {
      PortEvent const e = events.front();
      events.pop_front();
      deliver(h, e);
    }
  }
  for (auto& c : contexts_) {
    if (c->alive && core_.hosts[c->card->host].incarnation != c->incarnation) die(*c);
  }
}

void Machine::deliver(std::uint32_t host, PortEvent const& e) {
  std::uint32_t const port = core_.port(host, static_cast<std::size_t>(e.port)).index;
  Device& d = device_of(port);
  for (auto& c : contexts_) {
    if (!c->alive || c->dead || c->card != &d) continue;
    Context::Event event;
    event.what.element.port_num = static_cast<int>(port - d.first_port) + 1;
    switch (e.kind) {
      case PortEvent::Kind::port_error:
        event.what.event_type = IBV_EVENT_PORT_ERR;
        break;
      case PortEvent::Kind::port_active:
        event.what.event_type = IBV_EVENT_PORT_ACTIVE;
        break;
      case PortEvent::Kind::address_change:
        event.what.event_type =
            looks_[port].infiniband ? IBV_EVENT_LID_CHANGE : IBV_EVENT_GID_CHANGE;
        break;
      case PortEvent::Kind::device_fatal:
        event.what.event_type = IBV_EVENT_DEVICE_FATAL;
        die(*c);
        break;
      case PortEvent::Kind::qp_fatal:
        for (auto& p : pairs_) {
          if (!p->alive || p->gone || p->context != c.get() || p->qp_num != e.qp_num) continue;
          event.what.event_type = habits.qp_event;
          event.what.element.qp = p.get();
          event.about = p.get();
          c->events.push_back(event);
        }
        continue;
      case PortEvent::Kind::cq_error:
        for (auto& q : queues_) {
          if (!q->alive || q->context != c.get() || q->told || !core_.lanes[q->lane].overrun)
            continue;
          q->told = true;
          event.what.event_type = IBV_EVENT_CQ_ERR;
          event.what.element.cq = q.get();
          event.about = q.get();
          c->events.push_back(event);
        }
        continue;
    }
    c->events.push_back(event);
  }
}

/// The device is gone, and what this context had on it; the software NIC has taken its QPs already.
void Machine::die(Context& c) {
  c.dead = true;
  for (auto& p : pairs_) {
    if (p->context == &c) p->gone = true;
  }
  for (auto& b : blocks_) {
    if (b->alive && b->context == &c) core_.regions.remove(b->keys);
  }
}

/// What is still to be told about an object that goes. libibverbs waits until all that was got is
/// acknowledged, for ever.
void Machine::forget(Object& o) {
  if (o.unacked != 0)
    violation(std::string{"a "} + o.kind + " is destroyed before its event is acknowledged");
  for (auto& c : contexts_)
    std::erase_if(c->events, [&o](Context::Event const& e) { return e.about == &o; });
}

int Machine::unblock_events(ibv_context* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  Fate const fate = begin(Verb::unblock_events, c.card->host, c.device->name);
  if (!use(c, Verb::unblock_events, false)) errno = EBADF;
  if (fate.error != 0) errno = fate.error;
  if (fate.error != 0 || !c.alive) return -1;
  c.non_blocking = true;
  return 0;
}

int Machine::get_async_event(ibv_context* of, ibv_async_event* into) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  Fate const fate = begin(Verb::get_async_event, c.card->host, c.device->name);
  int error = fate.error;
  if (!use(c, Verb::get_async_event, false)) error = EBADF;
  if (error == 0 && c.events.empty()) {
    if (!c.non_blocking) violation("get_async_event would block for ever");
    if (c.dead) ++asked_after_death_;
    error = c.dead ? EIO : EAGAIN;
  }
  if (error != 0) {
    errno = error;
    return -1;
  }
  Context::Event const e = c.events.front();
  c.events.pop_front();
  *into = e.what;
  ++(e.about == nullptr ? port_events_unacked_ : e.about->unacked);
  return 0;
}

void Machine::ack_async_event(ibv_async_event* e) {
  std::scoped_lock const lock{core_.mutex};
  std::uint32_t* unacked = &port_events_unacked_;
  switch (e->event_type) {
    case IBV_EVENT_CQ_ERR:
      unacked = &static_cast<Queue*>(e->element.cq)->unacked;
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      unacked = &static_cast<Pair*>(e->element.qp)->unacked;
      break;
    default:
      break;
  }
  if (*unacked == 0) return violation("an event is acknowledged that was not got");
  --*unacked;
}

void Machine::raise(std::size_t host, std::size_t port, ibv_event_type type) {
  std::scoped_lock const lock{core_.mutex};
  pump();
  std::uint32_t const at = core_.port(host, port).index;
  Device& d = device_of(at);
  for (auto& c : contexts_) {
    if (!c->alive || c->dead || c->card != &d) continue;
    Context::Event event;
    event.what.event_type = type;
    event.what.element.port_num = static_cast<int>(at - d.first_port) + 1;
    if (type == IBV_EVENT_CQ_ERR) {
      for (auto& q : queues_) {
        if (!q->alive || q->context != c.get() || core_.lanes[q->lane].port != at) continue;
        event.what.element.cq = q.get();
        event.about = q.get();
        c->events.push_back(event);
      }
    } else if (type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
               type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_COMM_EST ||
               type == IBV_EVENT_SQ_DRAINED || type == IBV_EVENT_PATH_MIG ||
               type == IBV_EVENT_PATH_MIG_ERR || type == IBV_EVENT_QP_LAST_WQE_REACHED) {
      for (auto& p : pairs_) {
        soft::QueuePair* const qp = inside(*p);
        if (!p->alive || p->context != c.get() || qp == nullptr || qp->port != at) continue;
        event.what.element.qp = p.get();
        event.about = p.get();
        c->events.push_back(event);
      }
    } else {
      if (type == IBV_EVENT_DEVICE_FATAL) die(*c);
      c->events.push_back(event);
    }
  }
}

std::string Machine::leaks() {
  std::scoped_lock const lock{core_.mutex};
  std::string all;
  each_kind([&all](auto const& objects) {
    auto const alive =
        std::count_if(objects.begin(), objects.end(), [](auto const& o) { return o->alive; });
    if (alive != 0) all += std::to_string(alive) + " of kind " + objects.front()->kind + '\n';
  });
  return all;
}

std::string Machine::violations() {
  std::scoped_lock const lock{core_.mutex};
  std::string all;
  for (std::string const& v : violations_) all += v + '\n';
  return all;
}

std::vector<Modified> Machine::modified() {
  std::scoped_lock const lock{core_.mutex};
  return modified_;
}

std::size_t Machine::made(std::string_view kind) {
  std::scoped_lock const lock{core_.mutex};
  std::size_t n = 0;
  each_kind([&](auto const& objects) {
    if (!objects.empty() && objects.front()->kind == kind) n += objects.size();
  });
  return n;
}

std::size_t Machine::late_transitions() {
  std::scoped_lock const lock{core_.mutex};
  return late_transitions_;
}

std::uint64_t Machine::sends_taken() {
  std::scoped_lock const lock{core_.mutex};
  return sends_taken_;
}

std::uint64_t Machine::no_room() {
  std::scoped_lock const lock{core_.mutex};
  return no_room_;
}

std::uint64_t Machine::asked_after_death() {
  std::scoped_lock const lock{core_.mutex};
  return asked_after_death_;
}

CallScript Machine::calls() {
  std::scoped_lock const lock{core_.mutex};
  return script_;
}

void Machine::clear_refusals() {
  std::scoped_lock const lock{core_.mutex};
  script_.clear();
}

void Machine::refuse(Refusal const& r) {
  std::scoped_lock const lock{core_.mutex};
  script_.refuse(r);
}

}  // namespace vccl::test::emulated
