#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What failover costs: instructions and memory when nothing fails, time and bytes when something does.

Run by scripts/bench cost. Prints a table, then every limit; the exit status is 1 when one does not hold.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests/codegen/message_cost")]
import message_cost  # noqa: E402
import report  # noqa: E402

VARIANTS = ["bare", "none", "resilient", "resilient_eventlog"]
SIZES = [8, 4096, 1 << 20]
CONNECTIONS = [1, 10, 100, 1000]
FEW, MANY = 32, 64  # messages of each connection; multiples of 32, after which a queue is retired


class Cost:
    """Rows as they are found, and what does not hold."""

    def __init__(self, build):
        self.build = build
        self.rows = []
        self.checks = []

    def add(self, name, variant, size, value, unit):
        self.rows.append({"name": name, "variant": variant, "bytes": size, "value": value, "unit": unit})

    def value(self, name, variant, size=None):
        return next(
            row["value"]
            for row in self.rows
            if row["name"] == name and row["variant"] == variant and size in (None, row["bytes"])
        )

    def check(self, what, value, limit, holds):
        self.checks.append((what, report.number(value), limit, "holds" if holds else "DOES NOT HOLD"))

    def holds(self):
        return all(check[-1] == "holds" for check in self.checks)

    def program(self, name):
        """Runs one of the programs that print rows."""
        result = subprocess.run([self.build / f"benchmarks/cost/cost_{name}"], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.checks.append((f"{name} runs without error", result.stderr.strip() or "?", "", "DOES NOT HOLD"))
        for line in result.stdout.splitlines():
            row, variant, size, value, unit = line.split()
            self.add(row, variant, int(size), float(value), unit)


def instructions(cost, valgrind):
    folder = cost.build / "tests/codegen"
    for size in SIZES:
        for variant in VARIANTS:
            program = folder / f"message_cost_{variant}"
            cost.add("instructions_per_message", variant, size, message_cost.per_message(valgrind, program, size, 1), "instructions")  # fmt: skip
    for variant in ["none", "resilient"]:
        for connections in CONNECTIONS:
            program = cost.build / "benchmarks/cost/cost_connections"
            few, many = (message_cost.run(valgrind, program, variant, connections, n) for n in (FEW, MANY))
            each = (many - few) / (MANY - FEW) / connections
            cost.add("instructions_per_message", f"{variant}/{connections}_connections", 8, each, "instructions")


def limits(cost):
    none, resilient = (cost.value("instructions_per_message", v, 8) for v in ("none", "resilient"))
    cost.check("resilient, instructions of none at 8 B", resilient / none, "at most 1.10 times", resilient <= 1.10 * none)  # fmt: skip
    cost.check("resilient, instructions above none at 8 B", resilient - none, "at most 60", resilient - none <= 60)
    for variant in ["none", "resilient"]:
        each = [cost.value("instructions_per_message", f"{variant}/{n}_connections") for n in CONNECTIONS]
        spread = max(each) / min(each)
        cost.check(f"{variant}, most of least instructions, 1 to 1,000 connections", spread, "at most 1.20 times", spread <= 1.20)  # fmt: skip
        ratio = cost.value("memcpy_ratio", variant, 1 << 20)
        cost.check(f"{variant}, bandwidth of memcpy at 1 MiB", ratio, "at least 0.80", ratio >= 0.80)
    for end, most in [("receiver", 1.0), ("sender", 1.5)]:
        for outstanding in [0, 64]:
            variant = f"{end}_detects/{outstanding}_outstanding"
            trips = cost.value("failover_round_trips", variant)
            cost.check(f"{variant}, round trips after the fence", trips, f"at most {most} + 2 %", trips <= most + 0.02)
            resent, missing = (cost.value(name, variant) for name in ("resent_bytes", "missing_bytes"))
            cost.check(f"{variant}, bytes sent again", resent, f"exactly {report.number(missing)}", resent == missing)


def size_name(size):
    return {0: "", 8: "8 B", 4096: "4 KiB", 1 << 20: "1 MiB"}[size]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench")
    parser.add_argument("--command", default="scripts/bench cost", help="what the report says was run")
    parser.add_argument("--valgrind", default="valgrind")
    options = parser.parse_args()
    if shutil.which(options.valgrind) is None:
        sys.exit("no valgrind: instructions cannot be counted")

    cost = Cost(options.build)
    instructions(cost, options.valgrind)
    for name in ["bandwidth", "memory", "failover"]:
        cost.program(name)
    try:
        limits(cost)
    except StopIteration:
        cost.checks.append(("every row is there", "no", "", "DOES NOT HOLD"))
    cells = [[r["name"], r["variant"], size_name(r["bytes"]), report.number(r["value"]), r["unit"]] for r in cost.rows]
    text = report.table(["name", "variant", "message", "value", "unit"], cells)
    text += "\n\n" + report.table(["what", "value", "limit", ""], cost.checks)
    print(text)
    report.write(options.out, "cost", options.command, cost.rows, text)
    return 0 if cost.holds() else 1


if __name__ == "__main__":
    sys.exit(main())
