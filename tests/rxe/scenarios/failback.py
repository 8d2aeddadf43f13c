# SPDX-License-Identifier: Apache-2.0
"""Coming back: idle ends, addresses that moved, many flaps, packets of an earlier life."""

from checks import expect, scenario
from pair import Pair, struck
from scenarios.losses import BACKUP, PRIMARY, told
from tools import gid_at, gid_of, gids

FLAPS = 10


@scenario("C1")
def idle_ends(lab):
    """Nobody posts or polls: the service threads move the connection and bring it back."""
    pair = Pair(lab, sender="--count 50")
    pair.wait_up().wait_done()
    (number,) = lab.inject("link host0.port0 down")
    pair.wait_event("switched", path=BACKUP)
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY)
    return told(pair.finish().expect(failovers=1, failbacks=1, messages=50, resent_bytes=0))


@scenario("C1_late")
def waiting_receiver(lab):
    """The receiver waits for data that come seldom, and sees nothing of the sender's dead cable."""
    pair = Pair(lab, both="--sizes 1000", rate=2000)
    pair.wait_up().wait_messages(2)
    (number,) = lab.inject("link host0.port0 down")
    pair.wait_event("switched", path=BACKUP)
    struck(lab, number)
    lab.wait(2)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(2)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("C2")
def gid_moved_meanwhile(lab):
    """The primary comes back with its GID at another index: by value it is found."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    down, moved = lab.inject("link host0.port0 down\ngid host0.port0 move 5")
    pair.wait_event("switched", path=BACKUP).wait_messages(20)
    expect(gid_at(lab, 0, 0, 5) == gid_of(0, 1), "the GID is not at 5")
    lab.inject("link host0.port0 up")
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    expect(gid_at(lab, 0, 0, 5) == gid_of(0, 1), "the GID was not at 5 all the time")
    struck(lab, down)
    struck(lab, moved)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("K6")
def gid_removed(lab):
    """The port stays ACTIVE and has no address; when it has one again, traffic returns."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("gid host0.port0 remove")
    pair.wait_event("switched", path=BACKUP).wait_messages(20)
    expect(lab.port_state(0, PRIMARY) == "ACTIVE", "the port went down")
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("K6_new")
def gid_changed(lab):
    """Another address than before: the peer is told and uses it."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("gid host1.port0 new")
    pair.wait_event("switched", path=BACKUP).wait_messages(20)
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    expect(gid_of(0, 102) in gids(lab, 1, 0) and gid_of(0, 2) not in gids(lab, 1, 0), "the GID is not the new one")
    struck(lab, number)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("C7")
def flaps(lab):
    """Ten times down and up; what is counted is equal at both ends, and no work fails after the return (C5)."""
    pair = Pair(lab, limit=200)
    pair.wait_up().wait_messages(10)
    for flap in range(1, FLAPS + 1):
        host = flap % 2
        (number,) = lab.inject(f"link host{host}.port0 down")
        pair.wait_event("switched", flap, path=BACKUP)
        struck(lab, number)
        lab.inject(f"link host{host}.port0 up")
        pair.wait_event("returned", flap, path=PRIMARY).wait_messages(5)
    result = pair.finish().expect(failovers=FLAPS, failbacks=FLAPS)
    return told(result)


@scenario("I3")
def packets_of_an_earlier_life(lab):
    """Data stay in the network for 15 s: they arrive when the primary has been fenced, armed again and is in use."""
    pair = Pair(lab, both="--sizes 8192 --window 4")
    pair.wait_up().wait_messages(30)
    (number,) = lab.inject("delay data host0.port0 by 15s")
    begun = lab.now()
    pair.wait_event("switched", path=BACKUP)
    struck(lab, number)
    lab.end_fault(number)  # what was delayed stays so
    pair.wait_event("returned", path=PRIMARY)
    expect(lab.now() < begun + 15, "they arrived before the primary was in use again")
    pair.stop()  # from here on nothing but them comes
    heard = lab.counter(1, PRIMARY, "rcvd_pkts")
    lab.until(lambda: lab.now() > begun + 15 + 5, 30)
    expect(lab.counter(1, PRIMARY, "rcvd_pkts") > heard, "nothing arrived")
    return told(pair.finish().expect(failovers=lambda n: n >= 1, path=PRIMARY))


@scenario("C4")
def two_connections_cross(lab):
    """Each has as its backup what the other has as its primary: one port down moves one of them."""
    first, second = Pair(lab, ports="rxe0:1,rxe1:1"), Pair(lab, ports="rxe1:1,rxe0:1")
    for pair in (first, second):
        pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link host0.port0 down")
    first.wait_event("switched", path=1)
    second.wait_event("path_lost", path=1)
    for pair in (first, second):
        pair.wait_messages(20)
    struck(lab, number)
    lab.end_faults()
    first.wait_event("returned", path=0)
    second.wait_event("rearmed", path=1)
    for pair in (first, second):
        pair.wait_messages(20)
    first.stop(), second.stop()
    second.finish().expect(failovers=0, failbacks=0, resent_bytes=0)
    return told(first.finish().expect(failovers=1, failbacks=1))
