# SPDX-License-Identifier: Apache-2.0
"""What the benchmark runs in the lab's hosts: our program, and perftest beside it."""

import json
import re
import shlex
import shutil

PROGRAM = "build/release/benchmarks/rxe/rxe_bench"
MTU, INLINE, TIMEOUT, WINDOW = 4096, 64, 16, 16
COUNTER = "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"


class Broke(Exception):
    """A run broke; there is nothing to compare."""


class Disturbed(Exception):
    """A run whose figures say nothing, because something else happened meanwhile."""


class Hosts:
    """Runs a pair of commands, one in each host, to their end."""

    def __init__(self, lab, log):
        self.lab, self.log, self.runs = lab, log, 0
        self.program = lab.run / "rxe_bench"
        shutil.copy(lab.home / PROGRAM, self.program)

    def start(self, sender, receiver, limit):
        """In host 0 and host 1."""
        return self.lab.start(0, sender, limit), self.lab.start(1, receiver, limit)

    def finish(self, jobs, limit):
        self.lab.finish(*jobs, limit=limit + 30)
        for job in jobs:
            self.log.write(f"== {job.host.name}: {job.script}\n{job.output()}\n")
        self.log.flush()
        for job in jobs:
            if job.status != 0:
                raise Broke(f"{job.host.name}: {job.script}\nended with {job.status}:\n{job.output()[-2000:]}")
        return jobs

    def ours(self, what, bundle, *words, limit=200):
        """Starts our program in both hosts."""
        self.runs += 1
        folder = self.lab.run / f"bench{self.runs}"
        folder.mkdir()
        command = lambda end, host: shlex.join(
            ["/lab/rxe_bench", end, what, "--folder", f"/lab/{folder.name}", "--address", f"10.99.0.{host + 1}",
             "--bundle", bundle, "--limit", str(limit), *map(str, words)])  # fmt: skip
        return self.start(f"exec {command('send', 0)}", f"exec {command('receive', 1)}", limit + 10)


def lines(job):
    """The lines of JSON that our program has printed, as far as they are whole."""
    text = job.output()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("{")]


def speed(hosts, bundle, bandwidth, latency, *words):
    """Ours: {("bandwidth" or "latency", bytes): (bytes a second or seconds, packets a message)}."""
    sizes = [f"--{name}={','.join(map(str, each))}" for name, each in (("bandwidth", bandwidth), ("latency", latency)) if each]
    jobs = hosts.finish(hosts.ours("speed", bundle, *sizes, *words), 240)
    found = {}
    for mine, peers in zip(*map(lines, jobs)):
        if mine["what"] == "failovers":
            if mine["count"] or peers["count"]:
                raise Disturbed("it has changed its path although no port was down: the machine is too busy")
            continue
        packets = (mine["packets"] + peers["packets"]) / mine["messages"]
        value = mine["seconds"]
        if mine["what"] == "bandwidth":
            value = mine["bytes"] * mine["messages"] / value
        found[mine["what"], mine["bytes"]] = (value, packets)
    return found


def perftest(hosts, bandwidth, latency, megabytes, round_trips):
    """The same of perftest."""
    plan = [("bandwidth", size, f"ib_write_bw -Q 1 -t {WINDOW} -n {max(megabytes * 1000000 // size, WINDOW)}") for size in bandwidth]
    plan += [("latency", size, f"ib_send_lat -n {round_trips}") for size in latency]
    hosts.runs += 1
    ready = f"/lab/perftest{hosts.runs}"
    client, server = [f"n() {{ echo packets $(cat {COUNTER}); }}"], [f"n() {{ echo packets $(cat {COUNTER}); }}"]
    for number, (_, size, command) in enumerate(plan):
        command += f" -d rxe0 -x 1 -m {MTU} -u {TIMEOUT} -s {size} -F -p {18600 + number}"
        wait = f"for i in {{1..500}}; do [ -e {ready}.{number} ] && break; sleep 0.01; done"
        listen = f"for i in {{1..500}}; do ss -Hltn | grep -q :{18600 + number} && break; sleep 0.01; done"
        server.append(f"n; {command} & {listen}; touch {ready}.{number}; wait $! || exit 1; sleep 0.05; n")
        client.append(f"{wait}; n; {command} 10.99.0.2 || exit 1; sleep 0.05; n")
    jobs = hosts.finish(hosts.start("\n".join(client), "\n".join(server), 240), 240)
    found = {}
    outputs = [job.output() for job in jobs]
    counts = [[int(n) for n in re.findall(r"^packets (\d+)$", text, re.M)] for text in outputs]
    results = re.findall(r"^ *(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\b.*$", outputs[0], re.M)
    if len(results) != len(plan) or any(len(each) != 2 * len(plan) for each in counts):
        raise Broke(f"perftest printed something else:\n{outputs[0][-3000:]}")
    for number, ((what, size, _), result) in enumerate(zip(plan, results)):
        messages = int(result[1]) * (1 if what == "bandwidth" else 2)
        packets = sum(each[2 * number + 1] - each[2 * number] for each in counts) / messages
        # bytes, iterations, then: peak and average MB/s (2^20); least, most and typical microseconds
        value = float(result[3]) * 2**20 if what == "bandwidth" else float(result[4]) / 1e6
        found[what, size] = (value, packets)
    return found
