# SPDX-License-Identifier: Apache-2.0
"""Checks of the lab itself, with rdma-core's own tools: its ports, its cables, and that each fault does what it says."""

import re

from checks import check, control, expect

PORTS = ((0, 0), (0, 1), (1, 0), (1, 1))
MANAGEMENT = 2
BYTES = 4096


def pingpong(lab, port, count=100, limit=60, size=BYTES, mtu=4096, gids=(1, 1)):
    """Starts a ping-pong over a port, set up out of band; server in host 0, client in host 1."""
    command = f"ibv_rc_pingpong -d rxe{port} -m {mtu} -s {size} -n {count} -p {18515 + port}"
    server = lab.start(0, f"{command} -g {gids[0]}", limit)
    listens = f"ss -Hltn | grep -q :{18515 + port}"
    status, output = lab.call(0, f"for i in {{1..200}}; do {listens} && exit; sleep 0.05; done; exit 1")
    expect(status == 0, f"the server does not listen: {server.output()}{output}")
    return server, lab.start(1, f"{command} -g {gids[1]} 10.99.0.1", limit)


def finished(lab, jobs, limit=90):
    for job in lab.finish(*jobs, limit=limit):
        expect(job.status == 0, f"{job.host.name}: {job.script} ended with {job.status}: {job.output()}")
    rate = re.search(r"([\d.]+) usec/iter", jobs[1].output())
    expect(rate, f"no result from the ping-pong: {jobs[1].output()}")
    return float(rate[1])


def running(jobs):
    return all(job.status is None for job in jobs)


def gid_at(lab, host, port, index):
    return lab.call(host, f"cat /sys/class/infiniband/rxe{port}/ports/1/gids/{index} 2>&1")[1].strip()


def gids(lab, host, port):
    """All of a port that are there. A GID that a QP still names keeps its index: a new one gets another."""
    return lab.call(host, f"cat /sys/class/infiniband/rxe{port}/ports/1/gids/* 2>/dev/null")[1].split()


def gid_of(port, number):
    return f"0000:0000:0000:0000:0000:ffff:0a00:{port:02x}{number:02x}"


def hears(lab, host):
    """Whether the other host answers on the management network."""
    return lab.call(host, f"/bin/busybox ping -c 1 -W 1 10.99.0.{2 - host}")[0] == 0


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
        downs = lab.counter(host, port, "link_downed")
        (number,) = lab.inject(f"link host{host}.port{port} down")
        expect(lab.until(lambda: lab.port_state(host, port) == "DOWN", 5), f"host{host}.port{port} is not DOWN")
        others = [place for place in PORTS if place != (host, port)]
        expect(all(lab.port_state(*place) == "ACTIVE" for place in others), "another port went down with it")
        expect(lab.fired(number) == 1, "the fault did not fire")
        expect(lab.counter(host, port, "link_downed") == downs + 1, "the driver counts no port down")
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
    """Host 1 sends first: host 0 acknowledges, and its own data are lost."""
    data, acks = lab.inject("drop data host0.port1\ndelay ack host0.port1 by 1ms")
    heard = lab.counter(1, 1, "rcvd_pkts")
    jobs = pingpong(lab, 1)
    expect(lab.until(lambda: lab.fired(data) >= 3, 20), f"only {lab.fired(data)} data packets dropped")
    expect(running(jobs), "it ran without data")
    expect(lab.fired(acks) >= 1, "no acknowledgement left")
    expect(lab.counter(1, 1, "rcvd_pkts") > heard, "no acknowledgement arrived")
    lab.end_faults()
    finished(lab, jobs)


@check
def drop_by_chance_is_resent(lab):
    """About 800 packets: the chance that none is dropped is 1e-7."""
    (number,) = lab.inject("every p=0.02 drop any host0.port0")
    finished(lab, pingpong(lab, 0, count=400))
    expect(1 <= lab.fired(number) < 400, f"{lab.fired(number)} packets were dropped")


@check
def delay_is_seen(lab):
    (number,) = lab.inject("delay any host0.port0 by 40ms")
    took = finished(lab, pingpong(lab, 0, count=20))
    expect(took >= 40000, f"{took} us a round trip in spite of the delay")
    expect(lab.fired(number) >= 20, "too few packets delayed")


@check
def latency_is_seen(lab):
    (number,) = lab.inject("link host1.port1 latency 30ms")
    took = finished(lab, pingpong(lab, 1, count=20))
    expect(took >= 30000, f"{took} us a round trip in spite of the latency")
    expect(lab.fired(number) == 1, "the fault did not fire")


@check
def throttle_is_seen(lab):
    (number,) = lab.inject("link host0.port1 throttle 1Mbps")
    took = finished(lab, pingpong(lab, 1, count=20))
    expect(took >= BYTES * 8, f"{took} us a round trip in spite of 1 Mbps")
    expect(lab.fired(number) == 1, "the fault did not fire")


