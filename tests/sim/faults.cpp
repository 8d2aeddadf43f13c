// SPDX-License-Identifier: Apache-2.0
#include <sim/faults.hpp>

#include <vccl/transport/soft/fault_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace vccl::sim {

namespace {

class Drawer {
 public:
  Drawer(Plan& plan, Dice& dice, Shape const& shape) : p_{plan}, dice_{dice}, shape_{shape} {
    auto const steps = static_cast<std::int64_t>(p_.load.steps.size());
    span_ = std::clamp(p_.load.pause * steps, 5_ms, 2_s);
  }

  void calm() {
    // One at a time: each is over, and what it cost sent again, before the next.
    Duration at = dice_.between(0_ms, 100_ms);
    for (std::size_t n = 1 + dice_.below(4); n-- > 0; at = at + dice_.between(800_ms, 1200_ms))
      add("at {} link {} down for {}\n", time(at), port(), time(dice_.between(1_us, 45_ms)));
  }

  void heals() {
    for (std::size_t n = dice_.one_in(20) ? 0 : 1 + dice_.below(5); n-- > 0;) one();
  }

  void lethal() {
    heals();
    for (std::size_t n = dice_.below(3); n-- > 0;) fatal();
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> text, A&&... a) {
    p_.faults.push_back(fmt::format(text, std::forward<A>(a)...));
  }

  static std::string time(Duration d) { return soft::format(d); }
  std::string host() { return fmt::format("host{}", dice_.below(2)); }
  /// A port that may be lost.
  std::string port() { return port_of(dice_.below(2)); }
  std::string port_of(std::uint64_t host) {
    std::size_t const paths = shape_.spares ? 1 : shape_.paths;
    return fmt::format("host{}.port{}", host, dice_.below(paths * shape_.lanes));
  }
  std::string when() {
    if (dice_.one_in(3))
      return fmt::format("after step {} ", 1 + dice_.below(p_.load.steps.size()));
    return fmt::format("at {} ", time(dice_.between(0_ms, span_)));
  }
  /// Shorter than the hold, longer than detection, or long.
  Duration outage() {
    if (dice_.one_in(3)) return dice_.between(10_us, 45_ms);
    return dice_.one_in(2) ? dice_.between(45_ms, 400_ms) : dice_.between(400_ms, 1500_ms);
  }
  std::string_view kind() { return dice_.pick({"data", "cts", "control", "ack", "oob", "any"}); }
  /// Which packets, by number or chance, and until when.
  std::string which() {
    return dice_.one_in(2) ? fmt::format("every {} ", 1 + dice_.below(20))
                           : fmt::format("every p=0.{:02} ", 1 + dice_.below(60));
  }
  std::string until(Duration most) {
    if (dice_.one_in(2)) return fmt::format("count {}", 1 + dice_.below(30));
    return fmt::format("for {}", time(dice_.between(10_us, most)));
  }
  std::string place_of(std::string_view kind) { return kind == "oob" ? host() : port(); }

  void one() {
    switch (dice_.below(23)) {
      case 0:
        return cable();
      case 1:
        return add("{}link {} down for {}\n", when(), port(), time(outage()));
      case 2:
        return flaps();
      case 3:
        return for_a_while("link", "throttle", dice_.pick({"1Mbps", "50Mbps", "1Gbps"}),
                           "unlimited");
      case 4:
        return for_a_while("link", "speed", "1Gbps", "400Gbps");
      case 5:
        return for_a_while("link", "latency", dice_.pick({"100us", "5ms", "20ms"}), "1us");
      case 6: {
        std::string_view const k = kind();
        return add("{}{}drop {} {} {}\n", when(), which(), k, place_of(k), until(400_ms));
      }
      case 7: {
        std::string_view const k = kind();
        Duration const by =
            dice_.one_in(2) ? dice_.between(1_us, 5_ms) : dice_.between(50_ms, 900_ms);
        return add("{}{}delay {} {} by {} {}\n", when(), which(), k, place_of(k), time(by),
                   until(400_ms));
      }
      case 8:
        return add("{}reorder {} {} by {} {}\n", when(), "any", port(),
                   time(dice_.between(1_us, 1_ms)), until(400_ms));
      case 9: {
        std::string_view const k = kind();
        return add("{}{}duplicate {} {} by {} {}\n", when(), which(), k, place_of(k),
                   time(dice_.between(1_us, dice_.one_in(2) ? 1_ms : 900_ms)), until(400_ms));
      }
      case 10: {
        std::string_view const k = kind();
        return add("{}hold {} {} for {} count {}\n", when(), k, place_of(k), time(outage()),
                   1 + dice_.below(20));
      }
      case 11:
        return add("{}gid {} new\n", when(), port());
      case 12: {
        std::string const where = port();
        Duration const at = dice_.between(0_ms, span_);
        return add("at {} gid {} remove\nat {} gid {} {}\n", time(at), where, time(at + outage()),
                   where, dice_.one_in(2) ? "restore" : "move 5");
      }
      case 13:
        return add("{}gid {} move {}\n", when(), port(), 1 + dice_.below(7));
      case 14:
        p_.may_be_behind = true;
        return add("{}qp {} fatal\n", when(), port());
      case 15:
        p_.may_be_behind = true;
        return add("{}cq {} error\n", when(), port());
      case 16:
        p_.may_be_behind = true;
        return add("{}cq {} mute for {}\n", when(), port(), time(dice_.between(10_us, 10_ms)));
      case 17: {
        std::string const where = port();
        Duration const at = dice_.between(0_ms, span_);
        p_.may_be_behind = true;
        return add("at {} device {} fatal\nat {} device {} returns\n", time(at), where,
                   time(at + outage()), where);
      }
      case 18:
        return add("{}fence {} takes {} {}count {}\n", when(), port(),
                   time(dice_.between(10_us, 60_ms)), dice_.pick({"", "on error ", "on reset "}),
                   1 + dice_.below(4));
      case 19: {
        std::string_view const call =
            dice_.pick({"post_send", "post_receive", "poll", "flush", "describe", "connect"});
        std::uint64_t const first = 1 + dice_.below(60);
        return add("{}call {} {}..{} {} fails {}\n", when(), call, first, first + dice_.below(5),
                   port(), dice_.pick({"EAGAIN", "EBUSY", "EFAULT", "EINVAL", "EIO", "ENOMEM"}));
      }
      case 20: {  // A path is lost, and the first words about it as well.
        std::string const at = when();
        return add("{}drop oob {} count {}\n{}qp {} fatal\n", at, host(), 1 + dice_.below(3), at,
                   port());
      }
      case 21:
        return packets_of_an_earlier_life();
      default: {
        std::string const where = port();
        return add("{}reset {} breaks\n{}reset {} works\n", when(), where,
                   fmt::format("at {} ", time(span_)), where);
      }
    }
  }

