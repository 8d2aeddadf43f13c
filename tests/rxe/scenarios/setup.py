# SPDX-License-Identifier: Apache-2.0
"""Connecting while not all is well."""

from checks import expect, scenario
from pair import Pair, struck
from scenarios.losses import BACKUP, PRIMARY, told


@scenario("N7")
def primary_down_at_start(lab):
    """Starts on the backup, and goes to the primary when it comes up."""
    (number,) = lab.inject("link host0.port0 down")
    lab.until(lambda: lab.port_state(0, PRIMARY) == "DOWN", 5)
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    for end in pair.ends:
        expect(end.last("position")["path"] == BACKUP, f"not on the backup:\n{pair.says()}")
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failbacks=1, path=PRIMARY))


@scenario("D8")
def receiver_port_down_at_start(lab):
    (number,) = lab.inject("link host1.port0 down")
    lab.until(lambda: lab.port_state(1, PRIMARY) == "DOWN", 5)
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failbacks=1, path=PRIMARY))


@scenario("D8_both")
def all_ports_down_at_start(lab):
    """One error at both ends, in time."""
    numbers = lab.inject("link host0.port0 down\nlink host0.port1 down")
    lab.until(lambda: lab.port_state(0, BACKUP) == "DOWN", 5)
    pair = Pair(lab, limit=40)
    result = pair.fail(limit=30)
    for number in numbers:
        struck(lab, number)
    result.expect(ok=False)
    return result.s["problem"]


@scenario("D10")
def management_network_late(lab):
    """The sender dials while nobody can be reached yet."""
    (number,) = lab.inject("link host1.port2 down")
    pair = Pair(lab)
    lab.wait(3)
    expect(not pair.sender.last("up"), "it came up without a network")
    struck(lab, number)
    lab.end_faults()
    pair.wait_up().wait_messages(20)
    return told(pair.finish().expect(failovers=0))


@scenario("D11")
def one_end_has_no_backup(lab):
    """Said at set-up: the connection works, and has no backup at either end."""
    pair = Pair(lab, ports=("rxe0:1,rxe1:1", "rxe0:1"))
    pair.wait_up().wait_messages(20)
    for end in pair.ends:
        expect(end.last("position")["has_backup"] is False, f"a backup is promised:\n{pair.says()}")
    return told(pair.finish().expect(failovers=0))


@scenario("D4")
def mtu_differs(lab):
    """4096 at one end, 1024 at the other, the other way round on the backup."""
    for host, port in ((1, 0), (0, 1)):
        lab.command(host, f"ip link set eth{port} mtu 1500")
    try:
        mtus = lab.call(1, "ibv_devinfo | grep active_mtu")[1]
        pair = Pair(lab, both="--sizes 1,1023,1024,1025,4095,4096,4097,1048576")
        pair.wait_up().wait_messages(24)
        (number,) = lab.inject("link host0.port0 down")
        pair.wait_event("switched", path=BACKUP).wait_messages(24)
        struck(lab, number)
        lab.end_faults()
        pair.wait_event("returned", path=PRIMARY).wait_messages(24)
        result = pair.finish().expect(failovers=1, failbacks=1)
    finally:
        lab.end_faults()
        for host, port in ((1, 0), (0, 1)):
            lab.command(host, f"ip link set eth{port} mtu 4200")
    expect("1024" in mtus and "4096" in mtus, f"the MTUs did not differ: {mtus}")
    return told(result)


@scenario("N2")
def no_such_port(lab):
    """A name that no device has is an error of set-up which names it; rxe0 does not take rxe01."""
    pair = Pair(lab, ports=("rxe01:1", "rxe0:1"), limit=10)
    lab.until(lambda: pair.sender.job.status is not None, 15)
    expect(pair.sender.job.status == 1, pair.says())
    problem = pair.sender.last("final")["problem"]
    expect("rxe01:1" in problem, pair.says())
    return problem


IPV4_COUNTED = "delay any host0.port0 by 1us"  # a fault that only counts: packets of IPv4, as all faults


def with_ipv6(lab, script):
    """Gives both hosts' primary ports addresses of IPv6, does something with them, and takes them away again."""
    for host in (0, 1):
        lab.command(host, "echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6\n"
                          f"ip addr add fd93::{host + 1}/64 dev eth0 nodad")  # fmt: skip
    try:
        for host in (0, 1):
            gids = "cat /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null"
            seen = lab.until(lambda: f"fd93:0000:0000:0000:0000:0000:0000:000{host + 1}" in lab.call(host, gids)[1], 5)
            expect(seen, f"no GID of the address of IPv6: {lab.call(host, gids)[1]}")
        return script()
    finally:
        lab.end_faults()
        for host in (0, 1):
            lab.command(host, "echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6")


@scenario("D1")
def gid_among_others(lab):
    """Of a link-local, a local IPv6 and an IPv4 GID the last one is taken."""

    def script():
        (number,) = lab.inject(IPV4_COUNTED)
        pair = Pair(lab)
        pair.wait_up().wait_messages(20)
        struck(lab, number, 20)
        return told(pair.finish().expect(failovers=0))

    return with_ipv6(lab, script)


@scenario("D2")
def gid_of_ipv6_only(lab):
    """Without an IPv4 GID the routable one of IPv6 is taken."""

    def script():
        lab.inject("gid host0.port0 remove\ngid host1.port0 remove")
        for host in (0, 1):  # removing takes all addresses
            lab.command(host, f"ip addr add fd93::{host + 1}/64 dev eth0 nodad")
        # The hosts' kernels take their time to find each other.
        status, said = lab.call(0, "for i in {1..20}; do /bin/busybox ping -6 -c 1 -W 1 fd93::2 && exit; done; exit 1")
        expect(status == 0, f"no way from fd93::1 to fd93::2: {said}")
        (number,) = lab.inject(IPV4_COUNTED)
        before = lab.counter(0, PRIMARY, "sent_pkts")
        pair = Pair(lab)
        pair.wait_up().wait_messages(20)
        expect(lab.counter(0, PRIMARY, "sent_pkts") >= before + 20, f"not on the primary:\n{pair.says()}")
        expect(lab.fired(number) == 0, "IPv4 was used")
        return told(pair.finish().expect(failovers=0))

    return with_ipv6(lab, script)


@scenario("J5")
def locked_memory_limited(lab):
    """One error of set-up that says what is short."""
    limited = "ulimit -l 64; exec setpriv --bounding-set=-ipc_lock"
    pair = Pair(lab, wrap=(limited, ""), limit=15)
    lab.until(lambda: pair.sender.job.status is not None, 20)
    expect(pair.sender.job.status == 1, pair.says())
    problem = pair.sender.last("final")["problem"]
    expect("ulimit -l" in problem, pair.says())
    return problem
