// SPDX-License-Identifier: Apache-2.0
// What a peer says at set-up, and later on the pipe: any bytes, or frames whose checksum is right.
#include <vccl/concepts.hpp>
#include <vccl/detail/listener_core.hpp>
#include <vccl/detail/offers.hpp>

#include <fuzz/fuzz.hpp>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

using namespace vccl;
using namespace vccl::detail;
using fuzz::must;

namespace {

/// A host at whose door one caller stands, who says one thing.
struct FuzzHost {
  static inline std::span<std::byte const> said;
  static inline std::size_t answers = 0;

  struct Address {};
  struct Pipe {
    Errc send(std::span<std::byte const> m) noexcept {
      FrameHeader h;
      must(read_header(m, h) && h.kind == Frame::refuse);
      ++answers;
      return Errc::ok;
    }
    std::size_t receive(std::span<std::byte> into) noexcept {
      std::size_t const n = std::min(into.size(), said.size());
      if (n != 0) std::memcpy(into.data(), said.data(), n);
      return n;
    }
  };
  struct Door {
    bool open = true;
    Address address() noexcept { return {}; }
    bool accept(FuzzHost::Pipe&) noexcept { return std::exchange(open, false); }
  };
  Time now() const noexcept { return {}; }
  std::uint64_t random() noexcept { return 42; }
  Door listen() { return {}; }
  std::optional<Pipe> dial(Address const&) { return {}; }
};

/// What the first byte of an input says is done to the frame in the rest of it.
enum Repair : std::uint8_t { mark = 1, length = 2, secret = 4, check = 8, incarnation = 16 };

void repair(std::vector<std::byte>& frame, std::uint8_t how, Handle const& handle) {
  if (frame.size() < sizeof(FrameHeader)) return;
  FrameHeader h;
  std::memcpy(&h, frame.data(), sizeof h);
  if ((how & mark) != 0) {
    h.magic = Handle::expected_magic;
    h.version = Handle::expected_version;
  }
  if ((how & length) != 0) h.bytes = static_cast<std::uint32_t>(frame.size() - sizeof h);
  if (frame.size() >= sizeof h + sizeof(Offer)) {
    std::byte* const offer = frame.data() + sizeof h;
    if ((how & secret) != 0)
      std::memcpy(offer + offsetof(Offer, secret), &handle.secret, sizeof handle.secret);
    if ((how & incarnation) != 0)
      std::memcpy(offer + offsetof(Offer, incarnation), &handle.incarnation, 8);
  }
  if ((how & check) != 0) h.check = check_of(h, std::span{frame}.subspan(sizeof h));
  std::memcpy(frame.data(), &h, sizeof h);
}

void check_offer(Offer const& o) {
  must(o.paths >= 1 && o.paths <= max_paths && o.max_message != 0 && o.path[0].lanes != 0);
  for (std::size_t q = 0; q < o.paths; ++q) {
    must(o.path[q].lanes <= max_lanes && o.path[q].up <= 1);
    must(o.path[q].lanes == 0 || (o.path[q].qps >= 1 && o.path[q].qps <= max_qps));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  FuzzHost host;
  ListenerCore<FuzzHost> listener{host, Duration{1}};
  Handle const handle = listener.handle();
  std::span<std::byte const> const in = std::as_bytes(std::span{data, size});
  // Of its exact size, so that a read behind its end is found.
  std::vector<std::byte> frame(in.begin() + 1, in.end());
  frame.shrink_to_fit();
  repair(frame, data[0], handle);

  FrameHeader h;
  Offer offer;
  ControlFrame control;
  if (read_header(frame, h)) {
    must(h.bytes == frame.size() - sizeof h);
    must(h.kind >= Frame::hello && h.kind <= Frame::control);
    if (read_offer(frame, offer)) {
      check_offer(offer);
      for (PathOffer const& p : offer.path) must(speed_of(p) <= max_lanes * 0xffff'ffffull);
    }
    if (read_control_frame(frame, control)) {
      must(control.lanes <= max_lanes && frame_bytes(control) <= h.bytes);
      FrameBuffer again;
      write_frame(again, Frame::control, h.session, &control, frame_bytes(control));
      ControlFrame back;
      must(read_header(again.view(), h) && read_control_frame(again.view(), back));
      must(std::memcmp(&back, &control, frame_bytes(control)) == 0);
    }
  }

  FuzzHost::said = frame;
  FuzzHost::answers = 0;
  FuzzHost::Pipe pipe;
  bool const let_in = listener.take(pipe, offer);
  must(listener.refused() == FuzzHost::answers);
  must(let_in || frame.empty() || FuzzHost::answers == 1);
  if (let_in) {
    check_offer(offer);
    must(FuzzHost::answers == 0 && same_secret(offer.secret, handle.secret));
    must(offer.incarnation == handle.incarnation);
  }
  return 0;
}
