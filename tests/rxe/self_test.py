# SPDX-License-Identifier: Apache-2.0
"""Shows what the lab takes of the fault language, what it refuses, and what it calls a broken bench. Boots nothing."""

import sys

sys.dont_write_bytecode = True
from faults import ScriptError, parse_faults  # noqa: E402
from lab import BROKEN  # noqa: E402

GOOD = [  # line, and what must be so of its fault
    ("link host0.port1 down", {"action": "link", "verb": "down", "places": [(0, 1)], "at": 0, "lasts": None}),
    ("at 300ms link host1.port0 down for 2s", {"at": 0.3, "lasts": 2, "places": [(1, 0)]}),
    ("link host1 up", {"verb": "up", "places": [(1, 0), (1, 1)]}),
    ("link any latency 5us", {"by": 5 * 1e-6, "places": [(0, 0), (0, 1), (1, 0), (1, 1)]}),
    ("link host0.port0 throttle 6Mbps", {"bits": 6e6}),
    ("link host0.port0 throttle unlimited", {"bits": 0}),
    ("every p=0.01 drop ack host1.port0 # comment", {"chance": 0.01, "kind": "ack", "verb": "drop"}),
    ("at 1s delay data host0.port1 by 4ms for 2s", {"by": 0.004, "lasts": 2, "kind": "data"}),
    ("drop oob host1", {"places": [(1, 2)]}),
    ("link host0.port2 down", {"places": [(0, 2)]}),
    ("gid host1.port1 move 5", {"verb": "move", "index": 5}),
    ("gid host0.port0 new", {"action": "gid", "verb": "new"}),
    ("at 1.5s kill host1", {"action": "kill", "at": 1.5, "places": [(1, None)]}),
]

BAD = [  # line, and what must be said about it
    ("link host0.port0 dwon", "'dwon', expected down or up"),
    ("link host2.port0 down", "expected a place"),
    ("link host0.port3 down", "expected a place"),
    ("drop any host0.port2", "expected a place"),
    ("gid host0.port0 move 0", "indices 1 to 7"),
    ("link host0.port0 down for ever", "'ever', expected a duration"),
    ("link host0.port0 down now", "'now' is too much"),
    ("every p=0.5 link host0.port0 down", "'every' is for packets"),
    ("every p=0 drop any host0", "can do 'every p=FRACTION' only"),
    ("every 10 drop any host0", "can do 'every p=FRACTION' only"),
    ("after step 3 drop any host0", "it sees no steps"),
    ("drop cts host0", "cannot tell cts from data"),
    ("drop data host0 count 3", "cannot do 'count'"),
    ("delay data host0", "delay needs 'by'"),
    ("cq host0.port0 mute", "cannot do 'cq'"),
    ("at", "'the end', expected a duration"),
]

BENCH = ["[  1.0] BUG: kernel NULL pointer", "watchdog: BUG: soft lockup - CPU#0 stuck", "Kernel panic - not syncing"]
NO_BENCH = ["virtio_net virtio0 eth0: link down", "rdma_rxe: loaded", "debug: fine"]


def main():
    failures = []
    for line, wanted in GOOD:
        (fault,) = parse_faults(line)
        failures += [f"{line}: {key} is {getattr(fault, key)}" for key in wanted if getattr(fault, key) != wanted[key]]
    for line, wanted in BAD:
        try:
            parse_faults("\n" + line)
            failures.append(f"{line}: taken")
        except ScriptError as error:
            if wanted not in str(error) or not str(error).startswith("line 2: "):
                failures.append(f"{line}: {error}")
    failures += [f"'{text}' is no broken bench" for text in BENCH if not BROKEN.search(text)]
    failures += [f"'{text}' is a broken bench" for text in NO_BENCH if BROKEN.search(text)]
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
