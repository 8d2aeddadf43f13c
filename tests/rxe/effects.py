# SPDX-License-Identifier: Apache-2.0
"""Does the faults to the hosts: cables by the emulator, packets by the sender's own queueing disciplines.

A packet fault is a band of the port's prio qdisc with netem on it, and filters by opcode that lead there. A packet
meets the first fault that picks it, and then neither the port's throttle nor its latency.
"""

import re
import time

from faults import OOB, OPCODES, PORTS

FIRST_BAND, BANDS = 2, 16  # band 1 is everything else
UDP_PORT = 4791  # RoCE v2
QUEUE = 10000  # packets; netem drops beyond its limit, 1000 if not told


class Effect:
    """One fault that has been given; undone once."""

    def __init__(self, fault, begin):
        self.fault, self.begin = fault, begin
        self.end = None if fault.lasts is None else begin + fault.lasts
        self.bands = {}  # place: band
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
                effect.count += self.gid(place, fault.verb)
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
                # Filters first: the band's qdisc goes when it is empty of them, with what waits in it.
                self.tc(host, f"filter del dev {device(port)} parent 1: pref {band}",
                        f"qdisc del dev {device(port)} parent 1:{band:x}")  # fmt: skip
            elif fault.action == "gid":
                self.gid(place, "restore")

    def heal(self):
        """Ends everything, newest first."""
        for effect in reversed(self.list):
            if effect.began:
                self.undo(effect)
            effect.ended = True
        for host in self.lab.hosts:
            self.revive(host.index)

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
        taken = {other.bands.get(place) for other in self.list if other is not effect and not other.ended}
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

    def packets(self, effect):
        """How many packets a fault has picked up to now."""
        total = effect.count
        for (host, port), band in effect.bands.items():
            if self.lab.hosts[host].process is None:
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
                effect.count = self.packets(effect)
                effect.bands = {place: band for place, band in effect.bands.items() if place[0] != host}
        self.shapes = {place: shape for place, shape in self.shapes.items() if place[0] != host}

    def gid(self, place, verb):
        """A port's GID comes from its address."""
        host, port = place
        address = {"new": host + 101, "remove": None, "restore": host + 1}[verb]
        script = f"ip addr flush dev {device(port)}"
        if address:
            script += f" && ip addr add 10.0.{port}.{address}/24 dev {device(port)}"
        if self.lab.hosts[host].process is None:
            return 0
        self.lab.command(host, script)
        return 1


def device(port):
    return f"eth{PORTS}" if port == OOB else f"eth{port}"


def microseconds(seconds):
    return f"{seconds * 1e6:.0f}us"
