# SPDX-License-Identifier: Apache-2.0
"""Slow paths: calm is right."""

from checks import expect, scenario
from pair import Pair, struck
from scenarios.losses import told


@scenario("M6")
def long_way(lab):
    """A round trip of 90 ms, with the deadlines that users get."""
    pair = Pair(lab, "resilient")
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link any latency 45ms")
    pair.wait_messages(60)
    struck(lab, number)
    return told(pair.finish().expect(failovers=0, path_faults=0, resent_bytes=0))


@scenario("M3")
def slow_primary(lab):
    """A fraction of its speed and no errors: no reason to leave."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(40)
    (number,) = lab.inject("link host0.port0 throttle 40Mbps")
    before = lab.now()
    pair.wait_messages(100)
    took = lab.now() - before
    expect(took >= 100 * 65536 * 8 / 40e6 * 0.5, f"it was not slower: {took:.2f} s")
    struck(lab, number)
    return told(pair.finish().expect(failovers=0, path_faults=0))
