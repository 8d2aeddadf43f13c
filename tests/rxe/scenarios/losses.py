# SPDX-License-Identifier: Apache-2.0
"""A path is lost in the middle of traffic: by its cables, or in the network behind ports that stay ACTIVE."""

from checks import control, expect, scenario
from pair import Pair, struck

PRIMARY, BACKUP = 0, 1


def carried(lab, port):
    """Packets that the sender's host has put on a path."""
    return lab.counter(0, port, "sent_pkts")


def moved_and_returned(lab, pair, lines, least=1, after=30, causes=None, end_faults=True):
    """Faults strike in traffic; it goes on over the backup, and comes back when they end. Returns the result."""
    pair.wait_up().wait_messages(after)
    numbers = lab.inject(lines)
    pair.wait_event("switched", path=BACKUP)
    before = carried(lab, BACKUP)
    pair.wait_messages(after)
    expect(carried(lab, BACKUP) > before, f"the backup carries nothing:\n{pair.says()}")
    for number in numbers:
        struck(lab, number, least)
    if end_faults:
        lab.end_faults()
    pair.wait_event("returned", path=PRIMARY)
    before = carried(lab, PRIMARY)
    pair.wait_messages(after)
    expect(carried(lab, PRIMARY) > before, f"the primary carries nothing after the return:\n{pair.says()}")
    result = pair.finish().expect(failovers=1, failbacks=1, path=PRIMARY)
    for name, cause in (causes or {}).items():
        result.lost(name, cause)
    return result


def told(result):
    s = result.s
    return f"{s['messages']} messages, still for {result.still()} ms, {s['resent_bytes']} bytes sent again"


@scenario("A1")
def sender_cable_pulled(lab):
    downs = lab.counter(0, PRIMARY, "link_downed")
    result = moved_and_returned(lab, Pair(lab), "link host0.port0 down",
                                causes={"sender": "port down", "receiver": "port down"})  # fmt: skip
    expect(lab.counter(0, PRIMARY, "link_downed") == downs + 1, "the driver saw no port down")
    return told(result)


@scenario("A1_receiver")
def receiver_cable_pulled(lab):
    """The sender's port stays ACTIVE, as behind a switch."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link host1.port0 down")
    pair.wait_event("switched", path=BACKUP)
    expect(lab.port_state(0, PRIMARY) == "ACTIVE", "the sender's port went down with it")
    pair.wait_messages(20)
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    result = pair.finish().expect(failovers=1, failbacks=1)
    result.lost("receiver", "port down")
    return told(result)


@scenario("A1_both")
def both_cables_pulled(lab):
    return told(moved_and_returned(lab, Pair(lab), "link host0.port0 down\nlink host1.port0 down"))


@scenario("A1_defaults")
def sender_cable_pulled_with_defaults(lab):
    """The bundle that users should take, as it is."""
    return told(moved_and_returned(lab, Pair(lab, "resilient"), "link host0.port0 down"))


@scenario("A1_backwards")
def sender_on_the_other_host(lab):
    """Data flows from host 1 to host 0."""
    pair = Pair(lab, source=1)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("link host1.port0 down")
    pair.wait_event("switched", path=BACKUP).wait_messages(20)
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("B1")
def only_acknowledgements_lost(lab):
    """What the receiver has is not sent again, and not delivered twice."""
    pair = Pair(lab, both="--sizes 16384 --window 16")
    result = moved_and_returned(lab, pair, "drop ack host1.port0", least=3)
    result.expect("sender", resent_steps=lambda steps: steps <= 16)
    return told(result)


@scenario("B8_path")
def black_hole(lab):
    """Both ports ACTIVE, nothing gets through either way."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    numbers = lab.inject("drop any host0.port0\ndrop any host1.port0")
    pair.wait_event("switched", path=BACKUP)
    states = [lab.port_state(host, PRIMARY) for host in (0, 1)]
    expect(states == ["ACTIVE"] * 2, f"a port went down: {states}")
    pair.wait_messages(20)
    for number in numbers:
        struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("M7")
def black_hole_for_data_only(lab):
    """Writes are lost both ways while all else passes: the primary is not taken back as long as that lasts."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    numbers = lab.inject("drop data host0.port0\ndrop data host1.port0")
    pair.wait_event("switched", path=BACKUP)
    lab.wait(4)
    expect(pair.count_of("returned") == 0, f"returned to a path that carries no data:\n{pair.says()}")
    for number in numbers:
        struck(lab, number, 3)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("A1_in_band")
def words_on_the_paths_only(lab):
    return told(moved_and_returned(lab, Pair(lab, "in_band"), "link host0.port0 down"))


@scenario("A1_out_of_band")
def words_out_of_band_only(lab):
    return told(moved_and_returned(lab, Pair(lab, "out_of_band"), "link host0.port0 down"))


@scenario("A1_no_out_of_band")
def without_the_management_network(lab):
    """Its loss is no fault, and neither is what happens meanwhile."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (cable,) = lab.inject("link host0.port2 down")
    pair.wait_messages(20)
    expect(pair.count_of("path_lost") == 0, f"a path was left for it:\n{pair.says()}")
    (number,) = lab.inject("link host1.port0 down")
    pair.wait_event("switched", path=BACKUP).wait_messages(20)
    struck(lab, cable)
    struck(lab, number)
    lab.end_faults()
    pair.wait_event("returned", path=PRIMARY).wait_messages(20)
    return told(pair.finish().expect(failovers=1, failbacks=1))


@scenario("B1_last")
def last_acknowledgement_lost(lab):
    """The acknowledgement of the last message of all is lost while the receiver polls no more."""
    pair = Pair(lab, both="--sizes 1000", sender="--count 2", rate=300)  # the end message, too, comes 3 s later
    pair.wait_up()
    pair.until(lambda: pair.received() == 2, "at the last message")
    (number,) = lab.inject("drop ack host1.port0")
    pair.wait_done(pair.receiver)
    expect(not pair.sender.last("done"), "the sender had its acknowledgement")
    pair.wait_done()
    struck(lab, number)
    lab.end_faults()
    return told(pair.finish().expect(failovers=1, messages=2, resent_bytes=0))


@scenario("F5")
def many_small_messages(lab):
    """A receiver's work is CTS only; more of it than its queue holds, before and after the switch."""
    pair = Pair(lab, both="--sizes 8 --window 32", rate=4000)
    return told(moved_and_returned(lab, pair, "link host0.port0 down", after=400))


@scenario("J8")
def announced_before_the_switch(lab):
    """Many CTS are out, with the primary's keys, when it goes: on the backup its own keys count."""
    pair = Pair(lab, both="--sizes 65536 --window 64")
    return told(moved_and_returned(lab, pair, "link host0.port0 down", after=70))


@control
def fault_left_out(lab):
    """The first scenario with a fault that does nothing: it must fail for that."""
    pair = Pair(lab)
    pair.wait_up().wait_messages(20)
    (number,) = lab.inject("at 1000s link host0.port0 down")
    lab.until(lambda: pair.count_of("switched") == 1, 5)
    struck(lab, number)
