// SPDX-License-Identifier: Apache-2.0
#include <vccl/transport/tcp/config.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string_view>

using namespace vccl;

TEST_CASE("what may pass by itself is transient, what needs a person is not") {
  for (int e : {EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ECONNREFUSED, ECONNRESET, EHOSTDOWN, ENETDOWN,
                EAGAIN, EADDRNOTAVAIL, EPROTO}) {
    CAPTURE(std::strerror(e));
    CHECK(tcp::transient(e));
  }
  for (int e : {EACCES, EPERM, EMFILE, ENFILE, EAFNOSUPPORT, EINVAL, EBADF, ENOMEM, 0}) {
    CAPTURE(std::strerror(e));
    CHECK_FALSE(tcp::transient(e));
  }
}

TEST_CASE("every errno that set-up is known to meet has its own advice") {
  std::string_view const other = tcp::advice(-1);
  for (int e : {EADDRINUSE, EADDRNOTAVAIL, EACCES, EPERM, EMFILE, ENFILE, EAFNOSUPPORT, ENODEV,
                EHOSTUNREACH, ENETUNREACH, ECONNREFUSED, ETIMEDOUT, ECONNABORTED, EPROTO, EINVAL}) {
    CAPTURE(std::strerror(e));
    CHECK(tcp::advice(e) != other);
  }
}

TEST_CASE("the defaults agree with each other") {
  tcp::Config const c;
  CHECK(c.wait_first < c.wait_most);
  CHECK(c.wait_most < c.connect);
  CHECK(c.connect_once < c.connect);
  CHECK(c.look_every < c.patience);
}
