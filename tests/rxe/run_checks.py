# SPDX-License-Identifier: Apache-2.0
"""Runs checks, in the lab that serve.py holds or, without one, in a lab of its own: run_checks.py FOLDER [NAME...].

Prints a line for each check, then the result.
"""

import sys
import time

import checks
import serve
from lab import BenchBroke, Lab


def say(line):
    print(line, flush=True)


def alone(folder, chosen):
    tally, begun, bench = checks.Tally(say), time.monotonic(), None
    lab = Lab(folder)
    try:
        with lab:
            say(lab.booted())
            for name in chosen:
                tally.run(lab, name)
    except BenchBroke as error:
        bench = error
        say(f"BENCH  {error}")
    if tally.failed or bench:
        say(f"rxe: consoles, and scripts with their output: {lab.run}")
    say(f"rxe: took {time.monotonic() - begun:.1f} s")
    return tally.result(chosen, bench)


def main():
    folder, *names = sys.argv[1:]
    if names == ["--list"]:
        print("\n".join(checks.GROUPS["scenarios"]))
        return 0
    try:
        chosen = checks.named(names)
    except KeyError as error:
        known = " ".join([*checks.GROUPS, *checks.CHECKS])
        print(f"scripts/rxe: unknown check {error}; known: {known}", file=sys.stderr)
        return 2
    status = serve.ask(folder, chosen, say)
    return alone(folder, chosen) if status is None else status


if __name__ == "__main__":
    import scenarios  # noqa: F401  these register the checks
    import tools  # noqa: F401

    sys.exit(main())
