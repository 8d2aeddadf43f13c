# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of docs/faults.md that the lab can do to its hosts, and refuses the others with a reason."""

import dataclasses
import re

HOSTS = PORTS = 2
OOB = PORTS  # the third port of a host, without RoCE: the management network, for out-of-band traffic

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
BITS = {"Gbps": 1e9, "Mbps": 1e6, "kbps": 1e3, "B/s": 8.0}

# What tells kinds of packets apart on the wire is the opcode of the base transport header (IBTA, 9.2.1), as (value,
# mask). It does not say what a write is for, so cts and control are not to be told from data.
OPCODES = {
    "data": [(0x00, 0xF8), (0x08, 0xFC)],  # RC sends and writes
    "ack": [(0x0D, 0xFF), (0x0E, 0xFE), (0x10, 0xFE), (0x12, 0xFF)],  # read responses, (N)ACK, atomic ACK
    "any": [(0x00, 0x00)],
}


class ScriptError(Exception):
    """A line that is no fault, or none that the lab can do."""


@dataclasses.dataclass
class Fault:
    """One line. Times are seconds from when the script is given; places are (host, port), port None for all of it."""

    line: int
    text: str
    action: str = ""  # link, packet, gid, kill, revive
    verb: str = ""  # link: down, up, throttle, latency; packet: drop, ...; gid: new, remove, restore, move
    places: list = dataclasses.field(default_factory=list)
    at: float = 0.0
    lasts: float | None = None  # until healed
    kind: str = ""  # of packets: data, ack, any, oob
    chance: float = 1.0
    by: float = 0.0
    bits: float = 0.0  # per second; 0 for unlimited
    index: int = 0  # of a GID


class Words:
    def __init__(self, line, text):
        self.line, self.words = line, text.split()

    def error(self, message):
        return ScriptError(f"line {self.line}: {message}")

    def take(self, *expected):
        """The next word, one of these if any are given."""
        word = self.words.pop(0) if self.words else "the end"
        if expected and word not in expected:
            raise self.error(f"'{word}', expected {' or '.join(expected)}")
        return word

    def maybe(self, *expected):
        return self.words.pop(0) if self.words and self.words[0] in expected else None

    def measure(self, units, what):
        word = self.take()
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(\D+)", word)
        if not match or match[2] not in units:
            raise self.error(f"'{word}', expected {what}")
        return float(match[1]) * units[match[2]]

    def duration(self):
        return self.measure(SECONDS, "a duration")

    def host(self):
        word = self.take()
        if not re.fullmatch(rf"host[0-{HOSTS - 1}]", word):
            raise self.error(f"'{word}', expected host0 or host1")
        return int(word[4])

    def places(self, last=PORTS - 1):
        """Every port that a place names; the management port only when it is named, and may be."""
        word = self.take()
        match = re.fullmatch(rf"host([0-{HOSTS - 1}])(?:\.port([0-{last}]))?", word)
        if word != "any" and not match:
            raise self.error(f"'{word}', expected a place such as host0.port1, host0 or any")
        hosts = range(HOSTS) if word == "any" else [int(match[1])]
        ports = [int(match[2])] if match and match[2] else range(PORTS)
        return [(host, port) for host in hosts for port in ports]


def read_when(words, fault):
    while when := words.maybe("at", "every", "after"):
        if when == "at":
            fault.at = words.duration()
        elif when == "after":
            raise words.error("the lab cannot do 'after': it sees no steps")
        else:
            word = words.take()
            if not re.fullmatch(r"p=(0\.\d+|1(\.0+)?)", word) or float(word[2:]) == 0:
                raise words.error(f"'{word}': the lab can do 'every p=FRACTION' only")
            fault.chance = float(word[2:])


def read_link(words, fault):
    fault.places = words.places(last=OOB)
    fault.verb = words.take("down", "up", "throttle", "latency")
    if fault.verb == "down" and words.maybe("for"):
        fault.lasts = words.duration()
    elif fault.verb == "latency":
        fault.by = words.duration()
    elif fault.verb == "throttle" and not words.maybe("unlimited"):
        fault.bits = words.measure(BITS, "a rate")


def read_packet(words, fault):
    fault.kind = words.take()
    if fault.kind in ("cts", "control"):
        raise words.error(f"the lab cannot tell {fault.kind} from data on the wire")
    if fault.kind not in (*OPCODES, "oob"):
        raise words.error(f"'{fault.kind}', expected data or ack or any or oob")
    if fault.kind == "oob":
        fault.places = [(host, OOB) for host in sorted({host for host, _ in words.places()})]
    else:
        fault.places = words.places()
    while clause := words.maybe("by", "for", "count"):
        if clause == "count":
            raise words.error("the lab cannot do 'count'")
        setattr(fault, {"by": "by", "for": "lasts"}[clause], words.duration())
    if fault.verb in ("delay", "reorder") and not fault.by:
        raise words.error(f"{fault.verb} needs 'by'")
    if fault.verb in ("drop", "duplicate") and fault.by:
        raise words.error(f"the lab cannot {fault.verb} 'by'")
    if fault.verb in ("delay", "reorder") and fault.chance != 1:
        raise words.error(f"the lab cannot {fault.verb} every p=: all packets of the kind or none")


def read_fault(line, text):
    words, fault = Words(line, text), Fault(line, text)
    read_when(words, fault)
    first = words.take()
    if first == "link":
        fault.action = first
        read_link(words, fault)
    elif first in ("drop", "delay", "reorder", "duplicate"):
        fault.action, fault.verb = "packet", first
        read_packet(words, fault)
    elif first == "gid":
        fault.action, fault.places = first, words.places()
        fault.verb = words.take("new", "remove", "restore", "move")
        if fault.verb == "move":
            word = words.take()
            if not re.fullmatch("[1-7]", word):
                raise words.error(f"'{word}': the lab can move a GID to the indices 1 to 7")
            fault.index = int(word)
    elif first in ("kill", "revive"):
        fault.action, fault.places = first, [(words.host(), None)]
    else:
        raise words.error(f"the lab cannot do '{first}'")
    if fault.chance != 1 and fault.action != "packet":
        raise words.error("'every' is for packets")
    if words.words:
        raise words.error(f"'{words.words[0]}' is too much")
    return fault


def parse_faults(text):
    lines = enumerate((line.split("#")[0].strip() for line in text.splitlines()), 1)
    return [read_fault(number, line) for number, line in lines if line]
