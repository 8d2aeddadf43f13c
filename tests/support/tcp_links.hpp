// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Connections whose ports are software NICs, and whose set-up and control messages travel
/// over TCP, on loopback; see support/sockets.hpp for what can be done to those.

#include <support/ends.hpp>

namespace vccl::test::links {

/// Like quick: messages on the paths and over TCP.
std::unique_ptr<Ends> quick_tcp(Host& sender, Host& receiver);
/// Like quick_out_of_band: messages over TCP only.
std::unique_ptr<Ends> quick_tcp_only(Host& sender, Host& receiver);
/// NoBackup, NoSync: TCP sets up, and is not needed any more.
std::unique_ptr<Ends> plain_tcp(Host& sender, Host& receiver);

}  // namespace vccl::test::links
