# SPDX-License-Identifier: Apache-2.0
"""Runs one command in each host, with faults: run.py FOLDER [--faults FILE] [--limit SECONDS] COMMAND0 COMMAND1."""

import argparse
import os
import pathlib
import shlex
import sys

from faults import ScriptError, parse_faults
from lab import BenchBroke, Lab


def show(host, text, done):
    """Prints whole lines beyond what was shown, each with its host; how much was shown up to now."""
    end = text.rfind("\n") + 1
    for line in text[done:end].splitlines():
        print(f"host{host}: {line}", flush=True)
    return max(done, end)


def main():
    parser = argparse.ArgumentParser(prog="scripts/rxe run")
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--faults", type=pathlib.Path, help="lines of docs/faults.md; times count from the start")
    parser.add_argument("--limit", type=int, default=300, help="seconds until both commands are killed")
    parser.add_argument("commands", nargs=2, help="a bash command; it runs in the caller's folder")
    options = parser.parse_args()
    caller = pathlib.Path(os.environ["VCCL_CALLER"])
    try:
        text = (caller / options.faults).read_text() if options.faults else ""
        lines = [fault.text for fault in parse_faults(text)]
    except (OSError, ScriptError) as error:
        print(f"scripts/rxe: {error}", file=sys.stderr)
        return 2
    lab = Lab(options.folder)
    try:
        with lab:
            scripts = [f"cd {shlex.quote(str(caller))}\n{command}" for command in options.commands]
            jobs = [lab.start(host, script, options.limit) for host, script in enumerate(scripts)]
            numbers, shown = lab.inject(text), [0, 0]
            while any(job.status is None for job in jobs):
                lab.step()
                shown = [show(host, jobs[host].output(), shown[host]) for host in (0, 1)]
            for host, job in enumerate(jobs):
                if rest := job.output()[shown[host] :]:
                    print(f"host{host}: {rest}")
                print(f"rxe: host{host} ended with {job.status}")
            for number, line in zip(numbers, lines):
                print(f"rxe: fired {lab.fired(number)}: {line}")
            lab.look()
    except BenchBroke as error:
        print(f"BENCH  {error}\nrxe: consoles, and scripts with their output: {lab.run}")
        return 3
    return 0 if all(job.status == 0 for job in jobs) else 1


sys.exit(main())
