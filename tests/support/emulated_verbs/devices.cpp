// SPDX-License-Identifier: Apache-2.0
// Cards, their ports and GID tables, contexts, protection domains, memory.
#include <support/emulated_verbs/machine.hpp>
#include <vccl/transport/soft/engine.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace vccl::test::emulated {

namespace {

Machine* machine = nullptr;
std::string words;
std::uint64_t struck = 0;
thread_local std::uint32_t shown_host = any_host;

/// The width and speed whose product is nearest (man ibv_query_port).
void set_speed(ibv_port_attr& a, std::uint32_t mbps) {
  struct Pair {
    std::uint8_t code;
    std::uint32_t value;
  };
  constexpr Pair widths[] = {{1, 1}, {16, 2}, {2, 4}, {4, 8}, {8, 12}};
  constexpr Pair speeds[] = {{1, 2'500},   {2, 5'000},   {4, 10'000},   {16, 14'000},
                             {32, 25'000}, {64, 50'000}, {128, 100'000}};
  std::uint64_t best = UINT64_MAX;
  for (Pair const w : widths) {
    for (Pair const s : speeds) {
      std::uint64_t const v = std::uint64_t{w.value} * s.value;
      std::uint64_t const off = v > mbps ? v - mbps : mbps - v;
      if (off >= best) continue;
      best = off;
      a.active_width = w.code;
      a.active_speed = s.code;
    }
  }
}

}  // namespace

Machine& Machine::here() {
  if (machine == nullptr) throw std::logic_error{"no emulated machine is here"};
  return *machine;
}

Machine::At::At(std::uint32_t host) noexcept : before_{shown_host} { shown_host = host; }
Machine::At::~At() { shown_host = before_; }

Machine::Machine(soft::Core& core, Habits h)
    : habits{h},
      core_{core},
      random_{core.config.virtual_time ? core.config.seed : soft::entropy()},
      looks_(core.ports.size()) {
  if (machine != nullptr) throw std::logic_error{"there is an emulated machine already"};
  std::uint32_t const per_host = static_cast<std::uint32_t>(core.config.ports_per_host);
  std::uint32_t const per_card = static_cast<std::uint32_t>(core.config.ports_per_card);
  for (std::uint32_t host = 0; host < core.hosts.size(); ++host) {
    for (std::uint32_t first = 0; first < per_host; first += per_card) {
      auto d = std::make_unique<Device>();
      d->node_type = IBV_NODE_CA;
      d->transport_type = IBV_TRANSPORT_IB;
      d->host = host;
      d->card = first / per_card;
      d->first_port = host * per_host + first;
      d->ports = std::min(per_card, per_host - first);
      std::snprintf(d->name, sizeof d->name, "emu%u_%u", host, d->card);
      devices_.push_back(std::move(d));
    }
  }
  machine = this;
}

Machine::~Machine() {
  words = leaks() + violations();
  struck = script_.struck();
  machine = nullptr;
}

std::string Machine::last_words() { return words; }
std::uint64_t Machine::last_struck() { return struck; }

Device& Machine::device_of(std::uint32_t port) {
  for (auto& d : devices_) {
    if (port - d->first_port < d->ports) return *d;
  }
  throw std::logic_error{"a port of no card"};
}

soft::Port& Machine::port_of(Context& c, std::uint8_t number) {
  return core_.ports[c.card->first_port + number - 1];
}

std::optional<ibv_gid_entry> Machine::gid_at(soft::Port const& p, std::uint32_t index) {
  if (index >= soft::Port::gid_slots || p.gids[index] == 0) return {};
  ibv_gid_entry e{};
  e.gid_index = index;
  e.port_num = p.index - device_of(p.index).first_port + 1;
  auto const named = names_.find({p.index, p.gids[index]});
  if (named != names_.end()) {
    std::memcpy(e.gid.raw, named->second.raw.data(), 16);
    e.gid_type = static_cast<std::uint32_t>(named->second.type);
    return e;
  }
  auto raw = soft::make_gid({p.host, p.number, p.gids[index]});
  e.gid_type = IBV_GID_TYPE_ROCE_V2;
  if (looks_[p.index].infiniband) {  // The default subnet, and a port GUID.
    std::array<std::uint8_t, 16> const plain = raw;
    raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0};
    std::copy_n(plain.begin() + 2, 4, raw.begin() + 8);
    std::copy_n(plain.begin() + 12, 4, raw.begin() + 12);
    e.gid_type = IBV_GID_TYPE_IB;
  }
  std::memcpy(e.gid.raw, raw.data(), 16);
  return e;
}

/// One value may stand in a table for both versions of RoCE: that of `type` is meant.
std::optional<Machine::Found> Machine::find_gid(ibv_gid const& gid, std::uint32_t type) {
  std::optional<Found> other;
  for (soft::Port const& p : core_.ports) {
    for (std::uint32_t i = 0; i < soft::Port::gid_slots; ++i) {
      auto const e = gid_at(p, i);
      if (!e || std::memcmp(e->gid.raw, gid.raw, 16) != 0) continue;
      other = Found{p.index, p.gids[i], static_cast<ibv_gid_type>(e->gid_type)};
      if (e->gid_type == type) return other;
    }
  }
  if (other) return other;
  std::array<std::uint8_t, 16> raw;
  std::memcpy(raw.data(), gid.raw, 16);
  soft::GidParts const parts = soft::gid_parts(raw);
  if (raw[0] != 0xfd || raw[1] != 0x5c || parts.host >= core_.hosts.size() ||
      parts.port >= core_.config.ports_per_host)
    return {};
  return Found{core_.port(parts.host, parts.port).index, parts.serial, IBV_GID_TYPE_ROCE_V2};
}

void Machine::infiniband(std::size_t host, std::size_t port) {
  std::scoped_lock const lock{core_.mutex};
  looks_[core_.port(host, port).index].infiniband = true;
}

void Machine::port_state(std::size_t host, std::size_t port, std::optional<ibv_port_state> state) {
  std::scoped_lock const lock{core_.mutex};
  looks_[core_.port(host, port).index].state = state;
}

void Machine::gids(std::size_t host, std::size_t port,
                   std::vector<std::optional<NamedGid>> const& table) {
  std::scoped_lock const lock{core_.mutex};
  soft::Port& p = core_.port(host, port);
  p.gids = {};
  for (std::size_t i = 0; i < table.size() && i < soft::Port::gid_slots; ++i) {
    if (!table[i]) continue;
    p.gids[i] = ++p.last_gid;
    names_[{p.index, p.gids[i]}] = *table[i];
  }
  soft::raise(core_, p.index, PortEvent::Kind::address_change);
}

void Machine::device_memory(void* address, std::size_t length) {
  std::scoped_lock const lock{core_.mutex};
  device_memory_.push_back({reinterpret_cast<std::uintptr_t>(address), length});
}

Time Machine::now() const noexcept {
  return core_.config.virtual_time ? core_.now() : soft::monotonic_now();
}

std::uint64_t Machine::random() {
  std::scoped_lock const lock{core_.mutex};
  return random_.next();
}

// ---- The API

ibv_device** Machine::get_device_list(int* count) {
  std::scoped_lock const lock{core_.mutex};
  if (int const e = begin(Verb::get_device_list, shown_host, {}).error; e != 0) {
    errno = e;
    return nullptr;
  }
  Listing& l = keep(listings_, "device list");
  for (auto& d : devices_) {
    if (shown_host == any_host || d->host == shown_host) l.devices.push_back(d.get());
  }
  if (count != nullptr) *count = static_cast<int>(l.devices.size());
  l.devices.push_back(nullptr);
  return l.devices.data();
}

void Machine::free_device_list(ibv_device** list) {
  std::scoped_lock const lock{core_.mutex};
  for (auto& l : listings_) {
    if (l->devices.data() != list) continue;
    if (use(*l, Verb::get_device_list, false)) l->alive = false;
    return;
  }
  violation("free_device_list of what is none");
}

ibv_context* Machine::open_device(ibv_device* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& d = *static_cast<Device*>(of);
  int error = begin(Verb::open_device, d.host, d.name).error;
  bool const listed =
      std::any_of(listings_.begin(), listings_.end(), [](auto const& l) { return l->alive; });
  if (!listed) violation("open_device without a device list");
  if (error == 0 && (core_.ports[d.first_port].fatal || !core_.hosts[d.host].alive)) error = ENODEV;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  Context& c = keep(contexts_, "context");
  c.device = &d;
  c.card = &d;
  c.incarnation = core_.hosts[d.host].incarnation;
  c.async_fd = c.cmd_fd = -1;
  c.num_comp_vectors = 1;
  return &c;
}

int Machine::close_device(ibv_context* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  Fate const fate = begin(Verb::close_device, c.card->host, c.device->name);
  if (!use(c, Verb::close_device, true)) return number(EINVAL);
  c.alive = false;
  return number(fate.error);
}

int Machine::query_device(ibv_context* of, ibv_device_attr* into) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  Fate const fate = begin(Verb::query_device, c.card->host, c.device->name);
  if (!use(c, Verb::query_device, false)) return number(EINVAL);
  if (fate.error != 0) return number(fate.error);
  if (c.dead) return number(EIO);
  *into = {};
  into->max_mr_size = UINT64_MAX;
  into->page_size_cap = 4096;
  into->max_qp = 1 << 16;
  into->max_qp_wr = static_cast<int>(habits.max_depth);
  into->max_sge = into->max_sge_rd = 1;
  into->max_cq = 1 << 16;
  into->max_cqe = habits.max_cqe;
  into->max_mr = 1 << 20;
  into->max_pd = 1 << 16;
  into->max_qp_rd_atom = into->max_qp_init_rd_atom = 16;
  into->max_pkeys = 1;
  into->phys_port_cnt = static_cast<std::uint8_t>(c.card->ports);
  return 0;
}

