#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a message, the transport excluded, and compares them with hand-written code.

    message_cost.py --program bare=<file> --program none=<file> ... --limit none=1.01*bare

Each program runs under callgrind with two numbers of messages; the difference has no set-up in it.
Calls into vccl::wire, with all that they call, do not count: they stand for a verbs library. A limit
is a factor of what another variant needs, may add instructions, and may be for messages of one size
only: resilient=1.10*none, resilient=none+60@8.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CASES = [(8, 1), (4096, 1), (65536, 1), (4096, 4)]  # bytes of a receive, receives of a message
FEW, MANY = 256, 1280  # messages; multiples of 32, after which a queue of records is retired
TRANSPORT = re.compile(r"vccl::wire::|_ZNK?4vccl4wire")


def count(listing):
    """Everything that callgrind counted, less the calls into the transport."""
    counted, caller, callee = 0, "", None
    for line in listing.splitlines():
        if line.startswith("fn="):
            caller = line[len("fn=") :]
        elif line.startswith("cfn="):
            callee = line[len("cfn=") :]
        elif re.match(r"\d+ \d+$", line):
            cost = int(line.split()[1])
            if callee is None:
                counted += cost
            elif TRANSPORT.match(callee) and not TRANSPORT.match(caller):
                counted -= cost
            callee = None
    return counted


def run(valgrind, program, *arguments):
    """Instructions of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        command = [valgrind, "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out}"]  # fmt: skip
        command += [str(program), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
        return count(out.read_text())


def per_message(valgrind, program, size, receives):
    few, many = (run(valgrind, program, size, receives, messages) for messages in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def pair(text):
    name, _, value = text.partition("=")
    return name, value


def limit(text):
    """variant, factor, other variant, instructions more, bytes"""
    parts = re.fullmatch(r"(\w+)=(?:([\d.]+)\*)?([a-z_]+)(?:\+(\d+))?(?:@(\d+))?", text)
    if not parts:
        raise argparse.ArgumentTypeError(f"'{text}' is no limit")
    return parts[1], float(parts[2] or 1), parts[3], int(parts[4] or 0), parts[5] and int(parts[5])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--valgrind", default="valgrind")
    parser.add_argument("--program", action="append", type=pair, required=True, metavar="VARIANT=FILE")
    parser.add_argument("--limit", action="append", type=limit, default=[], metavar="VARIANT=[FACTOR*]OTHER[+N][@BYTES]")
    options = parser.parse_args()
    if shutil.which(options.valgrind) is None:
        print("skipped: no valgrind")
        return 77
    programs = dict(options.program)

    failures = 0
    print("instructions per message, transport excluded")
    for size, receives in CASES:
        costs = {name: per_message(options.valgrind, file, size, receives) for name, file in programs.items()}
        bare = costs["bare"]
        if bare < 100:
            sys.exit(f"{bare} instructions cannot be all of a message: what was counted?")
        for name, cost in costs.items():
            line = f"{receives} x {size} B  {name:20} {cost:8.1f}  {cost / bare:.3f} x bare"
            for variant, factor, other, more, only in options.limit:
                if variant != name or only not in (None, size):
                    continue
                most = factor * costs[other] + more
                line += f"  at most {most:.1f}" + ("" if cost <= most else "  TOO MANY")
                failures += cost > most
            print(line, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
