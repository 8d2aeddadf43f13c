#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library on libibverbs between the lab's hosts, beside perftest between the same hosts: speed, packets, failover.

Run by scripts/rxe bench. Prints tables and says which targets are met. The exit status is 1 when a run broke, not when
a target was missed: rates in an emulator that shares its processors are noisy.
"""

import argparse
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "benchmarks/rxe", "tests/rxe")]
import failing  # noqa: E402
import hosts as run  # noqa: E402
import lab as laboratory  # noqa: E402
import report  # noqa: E402

BANDWIDTH = {1 << 20: 0.95, 1 << 16: 0.85}  # bytes: least part of ib_write_bw
LATENCY = {8: 1.2, 512: 1.2, 4096: 1.2}  # bytes: most times ib_send_lat
PEER = {"bandwidth": "ib_write_bw", "latency": "ib_send_lat"}
BUNDLES = ["resilient", "none"]
MEGABYTES, ROUND_TRIPS = 12, 200
REST = 50  # microseconds that an end of a stream sleeps after a poll that found nothing

SETTINGS = f"""Both sides: rxe0 of host 0 to rxe0 of host 1, one RC QP, path MTU {run.MTU}, NIC timeout {run.TIMEOUT}, nothing inlined of the data (perftest
turns inlining off on rxe; our 64-byte records are inlined), every message signaled, {run.WINDOW} messages under way, one buffer for all, receives posted before
the start; bandwidth over {MEGABYTES} MB, latency the median of {ROUND_TRIPS} half round trips. perftest's retry count is 7, ours 6."""


class Bench:
    """Rows as they are found, what met its target, and what broke."""

    def __init__(self, lab, log):
        self.lab, self.hosts = lab, run.Hosts(lab, log)
        self.rows, self.targets, self.broken, self.dropped = [], [], [], 0

    def add(self, name, variant, size, value, unit):
        self.rows.append({"name": name, "variant": variant, "bytes": size, "value": value, "unit": unit})

    def target(self, what, value, limit, met):
        self.targets.append((what, report.number(value), limit, "met" if met else "MISSED"))

    def try_run(self, what, function, *arguments):
        """None when it broke, or something disturbed it; the other runs go on."""
        try:
            return function(*arguments)
        except run.Disturbed as error:
            self.dropped += 1
            print(f"rxe: {what} does not count: {error}", flush=True)
            return None
        except run.Broke as error:
            self.broken.append(f"{what}: {error}")
            print(f"rxe: {what} broke: {error}", flush=True)
            self.lab.heal()
            return None


def one_round(bench, number):
    """perftest, both bundles, perftest again: {variant: result}; None when one of them does not count."""
    sizes = (list(BANDWIDTH), list(LATENCY))
    words = ("--megabytes", MEGABYTES, "--round-trips", ROUND_TRIPS, "--rest", REST, "--window", run.WINDOW)
    results = {}
    order = ["first", *(BUNDLES if number % 2 else reversed(BUNDLES)), "second"]
    for variant in order:
        if variant in BUNDLES:
            found = bench.try_run(f"speed of {variant}", run.speed, bench.hosts, variant, *sizes, *words)
        else:
            found = bench.try_run("perftest", run.perftest, bench.hosts, *sizes, MEGABYTES, ROUND_TRIPS)
        if found is None:
            return None
        results[variant] = found
    return results


def size_name(size):
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB" if size >> 10 else f"{size} B"


def value_name(what, value):
    return f"{value / 1e6:.2f} MB/s" if what == "bandwidth" else f"{value * 1e6:.0f} us"


