# SPDX-License-Identifier: Apache-2.0
"""Boots the lab once and runs the checks in it: checks.py FOLDER [NAME...]. Prints a line for each, then the result."""

import sys
import time

import tools
from lab import BenchBroke, Lab


def main():
    folder, *names = sys.argv[1:]
    checks = tools.CHECKS
    if unknown := set(names) - set(checks):
        print(f"scripts/rxe: unknown check '{min(unknown)}'; known: {' '.join(checks)}", file=sys.stderr)
        return 2
    chosen = names or list(checks)
    passed, failed, begun, bench = 0, [], time.monotonic(), None
    lab = Lab(folder)
    try:
        with lab:
            print(f"rxe: booted in {max(host.boot_took for host in lab.hosts):.1f} s", flush=True)
            for name in chosen:
                start, problem = time.monotonic(), ""
                try:
                    checks[name](lab)
                except tools.CheckFailed as error:
                    problem = str(error)
                    failed.append(name)
                else:
                    passed += 1
                print(f"{'FAILED' if problem else 'ok    '} {name}, {time.monotonic() - start:.1f} s", flush=True)
                if problem:
                    print("       " + problem.replace("\n", "\n       "), flush=True)
                lab.heal()
            lab.look()  # what a kernel said last counts
    except BenchBroke as error:
        bench = error
        print(f"BENCH  {error}")
    if failed or bench:
        print(f"rxe: consoles, and scripts with their output: {lab.run}")
    print(f"rxe: took {time.monotonic() - begun:.1f} s")
    # What has not run because the bench broke has not passed.
    print(f"rxe: {passed} passed, {len(chosen) - passed} failed, 0 skipped")
    return 3 if bench else 1 if failed else 0


sys.exit(main())
