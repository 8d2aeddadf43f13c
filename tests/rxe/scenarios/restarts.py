# SPDX-License-Identifier: Apache-2.0
"""A host dies, with everything on it, and may come back."""

from checks import expect, scenario
from pair import Pair, struck


def survivor(pair, lab, dead, limit=40):
    """The end on the other host ends with one clean error."""
    end = next(end for end in pair.ends if end.host != dead)
    lab.until(lambda: end.job.status is not None, limit)
    expect(end.job.status == 1, f"no clean error within {limit} s:\n{pair.says()}")
    expect(not end.all("pending"), f"requests are left pending:\n{pair.says()}")
    final = end.last("final")
    expect(final["cause"] in FOUND_OUT, f"for another cause than {FOUND_OUT}:\n{pair.says()}")
    return final


FOUND_OUT = ("stalled, no answer to a probe", "transport retries exceeded", "work flushed", "peer restarted")


@scenario("B3")
def receiver_killed(lab):
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("kill host1")
    final = survivor(pair, lab, 1)
    struck(lab, number)
    return final["problem"]


@scenario("B3_sender")
def sender_killed(lab):
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("kill host0")
    final = survivor(pair, lab, 0)
    struck(lab, number)
    return final["problem"]


@scenario("B3_restart")
def receiver_restarted(lab):
    """A new receiver at the same address is not the old one: nothing is sent to it, and a new connection works."""
    port = "--oob-port 21000"
    old = Pair(lab, "resilient", receiver=port)
    old.wait_up().wait_messages(20)
    (number,) = lab.inject("kill host1\nrevive host1")[:1]
    new = Pair(lab, receiver=port)
    final = survivor(old, lab, 1, limit=60)
    struck(lab, number)
    new.wait_up().wait_messages(20)
    new.finish().expect(failovers=0)
    return final["problem"]


@scenario("B3_process")
def receiver_process_killed(lab):
    """Only the process dies: its host still answers, and says so."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    lab.kill_job(pair.receiver.job)
    final = survivor(pair, lab, 1)
    expect(pair.receiver.job.status not in (0, 1, None), "the receiver ended by itself")
    return final["problem"]
