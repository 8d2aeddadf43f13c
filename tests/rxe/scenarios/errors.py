# SPDX-License-Identifier: Apache-2.0
"""What a pause, a lossy path and a full queue must not be taken for."""

from checks import expect, scenario
from pair import Pair, struck
from scenarios.losses import PRIMARY, told


@scenario("B10")
def lossy_path(lab):
    """Five packets of a hundred are lost. The NIC sends them again; what arrives is right, whatever is decided."""
    pair = Pair(lab, both="--sizes 8192")
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("every p=0.05 drop any host0.port0")
    pair.wait_messages(150)
    struck(lab, number, 3)
    lab.end_faults()
    return told(pair.finish())


@scenario("M1")
def slightly_lossy_path(lab):
    """One packet of a hundred: while there is progress, nobody calls the path dead."""
    pair = Pair(lab, "long_hold", both="--sizes 8192")
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("every p=0.01 drop any host0.port0")
    pair.wait_messages(150)
    struck(lab, number)
    lab.end_faults()
    return told(pair.finish().expect(failovers=0, path_faults=0, resent_bytes=0))


@scenario("H11")
def sender_busy(lab):
    """The sender's application does nothing for a while, with CTS waiting for it: it is slow, not dead."""
    pair = Pair(lab, both="--sizes 4096 --window 32", sender="--pause-after 100 --pause 3")
    pair.wait_up()
    pair.until(lambda: pair.sender.last("goes_on"), "back from its pause")
    pair.wait_messages(100)
    return told(pair.finish().expect(failovers=0, path_faults=0))


@scenario("M5")
def receiver_busy(lab):
    """The receiver's application does nothing for a while. No NIC is ever told that a receiver is not ready."""
    before = [lab.counter(host, PRIMARY, name) for host in (0, 1) for name in RNR]
    pair = Pair(lab, both="--sizes 4096 --window 32", receiver="--pause-after 100 --pause 3")
    pair.wait_up()
    pair.until(lambda: pair.receiver.last("goes_on"), "back from its pause")
    pair.wait_messages(100)
    result = pair.finish().expect(failovers=0, path_faults=0)
    after = [lab.counter(host, PRIMARY, name) for host in (0, 1) for name in RNR]
    expect(after == before, f"receiver not ready: {before}, then {after}")
    return told(result)


RNR = ("rcvd_rnr_err", "send_rnr_err")


@scenario("E1")
def late_acknowledgements(lab):
    """Acknowledgements come 150 ms late, when their slots have been used again and again."""
    pair = Pair(lab, both="--sizes 4096 --window 4")
    pair.wait_up().wait_messages(20)
    numbers = lab.inject("delay ack host0.port0 by 150ms\ndelay ack host1.port0 by 150ms")
    pair.wait_messages(40)
    for number in numbers:
        struck(lab, number, 10)
    return told(pair.finish().expect(failovers=0, path_faults=0))


@scenario("E13")
def duplicates_and_disorder(lab):
    """Packets arrive twice and out of order: nothing is delivered twice."""
    pair = Pair(lab, both="--sizes 16384")
    pair.wait_up().wait_messages(20)
    twice, mixed = lab.inject("duplicate any host0.port0\nreorder data host1.port0 by 5ms")
    pair.wait_messages(60)
    struck(lab, twice, 10)
    struck(lab, mixed, 10)
    lab.end_faults()
    return told(pair.finish())