int Machine::query_port(ibv_context* of, std::uint8_t port, ibv_port_attr* into) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  Fate const fate = begin(Verb::query_port, c.card->host, c.device->name);
  if (!use(c, Verb::query_port, false)) return number(EINVAL);
  if (fate.error != 0) return number(fate.error);
  if (c.dead) return number(EIO);
  if (port == 0 || port > c.card->ports) return number(EINVAL);
  soft::Port const& p = port_of(c, port);
  PortLook const& look = looks_[p.index];
  *into = {};
  into->state = look.state.value_or(p.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
  into->max_mtu = IBV_MTU_4096;
  into->active_mtu = static_cast<ibv_mtu>(std::bit_width(p.mtu / 256));
  into->gid_tbl_len = static_cast<int>(soft::Port::gid_slots);
  into->max_msg_sz = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(core_.config.max_message, std::uint64_t{1} << 31));
  into->pkey_tbl_len = 1;
  std::size_t const gid = p.first_gid();
  if (look.infiniband && gid != soft::Port::gid_slots)
    into->lid = static_cast<std::uint16_t>(p.gids[gid] * lid_step + p.index + 1);
  into->phys_state = p.up ? 5 : 2;  // LinkUp, Polling
  into->link_layer = look.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  set_speed(*into, p.speed_mbps());
  return 0;
}