@check
def reorder_is_seen(lab):
    """Several packets a message: some arrive too early and are asked for again."""
    early = lab.counter(0, 0, "out_of_seq_request")
    (number,) = lab.inject("reorder data host1.port0 by 10ms")
    finished(lab, pingpong(lab, 0, count=20, size=16384, mtu=1024))
    expect(lab.fired(number) >= 320, f"only {lab.fired(number)} packets picked")
    expect(lab.counter(0, 0, "out_of_seq_request") > early, "none arrived too early")


@check
def duplicate_is_seen(lab):
    twice = lab.counter(0, 1, "duplicate_request")
    (number,) = lab.inject("duplicate data host1.port1")
    finished(lab, pingpong(lab, 1, count=50))
    expect(lab.fired(number) >= 50, f"only {lab.fired(number)} packets picked")
    expect(lab.counter(0, 1, "duplicate_request") >= twice + 50, "they did not arrive twice")


@check
def black_hole_keeps_ports_active(lab):
    (number,) = lab.inject("drop any host0.port0")
    jobs = pingpong(lab, 0)
    expect(lab.until(lambda: lab.fired(number) >= 3, 20), "nothing was dropped")
    expect(all(lab.port_state(*place) == "ACTIVE" for place in PORTS), "a port went down")
    lab.end_faults()
    finished(lab, jobs)


@check
def out_of_band_is_lost_and_returns(lab):
    for line in ("drop oob host0", "link host1.port2 down"):
        expect(hears(lab, 0) and hears(lab, 1), "the management network does not work")
        (number,) = lab.inject(line)
        expect(not hears(lab, 0) and not hears(lab, 1), f"{line}: messages still arrive")
        expect(lab.fired(number) >= 1, f"{line}: did not fire")
        expect(all(lab.port_state(*place) == "ACTIVE" for place in PORTS), f"{line}: a RoCE port went down")
        lab.end_faults()
    expect(lab.until(lambda: hears(lab, 1), 10), "the management network did not return")


@check
def gid_changes_and_returns(lab):
    expect(gid_of(0, 1) in gids(lab, 0, 0), "its GID is not there")
    (new,) = lab.inject("gid host0.port0 new")
    expect(lab.until(lambda: gid_of(0, 101) in gids(lab, 0, 0), 5), "the new one is not there")
    expect(lab.until(lambda: gid_of(0, 1) not in gids(lab, 0, 0), 5), "the old one still is")
    lab.inject("gid host0.port0 restore")
    expect(lab.until(lambda: gid_of(0, 1) in gids(lab, 0, 0), 5), "not restored")
    expect(lab.fired(new) == 1, "the fault did not fire")


@check
def gid_is_removed(lab):
    (number,) = lab.inject("gid host1.port1 remove")
    expect(lab.until(lambda: not any("ffff:0a00" in gid for gid in gids(lab, 1, 1)), 5), "it is still there")
    expect(lab.fired(number) == 1, "the fault did not fire")
    lab.end_faults()
    expect(lab.until(lambda: gid_of(1, 2) in gids(lab, 1, 1), 5), "not restored")


@check
def gid_moves(lab):
    (number,) = lab.inject("gid host0.port0 move 5")
    expect(gid_at(lab, 0, 0, 5) == gid_of(0, 1), f"GID 5 is {gid_at(lab, 0, 0, 5)}")
    expect(gid_at(lab, 0, 0, 1) != gid_of(0, 1), "it is still at 1")
    expect(lab.fired(number) == 1, "the fault did not fire")
    finished(lab, pingpong(lab, 0, gids=(5, 1)))
    lab.end_faults()
    finished(lab, pingpong(lab, 0))


@check
def killed_host_comes_back(lab):
    for dead in (1, 0):
        alive = 1 - dead
        jobs = pingpong(lab, 0, count=1000000, limit=8)
        (number,) = lab.inject(f"kill host{dead}")
        expect(jobs[dead].status == "dead" and lab.fired(number) == 1, "the host lives")
        expect(lab.port_state(alive, 0) == "ACTIVE", "the other host saw a cable pulled")
        lab.finish(jobs[alive])
        lab.inject(f"revive host{dead}")
        finished(lab, pingpong(lab, 0))


@control
def fails_on_purpose(lab):
    expect(lab.port_state(0, 0) == "DOWN", "host0.port0 is not DOWN")


@control
def never_ends(lab):
    lab.wait(100000)


@control
def kernel_bug(lab):
    """What a host's kernel would say in trouble."""
    lab.call(0, "echo '<2>BUG: soft lockup - said on purpose' > /dev/kmsg")
    lab.wait(2)
