# SPDX-License-Identifier: Apache-2.0
"""A stream between the lab's hosts whose primary fails and comes back, and what that costs."""

import time

from hosts import Broke, Disturbed, lines

# What is done to the sender's and the receiver's primary, and what undoes it. The black hole leaves all ports ACTIVE.
FAULTS = {
    "senders_cable": ("link host0.port0 down", "link host0.port0 up"),
    "receivers_cable": ("link host1.port0 down", "link host1.port0 up"),
    "black_hole": ("drop any host0.port0\ndrop any host1.port0", None),
}
BYTES, WINDOW = 32768, 8
LIMIT = 150  # seconds of a run


def until(hosts, jobs, what, limit):
    """The first line that says so; when it was seen here."""
    found = []

    def look():
        found[:] = [line for line in lines(jobs[0]) if line["what"] == what]
        return found or any(job.status is not None for job in jobs)

    hosts.lab.until(look, limit)
    if not found:
        for job in jobs:
            hosts.log.write(f"== {job.host.name}: {job.script}\n{job.output()}\n")
        said = "\n".join(f"{job.host.name}: {job.status} {job.output()[-1500:]}" for job in jobs)
        raise Broke(f"no '{what}' within {limit} s:\n{said}")
    return found[0], time.monotonic()


def fence_ms(job):
    """From the loss of the primary to its being quiet."""
    at = {}
    for line in lines(job):
        if line["what"] == "event" and line["path"] == 0:
            at.setdefault(line["kind"], line["at_ms"])
    if "path_lost" not in at or "fenced" not in at:
        raise Broke(f"{job.host.name} tells of no fence:\n{job.output()[-1500:]}")
    return at["fenced"] - at["path_lost"]


def failover(hosts, bundle, fault, *words):
    """One run: a dictionary of what was measured."""
    lab = hosts.lab
    harm, repair = FAULTS[fault]
    jobs = hosts.ours("failover", bundle, "--bytes", BYTES, "--window", WINDOW, *words, limit=LIMIT)
    until(hosts, jobs, "flowing", 60)
    lab.wait(0.3)
    numbers = lab.inject(harm)
    switched, _ = until(hosts, jobs, "switched", 60)
    compared, _ = until(hosts, jobs, "compared", 90)
    if min(map(lab.fired, numbers)) < 1:
        raise Broke(f"the fault did not strike: {harm}")
    begun = time.monotonic()
    if repair:
        lab.inject(repair)
    else:
        lab.end_faults()
    returned, at = until(hosts, jobs, "returned", 90)
    hosts.finish(jobs, LIMIT)
    lab.end_faults()
    gaps = [line["ms"] for line in lines(jobs[1]) if line["what"] == "gap" and (line["from"], line["to"]) == (0, 1)]
    backup = next(line for line in lines(jobs[0]) if line["what"] == "backup")
    end = lines(jobs[1])[-1]
    if end["failovers"] < 1 or end["failbacks"] < 1:
        raise Broke(f"no failover or no failback:\n{jobs[1].output()[-1500:]}")
    switches = sum(line["what"] == "event" and line["kind"] == "switched" for line in lines(jobs[1]))
    if (len(gaps), switches, end["failovers"], end["failbacks"]) != (1, 1, 1, 1):
        raise Disturbed("more than one failover: the machine is too busy")
    cause = next(line["cause"] for line in lines(jobs[1]) if line["what"] == "event" and line["kind"] == "path_lost")
    return {
        "outage_ms": gaps[0],
        "resent_bytes": switched["resent_bytes"],
        "backup_share": backup["mine"] / backup["alone"],
        "failback_ms": (at - begun) * 1e3,
        "failback_resent_bytes": returned["resent_bytes"] - compared["resent_bytes"],
        "fence_ms": max(map(fence_ms, jobs)),
        "cause": cause,
    }