int Machine::query_gid(ibv_context* of, std::uint8_t port, std::uint32_t index,
                       ibv_gid_entry* into) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  Fate const fate = begin(Verb::query_gid, c.card->host, c.device->name);
  if (!use(c, Verb::query_gid, false)) return number(EINVAL);
  if (fate.error != 0) return number(fate.error);
  if (c.dead) return number(EIO);
  if (port == 0 || port > c.card->ports || index >= soft::Port::gid_slots) return number(EINVAL);
  auto const e = gid_at(port_of(c, port), index);
  if (!e) return number(ENODATA);
  *into = *e;
  return 0;
}

ibv_pd* Machine::alloc_pd(ibv_context* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& c = *static_cast<Context*>(of);
  int error = begin(Verb::alloc_pd, c.card->host, c.device->name).error;
  if (!use(c, Verb::alloc_pd, false)) error = EINVAL;
  if (error == 0 && c.dead) error = EIO;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  Domain& pd = keep(domains_, "PD");
  pd.context = &c;
  ++c.users;
  return &pd;
}

int Machine::dealloc_pd(ibv_pd* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& pd = *static_cast<Domain*>(of);
  auto& c = *static_cast<Context*>(pd.context);
  Fate const fate = begin(Verb::dealloc_pd, c.card->host, c.device->name);
  if (!use(pd, Verb::dealloc_pd, true)) return number(pd.alive ? EBUSY : EINVAL);
  pd.alive = false;
  --c.users;
  return number(fate.error != 0 ? fate.error : c.dead ? EIO : 0);
}

