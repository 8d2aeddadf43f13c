# SPDX-License-Identifier: Apache-2.0
"""Does the faults to the hosts: cables by the emulator, packets by the sender's own queueing disciplines.

A packet fault is a band of the port's prio qdisc with netem on it, and filters by opcode that lead there. A packet
meets the first fault that picks it, and then neither the port's throttle nor its latency. A packet that is delayed
arrives although the fault ends meanwhile.
"""

import re
import time

from faults import OOB, OPCODES

FIRST_BAND, BANDS = 2, 16  # band 1 is everything else
UDP_PORT = 4791  # RoCE v2
QUEUE = 10000  # packets; netem drops beyond its limit, 1000 if not told


class Effect:
    """One fault that has been given; undone once."""

    def __init__(self, fault, begin):
        self.fault, self.begin = fault, begin
        self.end = None if fault.lasts is None else begin + fault.lasts
        self.bands = {}  # place: band; until all faults end, as packets may wait in it
        self.began = self.ended = False
        self.count = 0


class Effects:
    def __init__(self, lab):
        self.lab, self.list = lab, []
        self.shapes = {}  # place: {"throttle": bits, "latency": seconds}

    def add(self, faults):
        now = time.monotonic()
        first = len(self.list)
        self.list += [Effect(fault, now + fault.at) for fault in faults]
        self.due()
        return list(range(first, len(self.list)))

    def due(self):
        now = time.monotonic()
        for effect in self.list:
            if not effect.began and not effect.ended and now >= effect.begin:
                effect.began = True
                self.do(effect)
            elif effect.began and not effect.ended and effect.end is not None and now >= effect.end:
                self.undo(effect)

    def do(self, effect):
        fault = effect.fault
        for place in fault.places:
            host, port = place
            if fault.action == "link" and fault.verb in ("down", "up"):
                effect.count += self.plug(place, fault.verb == "up")
            elif fault.action == "link":
                self.shapes.setdefault(place, {})[fault.verb] = fault.bits or fault.by
                effect.count += self.shape(place)
            elif fault.action == "packet":
                self.pick_packets(effect, place)
            elif fault.action == "gid":
                effect.count += self.gid(place, fault.verb, fault.index)
            elif fault.action == "kill":
                self.keep_counts(host)
                self.lab.hosts[host].kill()
                effect.count += 1
            elif fault.action == "revive":
                effect.count += self.revive(host)
        # What lasts is undone later; the rest is history.
        effect.ended = fault.action in ("kill", "revive") or (fault.action == "link" and fault.verb == "up")

    def undo(self, effect):
        if effect.ended:
            return
        fault = effect.fault
        if fault.action == "packet":
            effect.count = self.packets(effect)
        effect.ended = True
        for place in fault.places:
            host, port = place
            if fault.action == "link" and fault.verb == "down":
                self.plug(place, True)
            elif fault.action == "link":
                self.shapes.get(place, {}).pop(fault.verb, None)
                self.shape(place)
            elif fault.action == "packet" and place in effect.bands:
                band = effect.bands[place]
                self.tc(host, f"filter del dev {device(port)} parent 1: pref {band}")
                if fault.verb not in ("delay", "reorder"):
                    self.free(effect, place)
            elif fault.action == "gid":
                self.gid(place, "restore")

    def heal(self):
        """Ends everything, newest first."""
        for effect in reversed(self.list):
            if effect.began:
                self.undo(effect)
            effect.ended = True
            for place in list(effect.bands):
                self.free(effect, place)
        for host in self.lab.hosts:
            self.revive(host.index)

    def free(self, effect, place):
        """Takes a band away, with what waits in it."""
        host, port = place
        band = effect.bands.pop(place)
        self.tc(host, f"qdisc del dev {device(port)} parent 1:{band:x}")

    def fired(self, number):
        effect = self.list[number]
        if effect.fault.action == "packet" and not effect.ended:
            return self.packets(effect)
        return effect.count

    def plug(self, place, up):
        host, port = place
        if self.lab.hosts[host].process is None:
            return 0
        self.lab.hosts[host].ask("set_link", name=f"nic{port}", up=up)
        return 1

    def revive(self, host):
        it = self.lab.hosts[host]
        if it.process is not None:
            return 0
        it.start()
        return 1

    def tc(self, host, *lines):
        if self.lab.hosts[host].process is not None:
            batch = "\n".join(lines)
            self.lab.command(host, f"tc -batch - << 'LAB_TC'\n{batch}\nLAB_TC")

    def shape(self, place):
        """Throttle and latency of all packets that no fault picks."""
        host, port = place
        shape = self.shapes.get(place, {})
        if not shape:  # no netem that is not needed: one that duplicates bears no other at its port
            self.tc(host, f"qdisc replace dev {device(port)} parent 1:1 handle 100: pfifo limit {QUEUE}")
            return 1
        words = [f"limit {QUEUE}"]
        if shape.get("latency"):
            words.append(f"delay {microseconds(shape['latency'])}")
        if shape.get("throttle"):
            words.append(f"rate {shape['throttle']:.0f}bit")
        self.tc(host, f"qdisc replace dev {device(port)} parent 1:1 handle 101: netem {' '.join(words)}")
        return 1

    def pick_packets(self, effect, place):
        host, port = place
        fault = effect.fault
        if self.lab.hosts[host].process is None:
            return
        taken = {other.bands.get(place) for other in self.list}
        free = [band for band in range(FIRST_BAND, BANDS + 1) if band not in taken]
        if not free:
            raise ValueError(f"{fault.text}: too many packet faults at one port")
        band = effect.bands[place] = free[0]
        what = {
            "drop": f"loss {fault.chance * 100:.6f}%",
            "duplicate": f"duplicate {fault.chance * 100:.6f}%",
            "delay": f"delay {microseconds(fault.by)}",
            # Uniform from 0 to `by`: netem's jitter is around the middle.
            "reorder": f"delay {microseconds(fault.by / 2)} {microseconds(fault.by / 2)}",
        }[fault.verb]
        lines = [f"qdisc add dev {device(port)} parent 1:{band:x} handle {band + 0x200:x}: netem limit {QUEUE} {what}"]
        begin = f"filter add dev {device(port)} parent 1: pref {band} protocol ip u32"
        if port == OOB:
            lines.append(f"{begin} match u32 0 0 flowid 1:{band:x}")
        else:
            for value, mask in OPCODES[fault.kind]:
                # From the start of the IP header: 20 bytes of it, 8 of UDP, then the opcode.
                lines.append(f"{begin} match ip protocol 17 0xff match ip dport {UDP_PORT} 0xffff "
                             f"match u8 {value:#x} {mask:#x} at 28 flowid 1:{band:x}")  # fmt: skip
        self.tc(host, *lines)

    def packets(self, effect, places=None):
        """How many packets a fault has picked up to now, and before its bands at these places were there."""
        total = effect.count
        for (host, port), band in effect.bands.items():
            if self.lab.hosts[host].process is None or (places and (host, port) not in places):
                continue
            text = self.lab.command(host, f"tc -s qdisc show dev {device(port)} parent 1:{band:x}")
            sent, dropped = re.search(r"Sent \d+ bytes (\d+) pkt \(dropped (\d+)", text).groups()
            total += int(dropped) if effect.fault.verb == "drop" else int(sent)
        return total

    def keep_counts(self, host):
        """Before a host goes, with its qdiscs and whatever was done to them."""
        for effect in self.list:
            mine = [place for place in effect.bands if place[0] == host]
            if mine and not effect.ended:
                effect.count = self.packets(effect, mine)
            if mine:
                effect.bands = {place: band for place, band in effect.bands.items() if place[0] != host}
        self.shapes = {place: shape for place, shape in self.shapes.items() if place[0] != host}

    def gid(self, place, verb, index=0):
        """A port's GID comes from its address. Each address takes the lowest index that is free."""
        host, port = place
        if self.lab.hosts[host].process is None:
            return 0
        number = {"new": host + 101, "remove": 0}.get(verb, host + 1)
        self.lab.command(host, f"port={port} number={number} index={index}\n{GID}")
        return 1


