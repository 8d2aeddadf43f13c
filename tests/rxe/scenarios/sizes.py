# SPDX-License-Identifier: Apache-2.0
"""Messages of all sizes, groups of them, and numbers near a wrap; with a failover between."""

from checks import expect, scenario
from pair import Pair
from scenarios.losses import moved_and_returned, told

MAX = 8 << 20  # bytes of a message of the driver's


@scenario("L1")
def around_the_largest(lab):
    """What is longer than the device's largest message is split."""
    largest = lab.call(0, "ibv_devinfo -v | grep -m1 max_msg_sz")[1].split()[-1]
    expect(int(largest, 0) == MAX, f"max_msg_sz is {largest}")
    pair = Pair(lab, both=f"--sizes {MAX - 1},{MAX},{MAX + 1},{2 * MAX + 3} --window 2")
    return told(moved_and_returned(lab, pair, "link host0.port0 down", after=4))


@scenario("L3")
def empty_messages(lab):
    pair = Pair(lab, both="--sizes 0")
    return told(moved_and_returned(lab, pair, "link host0.port0 down", after=200))


@scenario("G5")
def groups_with_empty_messages(lab):
    """Steps of four messages, the first, the last or all of them empty."""
    pair = Pair(lab, both="--group 4 --sizes 0,64,4096,1,8192,64,1,0,0,0,0,0")
    return told(moved_and_returned(lab, pair, "link host1.port0 down", after=120))


@scenario("H7")
def steps_wrap(lab):
    """The number of the step passes 2^32 and with it 2^16, what an immediate carries of it."""
    pair = Pair(lab, both=f"--sizes 4096 --first-step {2**32 - 20}")
    return told(moved_and_returned(lab, pair, "link host0.port0 down", after=15))


@scenario("M8")
def four_queues(lab):
    """A lane of four QPs goes as a whole."""
    pair = Pair(lab, both="--qps 4 --sizes 65536,1,4097")
    return told(moved_and_returned(lab, pair, "link host0.port0 down", after=60))
