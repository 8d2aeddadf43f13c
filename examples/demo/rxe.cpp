// SPDX-License-Identifier: Apache-2.0
/// @file
/// The copy between two hosts of the lab, on libibverbs: a program in each of them, and one outside
/// that shows what came of it. `scripts/rxe demo`.

#include <demo/conclusion.hpp>
#include <demo/copy.hpp>
#include <demo/progress.hpp>
#include <demo/side_file.hpp>
#include <vccl/sync/receiver_decides.hpp>
#include <vccl/transport/tcp/bootstrap.hpp>
#include <vccl/transport/verbs/lane.hpp>
#include <vccl/vccl.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>

namespace demo {
namespace {

using Nic = vccl::IbVerbs<vccl::TcpBootstrap<>>;
struct Recorded : vccl::Resilient {
  using Telemetry = vccl::telemetry::EventLog<256>;
};
using Link = vccl::Connection<Nic, Nic, vccl::sync::ReceiverDecides<>, Recorded>;

struct Words {
  std::string mode, file, folder, address, svg;
  double seconds = 8;
};

/// What two hosts tell each other in a folder that both see.
class Folder {
 public:
  explicit Folder(std::string name) : name_{std::move(name)} {}
  [[nodiscard]] std::string at(std::string const& name) const { return name_ + '/' + name; }
  void put(std::string const& name, std::string const& content) const {
    std::ofstream{at(name + ".new")} << content;
    std::filesystem::rename(at(name + ".new"), at(name));
  }
  [[nodiscard]] std::optional<std::string> get(std::string const& name) const {
    std::ifstream in{at(name)};
    if (!in) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  }

 private:
  std::string name_;
};

/// Watches one end; that of the receiver also has the cable pulled and plugged in.
class Watcher {
 public:
  Watcher(Words const& words, vccl::End end)
      : words_{words}, end_{end}, folder_{words.folder}, file_{File::open_to_read(words.file)} {}

  int run() {
    vccl::TcpBootstrap<> boot{{.address = words_.address.c_str()}};
    Nic::Host host{boot, {.ports = {"rxe0:1", "rxe1:1"}}};
    host_ = &host;
    vccl::Route route{vccl::PortId{0}};
    route.backups[0] = vccl::PortId{1};
    {
      std::jthread const copy{[&] {
        try {
          if (end_ == vccl::End::sender) {
            send_file<Link>(host, route, board_, plan_, file_);
          } else {
            receive_file<Link>(host, route, board_, plan_, File{});
          }
        } catch (std::exception const& e) {
          board_.fail(e.what());
        }
      }};
      direct();
      board_.enter(Board::Phase::close);
    }
    report_.file = words_.file;
    report_.bytes = plan_.bytes();
    report_.start = board_.start;
    report_.sides[static_cast<std::size_t>(end_)] = side();
    report_.bandwidth = board_.bandwidth();
    report_.longest_gap = board_.longest_gap();
    report_.failure = board_.failure();
    write_side(folder_.at(end_ == vccl::End::sender ? "sender" : "receiver"), report_, end_);
    return report_.failure.empty() ? 0 : 1;
  }

 private:
  static constexpr double set_up_limit = 30;    ///< Seconds.
  static constexpr double silence_limit = 45;   ///< Above the 30 s outage deadline.
  static constexpr double failback_limit = 60;  ///< After the copy.

  [[nodiscard]] Side side() const { return board_.side(end_); }
  [[nodiscard]] double seconds() const {
    return static_cast<double>((host_->now() - board_.start).ns) / 1e9;
  }
  /// Fails the copy when the condition does not hold in time.
  template <class Condition>
  void until(const char* what, double limit, Condition condition) {
    vccl::Time const since = host_->now();
    while (!board_.failed() && !condition()) {
      if ((host_->now() - since).ns > static_cast<std::int64_t>(limit * 1e9))
        return board_.fail(fmt::format("{}: not within {} s", what, limit));
      rest(std::chrono::milliseconds{5});
    }
  }
  /// Both ends are as far.
  void meet(std::string const& where, double limit) {
    bool const sends = end_ == vccl::End::sender;
    if (board_.failed()) return;
    folder_.put(where + (sends ? ".0" : ".1"), "");
    until(where.c_str(), limit,
          [&] { return folder_.get(where + (sends ? ".1" : ".0")).has_value(); });
  }

