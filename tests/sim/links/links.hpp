// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file Connections with watched machines and policies that are chosen while running.

#include <support/ends.hpp>

#include <memory>

namespace vccl::sim::links {

/// One backup; messages go in band and out of band.
std::unique_ptr<test::Ends> both(test::Host& sender, test::Host& receiver);
std::unique_ptr<test::Ends> in_band(test::Host& sender, test::Host& receiver);
std::unique_ptr<test::Ends> out_of_band(test::Host& sender, test::Host& receiver);
/// Three backups.
std::unique_ptr<test::Ends> four_paths(test::Host& sender, test::Host& receiver);

}  // namespace vccl::sim::links