  void cable() {
    std::string const where = port();
    Duration const at = dice_.between(0_ms, span_);
    add("at {} link {} down\nat {} link {} up\n", time(at), where, time(at + outage()), where);
  }

  /// Packets that stay in the network while their queue pair is reset and armed again.
  void packets_of_an_earlier_life() {
    std::uint64_t const step = 1 + dice_.below(6);
    std::string const where = port_of(0);
    std::string const peer = "host1" + where.substr(5);
    p_.may_be_behind = true;
    add("after step {} hold {} {} for {} count {}\nafter step {} qp {} fatal\n", step,
        dice_.one_in(2) ? "data" : "any", where, time(dice_.between(200_ms, 1500_ms)),
        1 + dice_.below(20), step + 1 + dice_.below(3), peer);
  }

  void flaps() {
    std::string const where = port();
    std::string lines;
    Duration at = dice_.between(0_ms, span_);
    for (std::size_t n = 2 + dice_.below(3); n-- > 0; at = at + dice_.between(1_ms, 400_ms)) {
      Duration const down = outage();
      lines += fmt::format("at {} link {} down for {}\n", time(at), where, time(down));
      at = at + down;
    }
    p_.faults.push_back(lines);
  }

  void for_a_while(std::string_view verb, std::string_view what, std::string_view bad,
                   std::string_view good) {
    std::string const where = port();
    Duration const at = dice_.between(0_ms, span_);
    add("at {} {} {} {} {}\nat {} {} {} {} {}\n", time(at), verb, where, what, bad,
        time(at + outage()), verb, where, what, good);
  }

  void fatal() {
    switch (dice_.below(10)) {
      case 0:
        return add("{}kill host{}\n", when(), dice_.below(2));
      case 1: {
        std::string const gone = host();
        Duration const at = dice_.between(0_ms, span_);
        return add("at {} kill {}\nat {} revive {}\n", time(at), gone, time(at + outage()), gone);
      }
      case 2:
        return add("{}fence {} {}\n", when(), port(), dice_.pick({"fails", "hangs"}));
      case 3:
        return add("{}link any down\n", when());
      case 4:
        return add("{}link {} down\n", when(), host());
      case 5:
        p_.may_be_behind = true;
        return add("{}cq {} mute\n", when(), host());
      case 6:
        p_.may_be_behind = true;
        return add("{}device {} fatal\n", when(), dice_.one_in(2) ? host() : port());
      case 7:
        return add("{}call {} 1.. {} fails EIO\n", when(),
                   dice_.pick({"post_send", "post_receive", "flush", "fence", "connect"}),
                   dice_.one_in(2) ? host() : port());
      case 8:
        return add("{}drop {} any\n", when(), dice_.pick({"any", "oob", "control", "cts", "data"}));
      default:
        return add("call register_memory {} {} fails ENOMEM\n", 1 + dice_.below(30), host());
    }
  }

  Plan& p_;
  Dice& dice_;
  Shape const& shape_;
  Duration span_;
};

}  // namespace

void draw_faults(Plan& p, Dice& dice, Shape const& shape) {
  Drawer draw{p, dice, shape};
  switch (p.promise) {
    case Promise::calm:
      return draw.calm();
    case Promise::heals:
      return draw.heals();
    case Promise::lethal:
      return draw.lethal();
  }
}

}  // namespace vccl::sim