  void direct() {
    if (end_ == vccl::End::receiver) {
      until("listening", set_up_limit, [&] { return board_.handle().has_value(); });
      if (auto const h = board_.handle())
        folder_.put("handle", {reinterpret_cast<const char*>(&*h), sizeof *h});
    } else {
      until("the receiver", set_up_limit, [&] {
        auto const text = folder_.get("handle");
        vccl::Handle h;
        if (!text || text->size() != sizeof h) return false;
        std::memcpy(static_cast<void*>(&h), text->data(), sizeof h);
        board_.offer(h);
        return true;
      });
    }
    until("set-up", set_up_limit, [&] { return side().status.ready; });
    meet("ready", set_up_limit);
    board_.start = host_->now();
    board_.enter(Board::Phase::copy);
    while (!board_.failed() && side().steps != plan_.steps()) watch();
    report_.seconds = seconds();
    until("the failback", failback_limit, [&] { return side().status.active_path == 0; });
    meet("done", failback_limit);
    report_.watched = seconds();
  }

  /// One look at the copy, and what is to be done to it now.
  void watch() {
    Side const s = side();
    if (s.steps != last_steps_) {
      last_steps_ = s.steps;
      last_step_at_ = seconds();
    } else if (seconds() - last_step_at_ > silence_limit) {
      board_.fail(fmt::format("no step in {} s", silence_limit));
    }
    if (end_ == vccl::End::receiver) {
      double const part = static_cast<double>(s.steps) / static_cast<double>(plan_.steps());
      progress_.update(seconds(), part, s.bytes, s.status.active_path);
      if (!pulled_ && part >= 0.3) {
        pulled_ = true;
        inject("link host0.port0 down", Mark::Kind::harm, "cable pulled");
      } else if (pulled_ && !plugged_ && part >= 0.6) {
        plugged_ = true;
        inject("link host0.port0 up", Mark::Kind::repair, "cable plugged in");
      }
    }
    rest(std::chrono::milliseconds{5});
  }

  /// The lab does what stands in this file (docs/lab.md).
  void inject(const char* fault, Mark::Kind kind, const char* what) {
    std::ofstream{"/lab/faults.new"} << fault << '\n';
    std::filesystem::rename("/lab/faults.new", "/lab/faults");
    report_.marks.push_back({seconds(), kind, what});
    progress_.note(seconds(), what);
  }

  Words const& words_;
  vccl::End end_;
  Folder folder_;
  File file_;
  Plan plan_ = Plan::paced(file_.size(), words_.seconds);
  Nic::Host* host_ = nullptr;
  Board board_;
  Progress progress_{false};
  Report report_;
  bool pulled_ = false;
  bool plugged_ = false;
  std::uint64_t last_steps_ = 0;
  double last_step_at_ = 0;
};

int run(Words const& words) {
  if (words.mode == "pick") {
    fmt::print("{}\n", largest_file("/usr/lib", 4'000'000));
    return 0;
  }
  if (words.mode == "send") return Watcher{words, vccl::End::sender}.run();
  if (words.mode == "receive") return Watcher{words, vccl::End::receiver}.run();
  Options options;
  options.svg = words.svg;
  File const svg = File::open_to_write(options.svg, "--svg: ");
  return conclude(options, read_sides(words.folder + "/sender", words.folder + "/receiver"), svg);
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  demo::Words w;
  CLI::App app{"The copy of scripts/demo between the lab's hosts; scripts/rxe demo runs it.",
               "vccl_demo_rxe"};
  app.add_option("MODE", w.mode,
                 "pick a file to copy; send or receive it, in host 0 or 1; show what came of it")
      ->required()
      ->check(CLI::IsMember({"pick", "send", "receive", "show"}));
  app.add_option("FILE", w.file, "what to copy");
  app.add_option("--folder", w.folder, "where both ends meet and tell");
  app.add_option("--address", w.address, "of this host, out of band");
  app.add_option("--seconds", w.seconds, "the copy lasts so long at least")
      ->check(CLI::Range(1, 3600));
  app.add_option("--svg", w.svg, "where the timeline goes");
  CLI11_PARSE(app, argc, argv);
  try {
    return demo::run(w);
  } catch (std::exception const& e) {
    fmt::print("demo: FAILED {}\n", e.what());
    return 1;
  }
}