def speed_table(bench, rounds):
    """Medians of the rounds, and of the ratios in each round."""
    median, lines = statistics.median, []
    for what, size, limit in [("bandwidth", *x) for x in BANDWIDTH.items()] + [("latency", *x) for x in LATENCY.items()]:
        of = lambda variant: [r[variant][what, size][0] for r in rounds]
        middle = [(a + b) / 2 for a, b in zip(of("first"), of("second"))]
        peer = PEER[what]
        own = [b / a for a, b in zip(of("first"), of("second"))]
        bench.add(what, peer, size, median(middle), "B/s" if what == "bandwidth" else "s")
        bench.add(f"{what}_ratio", f"{peer}/{peer}", size, median(own), "ratio")
        line = [f"{what} {size_name(size)}", value_name(what, median(middle))]
        for bundle in BUNDLES:
            ratios = [mine / theirs for mine, theirs in zip(of(bundle), middle)]
            bench.add(what, bundle, size, median(of(bundle)), "B/s" if what == "bandwidth" else "s")
            bench.add(f"{what}_ratio", f"{bundle}/{peer}", size, median(ratios), "ratio")
            line += [value_name(what, median(of(bundle))), f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"]
            met = median(ratios) >= limit if what == "bandwidth" else median(ratios) <= limit
            word = "at least" if what == "bandwidth" else "at most"
            bench.target(f"{bundle}, {what} of {peer} at {size_name(size)}", median(ratios), f"{word} {limit}", met)
        line.append(f"{median(own):.2f} ({min(own):.2f} to {max(own):.2f})")
        lines.append(line)
    return report.table(["", "perftest", "resilient", "of perftest", "none", "of perftest", "perftest of itself"], lines)


def packet_table(bench, rounds):
    """The least of the rounds: what is above it was sent again."""
    lines = []
    for what, size in [("bandwidth", s) for s in BANDWIDTH] + [("latency", s) for s in LATENCY]:
        line = [f"{what} {size_name(size)}"]
        for variant, name in [("first", PEER[what]), *((b, b) for b in BUNDLES)]:
            least = min(r[variant][what, size][1] for r in rounds)
            bench.add(f"{what}_packets_per_message", name, size, least, "packets")
            line.append(f"{least:.2f}")
        lines.append(line)
    return report.table(["packets a message", "perftest", *BUNDLES], lines)


def failover_table(bench, runs, trip_ms):
    """`runs`: {(bundle, fault): [result]}. `trip_ms`: a round trip of 8 B."""
    median, lines = statistics.median, []
    keys = [("outage_ms", "failover_ms", "ms"), ("fence_ms", "fence_ms", "ms"), ("resent_bytes", "resent_bytes", "B"),
            ("backup_share", "backup_share", "of_backup_alone"), ("failback_ms", "failback_ms", "ms"),
            ("failback_resent_bytes", "failback_resent_bytes", "B")]  # fmt: skip
    medians = {}
    for (bundle, fault), results in runs.items():
        if not results:
            continue
        it = medians[bundle, fault] = {key: median(r[key] for r in results) for key, *_ in keys}
        for key, name, unit in keys:
            bench.add(name, f"{bundle}/{fault}", failing.BYTES, it[key], unit)
        causes = sorted({r["cause"] for r in results})
        lines.append([bundle, fault, str(len(results)), *(report.number(round(it[key], 3)) for key, *_ in keys), ", ".join(causes)])
        most = max(r["failback_resent_bytes"] for r in results)
        bench.target(f"{bundle}/{fault}, bytes resent at failback", most, "0", most == 0)
        if bundle == "resilient":
            bench.target(f"{bundle}/{fault}, bandwidth of the backup alone", it["backup_share"], "at least 0.95", it["backup_share"] >= 0.95)
    for fault in failing.FAULTS:
        if ("resilient", fault) in medians and ("retry_timeout", fault) in medians:
            ratio = medians["retry_timeout", fault]["outage_ms"] / medians["resilient", fault]["outage_ms"]
            bench.add("failover_ratio", f"retry_timeout/resilient/{fault}", failing.BYTES, ratio, "times")
            if fault != "black_hole":
                bench.target(f"{fault}, outage of retry_timeout over that of resilient", ratio, "at least 20", ratio >= 20)
        if fault != "black_hole" and ("resilient", fault) in medians:
            it = medians["resilient", fault]
            left, limit = it["outage_ms"] - 50, 3 * (it["fence_ms"] + 1.5 * trip_ms)
            bench.target(f"{fault}, resilient, ms of the outage after the hold", left,
                         f"at most {limit:.1f}: 3 times fence and 1.5 round trips", left <= limit)  # fmt: skip
    head = ["bundle", "fault", "runs", "outage, ms", "fence, ms", "resent, B", "of the backup alone",
            "plug to failback, ms", "resent then, B", "seen as"]  # fmt: skip
    return report.table(head, lines)


def measure(bench, rounds, failovers):
    parts, results = [], []
    for number in range(rounds):
        found = one_round(bench, number)
        if found is not None:
            results.append(found)
        print(f"rxe: round {number + 1} of {rounds}", flush=True)
    trip_ms = 0.0
    if results:
        parts += [speed_table(bench, results), packet_table(bench, results)]
        trip_ms = statistics.median(2e3 * r["resilient"]["latency", 8][0] for r in results)
    runs = {(bundle, fault): [] for bundle in ("resilient", "retry_timeout") for fault in failing.FAULTS}
    for number in range(failovers):
        for (bundle, fault), found in runs.items():
            one = bench.try_run(f"failover {bundle}/{fault}", failing.failover, bench.hosts, bundle, fault, "--rest", REST)
            if one is not None:
                found.append(one)
        print(f"rxe: failovers {number + 1} of {failovers}", flush=True)
    if failovers:
        parts.append(failover_table(bench, runs, trip_ms))
    return parts


def main():
    parser = argparse.ArgumentParser(prog="scripts/rxe bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=10, help="of perftest, ours, perftest [10]")
    parser.add_argument("--failovers", type=int, default=5, help="runs of each bundle with each fault [5]")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench")
    options = parser.parse_args()
    command = f"scripts/rxe bench --rounds {options.rounds} --failovers {options.failovers}"
    options.out.mkdir(parents=True, exist_ok=True)
    laboratory.BOOT_LIMIT = 300.0  # nothing is measured yet
    lab = laboratory.Lab(options.folder)
    try:
        with lab, open(options.out / "rxe.log", "w") as log:
            print(lab.booted(), flush=True)
            bench = Bench(lab, log)
            parts = measure(bench, options.rounds, options.failovers)
            lab.look()
    except laboratory.BenchBroke as error:
        print(f"BENCH  {error}\nrxe: consoles, and scripts with their output: {lab.run}")
        return 3
    text = "\n\n".join([*parts, report.table(["target", "value", "limit", ""], bench.targets), SETTINGS])
    print(text)
    report.write(options.out, "rxe", command, bench.rows, text)
    met = sum(target[-1] == "met" for target in bench.targets)
    print(f"rxe: {met} of {len(bench.targets)} targets met, {bench.dropped} runs dropped, {len(bench.broken)} runs broke")
    return 1 if bench.broken or not bench.rows else 0


if __name__ == "__main__":
    sys.exit(main())
