// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/interfaces.hpp>

#include <vccl/transport/tcp/sockets.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <string>

using namespace vccl;

namespace {

/// A host with interfaces as a test says.
struct FakeHost {
  struct Entry {
    std::string name;
    tcp::SocketAddress at;
    ifaddrs list{};
  };
  static inline std::deque<Entry> entries;
  static inline int error = 0;

  static void has(std::string name, char const* address, unsigned flags = IFF_UP) {
    Entry& e = entries.emplace_back();
    e.name = std::move(name);
    e.list.ifa_flags = flags;
    // An interface may have none.
    if (address != nullptr) static_cast<void>(tcp::to_socket(tcp::parse(address), 0, e.at));
  }
  static int interfaces(ifaddrs** list) {
    errno = error;
    if (error != 0) return -1;
    *list = nullptr;
    for (auto e = entries.rbegin(); e != entries.rend(); ++e) {
      e->list.ifa_name = e->name.data();
      e->list.ifa_addr = e->at.length != 0 ? e->at.get() : nullptr;
      e->list.ifa_next = *list;
      *list = &e->list;
    }
    return 0;
  }
  static void free_interfaces(ifaddrs*) {}
  static std::uint32_t interface_index(char const* name) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].name == name) return static_cast<std::uint32_t>(i + 1);
    }
    return 0;
  }
};

struct Typical {
  Typical() {
    FakeHost::entries.clear();
    FakeHost::error = 0;
    FakeHost::has("lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK);
    FakeHost::has("down0", "10.9.9.9", 0);
    FakeHost::has("none0", nullptr);
    FakeHost::has("eth0", "fe80::1");
    FakeHost::has("eth0", "fd00::1");
    FakeHost::has("eth0", "10.0.0.1");
    FakeHost::has("ib0", "10.0.1.1");
    FakeHost::has("six0", "fe80::2");
    FakeHost::has("six0", "fd00::2");
    FakeHost::has("link0", "fe80::3");
  }
};

bool chosen(tcp::Config const& c, char const* text) {
  tcp::Address const a = tcp::local_address<FakeHost>(c);
  tcp::Address const b = tcp::parse(text);
  return a.version == b.version && a.bytes == b.bytes;
}
template <class F>
std::string text_of(F f) {
  try {
    f();
  } catch (SetupError const& e) {
    return e.what();
  }
  return "no error";
}
std::string refusal(tcp::Config const& c) {
  return text_of([&] { static_cast<void>(tcp::local_address<FakeHost>(c)); });
}

}  // namespace

TEST_CASE("an interface gives its best address: IPv4, then IPv6, then that of the link") {
  Typical const host;
  CHECK(chosen({.interface = "eth0"}, "10.0.0.1"));
  CHECK(chosen({.interface = "six0"}, "fd00::2"));
  CHECK(chosen({.interface = "link0"}, "fe80::3"));
  CHECK(chosen({.interface = "lo"}, "127.0.0.1"));
}

TEST_CASE("an address is taken as it is; with an interface it must be there") {
  Typical const host;
  CHECK(chosen({.address = "10.5.5.5"}, "10.5.5.5"));
  CHECK(chosen({.address = "fd00::1", .interface = "eth0"}, "fd00::1"));
  CHECK(chosen({.address = "fe80::2", .interface = "six0"}, "fe80::2"));
  CHECK(refusal({.address = "10.0.1.1", .interface = "eth0"}).find("no such address") !=
        std::string::npos);
}

TEST_CASE("without a choice it is the first that other hosts may reach, or else our own") {
  {
    Typical const host;
    CHECK(chosen({}, "10.0.0.1"));
  }
  {
    Typical const host;
    std::erase_if(FakeHost::entries,
                  [](auto const& e) { return e.name == "eth0" || e.name == "ib0"; });
    CHECK(chosen({}, "fd00::2"));
  }
  {
    Typical const host;
    std::erase_if(FakeHost::entries,
                  [](auto const& e) { return e.name != "lo" && e.name != "link0"; });
    CHECK(chosen({}, "127.0.0.1"));
  }
}

TEST_CASE("what cannot be is refused by name") {
  Typical const host;
  CHECK(refusal({.interface = "eth7"}).find("no such interface") != std::string::npos);
  CHECK(refusal({.address = "10.0.0.1", .interface = "eth7"}).find("no such interface") !=
        std::string::npos);
  CHECK(refusal({.interface = "down0"}).find("is down") != std::string::npos);
  CHECK(refusal({.interface = "none0"}).find("no such address") != std::string::npos);
  CHECK(refusal({.address = "0.0.0.0"}).find("one of this host") != std::string::npos);
  CHECK(refusal({.address = "::"}).find("one of this host") != std::string::npos);
  CHECK(refusal({.address = "fe80::1"}).find("link-local") != std::string::npos);
  CHECK(refusal({.address = "eth0"}).find("numeric") != std::string::npos);
  FakeHost::error = ENOMEM;
  CHECK(refusal({}).find("getifaddrs failed with errno 12") != std::string::npos);
}

TEST_CASE("a zone is the number of the interface, and link-local peers need one") {
  Typical const host;
  CHECK(tcp::zone_of<FakeHost>({}) == 0);
  CHECK(tcp::zone_of<FakeHost>({.interface = "down0"}) == 2);
  CHECK(text_of([] { tcp::check_zone("connect", tcp::parse("fe80::9"), 0); }).find("link-local") !=
        std::string::npos);
  tcp::check_zone("connect", tcp::parse("fe80::9"), 2);
  tcp::check_zone("connect", tcp::parse("10.0.0.9"), 0);
}

TEST_CASE("this machine has an address for a door") {
  tcp::Address const a = tcp::local_address<tcp::SystemSockets>({});
  CHECK((a.version == 4 || a.version == 6));
  tcp::Address const lo = tcp::local_address<tcp::SystemSockets>({.interface = "lo"});
  CHECK(lo.version == 4);
  CHECK(lo.bytes[0] == 127);
}