# Others take the indices below the wanted one for a while; an index that a QP still names is not free.
GID = """
gids=/sys/class/infiniband/rxe$port/ports/1/gids
add() { ip addr add "10.0.$port.$1/${2:-24}" dev "eth$port"; }
del() { ip addr del "10.0.$port.$1/${2:-24}" dev "eth$port"; }
find() {
  local gid
  gid=$(printf 'ffff:0a00:%02x%02x$' "$port" "$1")
  for _ in {1..100}; do
    grep -l "$gid" "$gids"/* | sed 's|.*/||' | grep . && return
    sleep 0.02
  done
  echo "no GID of 10.0.$port.$1" && exit 1
}
ip addr flush dev "eth$port"
if [ "$number" = 0 ]; then exit; fi
if [ "$index" = 0 ]; then
  add "$number" && find "$number"
  exit
fi
others=()
for other in {201..209}; do
  add $other 32  # in a network of its own: another's first address takes the later ones with it
  at=$(find $other)
  if [ "$at" = "$index" ]; then break; fi
  others+=($other)
done
del $other 32
for _ in {1..100}; do
  add "$number"
  at=$(find "$number")
  if [ "$at" = "$index" ]; then break; fi
  del "$number"
  sleep 0.02
done
for other in "${others[@]}"; do del "$other" 32; done
if [ "$at" != "$index" ]; then echo "the GID is at $at" && exit 1; fi
"""


def device(port):
    return f"eth{port}"


def microseconds(seconds):
    return f"{seconds * 1e6:.0f}us"
