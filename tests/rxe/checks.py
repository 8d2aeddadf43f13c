# SPDX-License-Identifier: Apache-2.0
"""What is checked in the lab, by name, and how a check is run and told of.

A check is a function of the lab. It raises CheckFailed; what it returns, if anything, is printed.
"""

import time

CHECKS = {}  # name: function, in the order in which they run
GROUPS = {"lab": [], "scenarios": [], "controls": []}  # controls fail on purpose, and run when named only
BENCH = 3  # exit status when the bench itself broke


class CheckFailed(Exception):
    """What was seen is not what should be."""


def expect(condition, message):
    if not condition:
        raise CheckFailed(message)


def check(function):
    """A check of the lab itself."""
    return register(function.__name__, "lab", function)


def control(function):
    """A check that fails, so that it shows that failing is seen."""
    return register(function.__name__, "controls", function)


def scenario(name):
    """A scenario of the library, named by the id of the scenario list."""
    return lambda function: register(f"scenario.{name}", "scenarios", function)


def register(name, group, function):
    if name in CHECKS:
        raise ValueError(f"two checks are named {name}")
    CHECKS[name] = function
    GROUPS[group].append(name)
    return function


def named(names):
    """The checks that are meant; raises KeyError with the first word that means none."""
    found = []
    for name in names or ["lab", "scenarios"]:
        known = name if name in CHECKS else f"scenario.{name}"
        found += GROUPS[name] if name in GROUPS else [known] if known in CHECKS else []
        if name not in GROUPS and known not in CHECKS:
            raise KeyError(name)
    return list(dict.fromkeys(found))


class Tally:
    """Runs checks in a lab and counts."""

    def __init__(self, say):
        self.say, self.passed, self.failed = say, 0, []

    def run(self, lab, name):
        start, problem, note = time.monotonic(), "", None
        try:
            note = CHECKS[name](lab)
        except CheckFailed as error:
            problem = str(error)
            self.failed.append(name)
        else:
            self.passed += 1
        took = f"{time.monotonic() - start:.1f} s"
        self.say(f"{'FAILED' if problem else 'ok    '} {name}, {took}{f': {note}' if note else ''}")
        if problem:
            self.say("       " + problem.replace("\n", "\n       "))
        lab.heal()
        lab.look()  # what a kernel said last counts

    def result(self, chosen, bench):
        """What has not run because the bench broke has not passed. Returns the exit status."""
        self.say(f"rxe: {self.passed} passed, {len(chosen) - self.passed} failed, 0 skipped")
        return BENCH if bench else 1 if self.failed else 0
