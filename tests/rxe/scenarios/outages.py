# SPDX-License-Identifier: Apache-2.0
"""Outages: short ones, second ones, and those of every path."""

from checks import expect, scenario
from pair import Pair, struck
from scenarios.losses import BACKUP, PRIMARY, told


GAVE_UP = ("transport retries exceeded", "peer left the path")


@scenario("A7")
def shorter_than_the_hold(lab):
    """The port is down for a third of the hold: the NIC sends again by itself, and nothing else happens."""
    pair = Pair(lab, "long_hold")
    pair.wait_up().wait_messages(20)
    downs = lab.counter(0, PRIMARY, "link_downed")
    (number,) = lab.inject("link host0.port0 down for 1s")
    lab.wait(2)
    expect(lab.counter(0, PRIMARY, "link_downed") == downs + 1, "the driver saw no port down")
    struck(lab, number)
    pair.wait_messages(40)
    result = pair.finish().expect(failovers=0, failbacks=0, path_faults=0, resent_bytes=0)
    return f"{result.s['messages']} messages"


@scenario("A7_longer")
def longer_than_the_hold(lab):
    pair = Pair(lab, "long_hold")
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link host0.port0 down for 6s")
    pair.wait_event("switched", path=BACKUP)
    struck(lab, number)
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    result = pair.finish().expect(failovers=1, failbacks=1)
    expect(result.still() >= 2500, f"still for {result.still()} ms only")
    return told(result)


@scenario("A7_retries")
def within_the_retry_window(lab):
    """Only the NIC's giving up counts: an outage of 2 s of its 7.5 s is ridden out."""
    pair = Pair(lab, "retry_timeout")
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link host1.port0 down for 2s")
    lab.wait(2.5)
    pair.wait_messages(40)
    struck(lab, number)
    result = pair.finish().expect(failovers=0, path_faults=0, resent_bytes=0)
    return f"{result.s['messages']} messages"


@scenario("A7_beyond")
def beyond_the_retry_window(lab):
    """The NIC gives up by itself, and its completion alone tells."""
    pair = Pair(lab, "retry_timeout")
    pair.wait_up().wait_messages(20)
    exceeded = [lab.counter(host, PRIMARY, "retry_exceeded_err") for host in (0, 1)]
    (number,) = lab.inject("link host1.port0 down")
    pair.wait_event("switched", path=BACKUP)
    struck(lab, number)
    seen = [lab.counter(host, PRIMARY, "retry_exceeded_err") for host in (0, 1)]
    expect(seen != exceeded, "no NIC gave up")
    pair.wait_messages(20)
    result = pair.finish().expect(failovers=1)
    result.lost("sender", *GAVE_UP).lost("receiver", *GAVE_UP)
    expect(result.still() >= 3000, f"still for {result.still()} ms only")
    return told(result)


@scenario("A5_during_switch")
def second_failure_during_the_switch(lab):
    """The backup goes as well, a moment after the primary; it comes back, the primary does not."""
    pair = Pair(lab, "resilient")
    pair.wait_up().wait_messages(20)
    numbers = lab.inject("link host0.port0 down\nat 60ms link host1.port1 down for 2s")
    lab.until(lambda: len(numbers) == sum(bool(lab.fired(n)) for n in numbers), 5)
    for number in numbers:
        struck(lab, number)
    lab.wait(2.2)
    pair.wait_messages(20)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failovers=lambda n: n >= 1, path=PRIMARY))


@scenario("A5_backup_first")
def backup_lost_before(lab):
    """An idle backup that dies is noticed; when it is back, the primary may go."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    lab.inject("link host0.port1 down")
    pair.wait_event("path_lost", path=BACKUP).wait_messages(10)
    lab.end_faults()
    pair.wait_event("rearmed", path=BACKUP)
    (number,) = lab.inject("link host0.port0 down")
    pair.wait_event("switched", path=BACKUP).wait_messages(20)
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(10)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("A5")
def both_paths_dead(lab):
    """One clean error at both ends, with the same first cause, by the deadline of 8 s; no request is left."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    numbers = lab.inject("link host0.port0 down\nlink host0.port1 down")
    result = pair.fail(limit=30)
    for number in numbers:
        struck(lab, number)
    result.expect(ok=False, cause="port down")
    return result.s["problem"]


@scenario("A5_silent")
def both_paths_dead_and_no_word(lab):
    """No message can pass either: each end finds out by itself."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    numbers = lab.inject("drop any any\nlink host0.port2 down")
    result = pair.fail(limit=40)
    for number in numbers:
        struck(lab, number)
    result.expect(ok=False, cause=lambda cause: cause in ("stalled, no answer to a probe", "peer left the path"))
    return result.s["problem"]


@scenario("A5_no_backup")
def no_backup(lab):
    """Without a backup the NIC's giving up ends the connection."""
    pair = Pair(lab, "no_backup", ports="rxe0:1", limit=25)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link host1.port0 down")
    result = pair.fail(limit=50)
    struck(lab, number)
    result.expect("sender", ok=False, cause="transport retries exceeded")
    return result.s["problem"]
