// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Our rules: the receiver decides, the sender asks; acknowledged fences at both ends before
/// replay.

#include <vccl/concepts.hpp>
#include <vccl/sync/channel/channels.hpp>
#include <vccl/sync/receiver_decides/receiver.hpp>
#include <vccl/sync/receiver_decides/sender.hpp>

namespace vccl::sync {

/// Any number of failures in any state, also during a switch; the last lost acknowledgement; idle
/// ends; planned return with nothing resent. docs/failure_model.md tells the rules.
///
/// State: a machine of under 200 bytes per end.  Hot path: not on it.  Thread safety: one owner.
/// Use whenever there is a backup. Without channels named it uses both.
template <class... Channels>
struct ReceiverDecides {
  using Sender = receiver_decides::Sender;
  using Receiver = receiver_decides::Receiver;
  static constexpr bool arms_backup = true;
  static constexpr bool in_band = sizeof...(Channels) == 0 || (false || ... || Channels::in_band);
  static constexpr bool out_of_band =
      sizeof...(Channels) == 0 || (false || ... || Channels::out_of_band);
};

static_assert(SyncPolicy<ReceiverDecides<>>);
static_assert(sizeof(receiver_decides::Sender) <= 200 && sizeof(receiver_decides::Receiver) <= 200);

}  // namespace vccl::sync
