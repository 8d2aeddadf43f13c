// SPDX-License-Identifier: Apache-2.0
#include <vccl/vccl.hpp>

#include "machine.hpp"
#include "options.hpp"
#include "stream.hpp"
#include <algorithm>
#include <string_view>
#include <vector>

namespace vccl::bench {
namespace {

constexpr std::size_t endless = ~std::size_t{0};

std::string_view name_of(Event::Kind k) {
  switch (k) {
    case Event::Kind::ready:
      return "ready";
    case Event::Kind::path_lost:
      return "path_lost";
    case Event::Kind::fenced:
      return "fenced";
    case Event::Kind::switched:
      return "switched";
    case Event::Kind::rearmed:
      return "rearmed";
    case Event::Kind::probe_failed:
      return "probe_failed";
    case Event::Kind::returned:
      return "returned";
    case Event::Kind::aborted:
      return "aborted";
    case Event::Kind::closed:
      return "closed";
  }
  return "unknown";
}

double milliseconds(Duration d) { return static_cast<double>(d.ns) / 1e6; }

/// What the journal holds: each event with its time on this host's clock.
template <class EndOfLink>
void tell_events(EndOfLink& end) {
  end.telemetry([](auto const& log) {
    for (std::size_t i = 0; i < log.size(); ++i) {
      Event const& e = log[i];
      fmt::print(R"({{"what": "event", "kind": "{}", "path": {}, "cause": "{}", "at_ms": {}}})"
                 "\n",
                 name_of(e.kind), e.path, text(e.cause), static_cast<double>(e.at.ns) / 1e6);
    }
  });
}

/// The stream over both ports, and one that has nothing but the backup.
template <class Link>
struct Links {
  explicit Links(Machine& m) : both{m.host}, alone{m.host} { primary.backups[0] = PortId{1}; }
  typename Link::Context both;
  WithoutBackup::Context alone;
  Route primary{PortId{0}}, backup{PortId{1}};
};

template <class Link>
void receive(Options const& o, Machine& m) {
  Links<Link> links{m};
  auto listener = links.both.listen(links.primary);
  auto other = links.alone.listen(links.backup);
  m.put_handle("handle", listener.handle());
  m.put_handle("handle.alone", other.handle());
  auto receiver = listener.accept();
  auto alone = other.accept();
  until_ready(m, receiver, alone);
  Stream stream{receiver, o.bytes};
  Stream beside{alone, o.bytes};
  Time last = m.host.now();
  unsigned path = 0;
  m.meet();
  for (bool open = true; open;) {
    m.check_time("receiving");
    stream.post(o.bytes, o.window, endless);
    beside.post(o.bytes, o.window, endless);
    bool busy = beside.take();
    try {
      if (stream.take()) {
        busy = true;
        Time const now = m.host.now();
        if (double const gap = milliseconds(now - last); gap > 20) {
          unsigned const is_on = receiver.status().active_path;
          if (is_on != path) {
            fmt::print(R"({{"what": "gap", "ms": {}, "from": {}, "to": {}}})"
                       "\n",
                       gap, path, is_on);
          }
          path = is_on;
        }
        last = now;
      }
    } catch (std::exception const&) {
      open = false;  // The sender has closed; what else it may be, the status tells.
    }
    if (!busy) rest(o);
  }
  ConnectionStatus const s = receiver.status();
  tell_events(receiver);
  fmt::print(R"({{"what": "end", "cause": "{}", "failovers": {}, "failbacks": {}}})"
             "\n",
             text(s.cause), s.counters.failovers, s.counters.failbacks);
}

template <class Link>
class Source {
 public:
  Source(Options const& o, Machine& m)
      : options_{o},
        machine_{m},
        links_{m},
        sender_{links_.both.connect(links_.primary, m.get_handle("handle"))},
        alone_{links_.alone.connect(links_.backup, m.get_handle("handle.alone"))},
        stream_{sender_, o.bytes},
        beside_{alone_, o.bytes} {}

  void run() {
    until_ready(machine_, sender_, alone_);
    machine_.meet();
    stream_.begin();
    flow(slice, stream_);
    tell("flowing");
    flow_until("failover", [](auto const& s) { return s.active_path != 0; });
    flow(slice, stream_);
    tell("switched");
    compare();
    tell("compared");
    flow_until("failback", [](auto const& s) { return s.active_path == 0; });
    flow(slice, stream_);
    tell("returned");
    sender_.close();
    tell_events(sender_);
  }

 private:
  /// Messages. Short: a connection whose turn it is not should not look stalled.
  static constexpr std::size_t slice = 16;
  static constexpr std::size_t slices = 24;  ///< Of each connection, in turn.

  void tell(const char* what) {
    ConnectionStatus const s = sender_.status();
    fmt::print(
        R"({{"what": "{}", "failovers": {}, "failbacks": {}, "resent_bytes": {}, "at_ms": {}}})"
        "\n",
        what, s.counters.failovers, s.counters.failbacks, s.counters.resent_bytes,
        static_cast<double>(machine_.host.now().ns) / 1e6);
  }

  /// So many messages over one of the two; bytes a second.
  template <class S>
  double flow(std::size_t messages, S& stream) {
    stream.finish(options_);
    stream.begin();
    Time const begun = machine_.host.now();
    while (stream.done() < messages) {
      stream.post(options_.bytes, options_.window, messages);
      if (stream.take()) continue;
      machine_.check_time("sending");
      rest(options_);
    }
    return static_cast<double>(messages * options_.bytes) /
           seconds_between(begun, machine_.host.now());
  }

  /// An endless stream until the connection says so.
  template <class Condition>
  void flow_until(const char* what, Condition condition) {
    stream_.begin();
    Time asked = machine_.host.now();
    for (;;) {
      stream_.post(options_.bytes, options_.window, endless);
      bool const took = stream_.take();
      if (Time const now = machine_.host.now(); now - asked > Duration{5'000'000}) {
        asked = now;
        machine_.check_time(what);
        if (condition(sender_.status())) break;
      }
      if (!took) rest(options_);
    }
    stream_.finish(options_);
  }

  /// The bandwidth on the backup, and that of what has only the backup, in turn.
  void compare() {
    std::vector<double> mine, alone;
    for (std::size_t i = 0; i < slices; ++i) {
      mine.push_back(flow(slice, stream_));
      alone.push_back(flow(slice, beside_));
    }
    auto const median = [](std::vector<double>& v) {
      std::ranges::sort(v);
      return (v[v.size() / 2] + v[(v.size() - 1) / 2]) / 2;
    };
    fmt::print(R"({{"what": "backup", "mine": {}, "alone": {}}})"
               "\n",
               median(mine), median(alone));
  }

  Options const& options_;
  Machine& machine_;
  Links<Link> links_;
  typename Link::Sender sender_;
  WithoutBackup::Sender alone_;
  Stream<typename Link::Sender> stream_;
  Stream<WithoutBackup::Sender> beside_;
};

template <class Link>
void measure(Options const& o) {
  Machine m{o};
  if (o.sends) {
    Source<Link>{o, m}.run();
  } else {
    receive<Link>(o, m);
  }
}

}  // namespace

void measure_failover(Options const& o) {
  if (o.bundle == "retry_timeout") return measure<WithBackup<RetryTimeout>>(o);
  measure<WithBackup<Recorded>>(o);
}

}  // namespace vccl::bench
