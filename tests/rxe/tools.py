# SPDX-License-Identifier: Apache-2.0
"""Checks of the lab itself, with rdma-core's own tools: its ports, its cables, and that each fault does what it says."""

import re

CHECKS = {}
PORTS = ((0, 0), (0, 1), (1, 0), (1, 1))


class CheckFailed(Exception):
    """What was seen is not what should be."""


def check(function):
    CHECKS[function.__name__] = function
    return function


def expect(condition, message):
    if not condition:
        raise CheckFailed(message)


def pingpong(lab, port, count=100, limit=60):
    """Starts a ping-pong of messages of 4 KiB over a port, set up out of band; server in host 0, client in host 1."""
    command = f"ibv_rc_pingpong -d rxe{port} -g 1 -m 4096 -s 4096 -n {count} -p {18515 + port}"
    server = lab.start(0, command, limit)
    status, output = lab.call(0, f"for i in {{1..200}}; do ss -Hltn | grep -q :{18515 + port} && exit; sleep 0.05; done; exit 1")
    expect(status == 0, f"the server does not listen: {server.output()}{output}")
    return server, lab.start(1, f"{command} 10.0.2.1", limit)


def finished(lab, jobs, limit=90):
    for job in lab.finish(*jobs, limit=limit):
        expect(job.status == 0, f"{job.host.name}: {job.script} ended with {job.status}: {job.output()}")
    rate = re.search(r"([\d.]+) usec/iter", jobs[1].output())
    expect(rate, f"no result from the ping-pong: {jobs[1].output()}")
    return float(rate[1])


def running(jobs):
    return all(job.status is None for job in jobs)


@check
def two_ports_each(lab):
    for host in (0, 1):
        _, output = lab.call(host, "ibv_devinfo")
        devices = re.findall(r"hca_id:\s+(\S+)", output)
        states = re.findall(r"state:\s+(PORT_\w+)", output)
        expect(devices == ["rxe0", "rxe1"] and states == ["PORT_ACTIVE"] * 2, f"host{host}: {output}")


@check
def pingpong_on_both_ports(lab):
    for port in (0, 1):
        finished(lab, pingpong(lab, port))


@check
def cable_pulled_and_plugged(lab):
    for host, port in PORTS:
        (number,) = lab.inject(f"link host{host}.port{port} down")
        expect(lab.until(lambda: lab.port_state(host, port) == "DOWN", 5), f"host{host}.port{port} is not DOWN")
        others = [place for place in PORTS if place != (host, port)]
        expect(all(lab.port_state(*place) == "ACTIVE" for place in others), "another port went down with it")
        expect(lab.fired(number) == 1, "the fault did not fire")
        lab.inject(f"link host{host}.port{port} up")
        expect(lab.until(lambda: lab.port_state(host, port) == "ACTIVE", 5), f"host{host}.port{port} is not ACTIVE")
    finished(lab, pingpong(lab, 0))


@check
def drop_of_acks_stops_and_ends(lab):
    (number,) = lab.inject("drop ack host1.port0")
    jobs = pingpong(lab, 0)
    expect(lab.until(lambda: lab.fired(number) >= 3, 20), f"only {lab.fired(number)} acknowledgements dropped")
    expect(running(jobs), f"it ran without acknowledgements: {jobs[0].output()}{jobs[1].output()}")
    finished(lab, pingpong(lab, 1))
    expect(running(jobs), "it ran without acknowledgements")
    lab.end_faults()
    finished(lab, jobs)  # they were retried all the time


@check
def drop_of_data_spares_acks(lab):
    data, acks = lab.inject("drop data host1.port1\ndrop ack host1.port1")
    jobs = pingpong(lab, 1)
    expect(lab.until(lambda: lab.fired(data) >= 3, 20), f"only {lab.fired(data)} data packets dropped")
    expect(running(jobs), "it ran without data")
    lab.end_faults()
    finished(lab, jobs)


@check
def drop_by_chance_slows(lab):
    (number,) = lab.inject("every p=0.02 drop any host0.port0")
    finished(lab, pingpong(lab, 0))
    expect(lab.fired(number) >= 1, "nothing was dropped")


@check
def delay_is_seen(lab):
    (number,) = lab.inject("delay any host0.port0 by 40ms")
    took = finished(lab, pingpong(lab, 0, count=20))
    expect(took >= 40000, f"{took} us a round trip in spite of the delay")
    expect(lab.fired(number) >= 20, "too few packets delayed")


@check
def throttle_is_seen(lab):
    (number,) = lab.inject("link host0.port1 throttle 1Mbps")
    took = finished(lab, pingpong(lab, 1, count=20))
    expect(took >= 4096 * 8, f"{took} us a round trip in spite of 1 Mbps")
    expect(lab.fired(number) == 1, "the fault did not fire")


@check
def black_hole_keeps_ports_active(lab):
    (number,) = lab.inject("drop any host0.port0 for 2s")
    jobs = pingpong(lab, 0)
    lab.wait(1)
    expect(all(lab.port_state(*place) == "ACTIVE" for place in PORTS), "a port went down")
    finished(lab, jobs)
    expect(lab.fired(number) >= 1, "nothing was dropped")


@check
def gid_follows_address(lab):
    gid = "cat /sys/class/infiniband/rxe0/ports/1/gids/1 2>&1"
    before = lab.call(0, gid)[1]
    lab.inject("gid host0.port0 new")
    expect(lab.until(lambda: "0a00:0065" in lab.call(0, gid)[1], 5), f"still {lab.call(0, gid)[1]}")
    lab.inject("gid host0.port0 restore")
    expect(lab.until(lambda: lab.call(0, gid)[1] == before, 5), f"not restored: {lab.call(0, gid)[1]}")


@check
def killed_host_comes_back(lab):
    jobs = pingpong(lab, 0, count=1000000, limit=8)
    (number,) = lab.inject("kill host1")
    expect(jobs[1].status == "dead" and lab.fired(number) == 1, "the host lives")
    expect(lab.port_state(0, 0) == "ACTIVE", "the other host saw a cable pulled")
    lab.finish(jobs[0])
    lab.inject("revive host1")
    finished(lab, pingpong(lab, 0))