ibv_mr* Machine::reg_mr(ibv_pd* of, void* address, std::size_t length, unsigned access) {
  std::scoped_lock const lock{core_.mutex};
  auto& pd = *static_cast<Domain*>(of);
  Device const& d = *static_cast<Context*>(pd.context)->card;
  int error = begin(Verb::reg_mr, d.host, d.name).error;
  if (!use(pd, Verb::reg_mr, false)) error = EINVAL;
  return register_block(pd, error, reinterpret_cast<std::uintptr_t>(address), length, access);
}

ibv_mr* Machine::reg_dmabuf_mr(ibv_pd* of, std::uint64_t, std::size_t length, std::uint64_t iova,
                               int fd, unsigned access) {
  std::scoped_lock const lock{core_.mutex};
  auto& pd = *static_cast<Domain*>(of);
  Device const& d = *static_cast<Context*>(pd.context)->card;
  int error = begin(Verb::reg_dmabuf_mr, d.host, d.name).error;
  if (!use(pd, Verb::reg_dmabuf_mr, false)) error = EINVAL;
  if (error == 0 && !habits.dma_buf) error = EOPNOTSUPP;
  if (error == 0 && fd < 0) error = EBADF;
  return register_block(pd, error, iova, length, access);
}

std::uint64_t Machine::pinned(std::uint32_t host) const {
  std::uint64_t bytes = 0;
  for (auto const& b : blocks_) bytes += b->alive && b->card->host == host ? b->length : 0;
  return bytes;
}

std::uint64_t Machine::registered(std::uint32_t host) {
  std::scoped_lock const lock{core_.mutex};
  return pinned(host);
}

ibv_mr* Machine::register_block(Domain& pd, int error, std::uint64_t at, std::size_t length,
                                unsigned access) {
  auto& c = *static_cast<Context*>(pd.context);
  Device const& d = *c.card;
  for (std::uint32_t p = 0; p < d.ports && error == 0; ++p)
    error = core_.faults.on_call(soft::Call::register_memory, d.first_port + p);
  if (error == 0 && c.dead) error = EIO;
  bool const remote = (access & IBV_ACCESS_REMOTE_WRITE) != 0;
  // Whoever may write from afar must be able to write at all (man ibv_reg_mr).
  bool const odd = remote && (access & IBV_ACCESS_LOCAL_WRITE) == 0;
  if (error == 0 && (at == 0 || length == 0 || at + length < at || odd)) error = EINVAL;
  if (error == 0 && habits.memlock != 0 && pinned(d.host) + length > habits.memlock) error = ENOMEM;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  soft::Region r;
  r.address = at;
  r.length = length;
  r.port = d.first_port;
  r.ports = d.ports;
  r.remote_write = remote;
  r.remote_read = (access & IBV_ACCESS_REMOTE_READ) != 0;
  r.relaxed = (access & IBV_ACCESS_RELAXED_ORDERING) != 0;
  for (auto const& [base, bytes] : device_memory_) {
    if (at >= base && at - base < bytes) r.kind = MemoryKind::device;
  }
  for (auto const& m : core_.computed) {
    if (at >= m->base() && at - m->base() < m->length()) r.computed = m.get();
  }
  Block& b = keep(blocks_, "MR");
  b.context = &c;
  b.card = &d;
  b.pd = &pd;
  b.addr = soft::BusBuffer::to_pointer(at);
  b.length = length;
  b.access = access;
  b.keys = core_.regions.add(r);
  b.lkey = b.keys.local;
  b.rkey = b.keys.remote;
  ++pd.users;
  return &b;
}

int Machine::dereg_mr(ibv_mr* of) {
  std::scoped_lock const lock{core_.mutex};
  auto& b = *static_cast<Block*>(of);
  auto& c = *static_cast<Context*>(b.context);
  Fate const fate = begin(Verb::dereg_mr, c.card->host, c.device->name);
  if (!use(b, Verb::dereg_mr, true)) return number(EINVAL);
  b.alive = false;
  --static_cast<Domain*>(b.pd)->users;
  if (soft::Region const* const r = core_.regions.local(b.keys.local, c.card->first_port)) {
    for (std::uint32_t p = 0; p < c.card->ports; ++p) core_.ports[c.card->first_port + p].forget(r);
  }
  core_.regions.remove(b.keys);
  return number(fate.error != 0 ? fate.error : c.dead ? EIO : 0);
}

}  // namespace vccl::test::emulated
