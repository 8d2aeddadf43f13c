# SPDX-License-Identifier: Apache-2.0
"""Two emulated hosts with two RoCE ports each: boots them, runs commands in them, and watches them.

One thread: whatever waits calls Lab.step, which also injects the faults that are due and sees what broke.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import effects
from faults import HOSTS, OOB, PORTS, ScriptError, parse_faults

HERE = pathlib.Path(__file__).resolve().parent

BOOT_LIMIT = 150.0  # seconds; a boot takes 5 to 20 here
# What the kernel of a host says when not our programs but the bench is broken.
BROKEN = re.compile(
    r"BUG: .*|soft lockup.*|Oops.*|Kernel panic.*|general protection fault|WARNING: CPU.*|lab: .*|refcount_t: .*"
)


class BenchBroke(Exception):
    """The emulator, a host's kernel or the lab itself failed; nothing is known about what ran in it."""


class Job:
    """A command in a host. Its status is None while it runs, "dead" when the host was killed under it."""

    def __init__(self, host, number, script, output):
        self.host, self.number, self.script, self.output_file = host, number, script, output
        self.status = None

    def output(self):
        return self.output_file.read_text(errors="replace") if self.output_file.exists() else ""


    def output_from(self, at):
        """Bytes, from a place in it."""
        if not self.output_file.exists():
            return b""
        with open(self.output_file, "rb") as file:
            file.seek(at)
            return file.read()


class Host:
    """The emulator of one host, with its console, its agent's serial port and the emulator's own monitor."""

    def __init__(self, lab, index, shell):
        self.lab, self.index, self.shell = lab, index, shell
        self.name = f"host{index}"
        self.process = None
        self.jobs, self.boots = {}, 0

    def file(self, suffix):
        return self.lab.run / f"{self.name}.{suffix}"

    def start(self):
        for suffix in ("agent", "monitor", "shell", *(f"{port}.cable" for port in (0, 1, OOB))):
            self.file(suffix).unlink(missing_ok=True)
        self.boots += 1
        self.started, self.ready, self.heard, self.seen = time.monotonic(), False, b"", 0
        self.console = self.file("console" if self.boots == 1 else f"console.{self.boots}")
        append = f"console=ttyS0 loglevel=5 oops=panic panic=-1 mitigations=off lab.host={self.index}"
        # Relative names of sockets: their length is limited. The host dies with this process, whatever ends it.
        command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "1"]
        command += ["-m", "1024", "-nodefaults", "-display", "none", "-no-reboot"]
        command += ["-kernel", f"{self.lab.folder}/vmlinuz", "-initrd", f"{self.lab.folder}/initramfs.gz"]
        command += ["-append", append + (" lab.shell" if self.shell else "")]
        command += ["-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"]
        command += ["-virtfs", f"local,path={self.lab.run},mount_tag=lab,security_model=none,multidevs=remap"]
        for number, port in enumerate((0, 1, OOB)):
            here, there = f"{self.name}.{port}.cable", f"host{1 - self.index}.{port}.cable"
            # Datagrams: a dead host is a silent one, as behind a switch, and may come back.
            command += ["-netdev", f"dgram,id=net{port},local.type=unix,local.path={here},"
                        f"remote.type=unix,remote.path={there}"]  # fmt: skip
            # host_mtu lets rxe have a path MTU of 4096.
            command += ["-device", f"virtio-net-pci,netdev=net{port},id=nic{port},host_mtu=4200,romfile=,"
                        f"mac=52:54:00:00:0{self.index}:0{number}"]  # fmt: skip
        command += ["-serial", f"file:{self.console.name}"]
        for suffix in ("agent", *(["shell"] if self.shell else [])):
            command += ["-serial", f"unix:{self.name}.{suffix},server=on,wait=off"]
        command += ["-qmp", f"unix:{self.name}.monitor,server=on,wait=off"]
        with open(self.file("emulator"), "ab") as log:
            self.process = subprocess.Popen(command, cwd=self.lab.run, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.agent, self.monitor = self.connect("agent"), self.connect("monitor")
        self.agent.setblocking(False)
        self.monitor_file = self.monitor.makefile("rw")
        self.monitor_file.readline()
        self.ask("qmp_capabilities")

    def connect(self, suffix):
        deadline = time.monotonic() + 20
        while True:
            link = socket.socket(socket.AF_UNIX)
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                link.connect(f"{self.name}.{suffix}")
                link.settimeout(20)
                return link
            link.close()
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = self.file("emulator").read_text().strip()
                raise BenchBroke(f"{self.name}: the emulator does not start: {said}")
            time.sleep(0.05)

    def ask(self, command, **arguments):
        """A command to the emulator itself; back when it is done."""
        try:
            self.monitor_file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
            self.monitor_file.flush()
            while line := self.monitor_file.readline():
                answer = json.loads(line)
                if "error" in answer:
                    raise BenchBroke(f"{self.name}: {command}: {answer['error']['desc']}")
                if "return" in answer:
                    return
        except OSError as error:
            raise BenchBroke(f"{self.name}: the emulator does not answer: {error}") from error
        raise BenchBroke(f"{self.name}: the emulator is gone")

    def kill(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process = None
        for link in (self.agent, self.monitor_file, self.monitor):
            link.close()
        for job in self.jobs.values():
            if job.status is None:
                job.status = "dead"

    def start_job(self, script, limit):
        """Starts a script; killed in the host after so many seconds. A host that boots comes up first."""
        while self.process is not None and not self.ready:
            self.lab.look()
            time.sleep(0.01)
        number = self.lab.next_job()
        path = self.lab.run / f"job{number}.sh"
        path.write_text(script + "\n")
        job = self.jobs[number] = Job(self, number, script, path.with_suffix(".out"))
        if self.process is None:
            job.status = "dead"
        else:
            self.agent.sendall(f"job{number} {limit}\n".encode())
        return job

    def look(self):
        """Takes in what the host has said since; raises when it is broken."""
        if self.process is None:
            return
        if self.console.exists():
            with open(self.console, "rb") as file:
                file.seek(max(0, self.seen - 200))  # a word may have been cut
                text = file.read()
            if broken := BROKEN.search(text.decode(errors="replace")):
                raise BenchBroke(f"{self.name}: {broken[0]}")
            self.seen = max(0, self.seen - 200) + len(text)
        with contextlib.suppress(BlockingIOError):
            self.heard += self.agent.recv(65536)
        *lines, self.heard = self.heard.split(b"\n")
        for line in (line.decode(errors="replace").strip() for line in lines):
            if line == "ready":
                self.ready, self.boot_took = True, time.monotonic() - self.started
            elif match := re.fullmatch(r"exit job(\d+) (\d+)", line):
                self.jobs[int(match[1])].status = int(match[2])
        if self.process.poll() is not None:
            raise BenchBroke(f"{self.name}: the emulator ended by itself with {self.process.returncode}")
        if not self.ready and time.monotonic() - self.started > BOOT_LIMIT:
            raise BenchBroke(f"{self.name}: not booted after {BOOT_LIMIT:.0f} s")


class Lab:
    """Both hosts, from boot to power-off: `with Lab(folder) as lab`."""

    def __init__(self, folder, shell=None):
        self.folder = pathlib.Path(folder).resolve()
        self.home = HERE.parent.parent
        self.run = self.folder / os.environ.get("VCCL_RXE_RUN", "run")
        self.jobs = 0
        self.hosts = [Host(self, index, shell == index) for index in range(HOSTS)]
        self.effects = effects.Effects(self)

    def __enter__(self):
        self.lock = open(self.run.with_suffix(".lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # another lab of this folder ends first
        shutil.rmtree(self.run, ignore_errors=True)
        self.run.mkdir()
        shutil.copy(HERE / "agent.sh", self.run)
        os.chdir(self.run)
        try:
            for host in self.hosts:
                host.start()
            self.until(lambda: all(host.ready for host in self.hosts), BOOT_LIMIT)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.kill()
        self.lock.close()

    def booted(self):
        """A line for logs: what runs in the hosts matters to what they do."""
        kernel = (self.folder / "vmlinuz").readlink().name.removeprefix("vmlinuz-")
        return f"rxe: booted {kernel} in {max(host.boot_took for host in self.hosts):.1f} s"

    def next_job(self):
        self.jobs += 1
        return self.jobs

    def step(self):
        """What goes on while something waits."""
        self.look()
        self.effects.due()
        with contextlib.suppress(FileNotFoundError):
            asked = self.run / "faults"
            text = asked.read_text()
            asked.unlink()
            try:
                self.inject(text)
            except ScriptError as error:
                print(f"rxe: {asked}: {error}", file=sys.stderr)
        time.sleep(0.02)

    def look(self):
        for host in self.hosts:
            host.look()

    def until(self, condition, limit):
        """Whether the condition holds within so many seconds."""
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.step()
        return True

    def wait(self, seconds):
        self.until(lambda: False, seconds)

    def start(self, host, script, limit=60):
        """Starts a bash script in a host; killed there after so many seconds, with status 137."""
        return self.hosts[host].start_job(script, limit)

    def finish(self, *jobs, limit=90):
        """Waits for these to end. The hosts end their jobs by themselves: one that does not is a broken bench."""
        if not self.until(lambda: all(job.status is not None for job in jobs), limit):
            stuck = next(job for job in jobs if job.status is None)
            raise BenchBroke(f"{stuck.host.name}: a command did not end within {limit} s")
        return jobs

    def call(self, host, script, limit=60):
        """Runs a script in a host to its end: (status, output)."""
        (job,) = self.finish(self.start(host, script, limit), limit=limit + 30)
        return job.status, job.output()

    def command(self, host, script, limit=60):
        """A command of the lab's own, at once (faults that are due meanwhile wait): output."""
        job = self.hosts[host].start_job(script, limit)
        deadline = time.monotonic() + limit + 10
        while job.status is None:
            if time.monotonic() > deadline:
                raise BenchBroke(f"host{host}: no answer within {limit} s")
            self.look()
            time.sleep(0.005)
        if job.status not in (0, "dead"):
            raise BenchBroke(f"host{host}: {script.splitlines()[0]}: {job.output().strip()}")
        return job.output()

    def kill_job(self, job):
        """Kills what a command has started, and the command: the session that the agent gave it."""
        leader = f"pgrep -of '^timeout .* bash /lab/job{job.number}.sh'"
        self.command(job.host.index, f"pkill -KILL -s $({leader}) || true")

    @staticmethod
    def now():
        """Seconds, as faults count them."""
        return time.monotonic()

    def port_state(self, host, port):
        """As the kernel says it: ACTIVE, DOWN, ..."""
        return self.command(host, f"cat /sys/class/infiniband/rxe{port}/ports/1/state").split()[-1]

    def counter(self, host, port, name):
        """Of the driver: sent_pkts, rcvd_pkts, duplicate_request, out_of_seq_request, link_downed, ..."""
        return int(self.command(host, f"cat /sys/class/infiniband/rxe{port}/ports/1/hw_counters/{name}"))

    def inject(self, text):
        """Injects faults; their times count from now. The numbers by which `fired` knows them."""
        return self.effects.add(parse_faults(text))

    def fired(self, number):
        """How often a fault struck: packets picked, cables pulled, hosts killed."""
        return self.effects.fired(number)

    def end_fault(self, number):
        """Ends one. Packets that were delayed still come late."""
        self.effects.undo(self.effects.list[number])

    def end_faults(self):
        """Ends all faults, also those to come; dead hosts boot."""
        self.effects.heal()

    def heal(self):
        """Ends all faults and all commands, and waits until all ports are ACTIVE."""
        self.end_faults()
        for host in self.hosts:
            left = [job for job in host.jobs.values() if job.status is None]
            for job in left:
                self.kill_job(job)
            self.finish(*left)
        every = [(host, port) for host in range(HOSTS) for port in range(PORTS)]
        if not self.until(lambda: all(self.port_state(*place) == "ACTIVE" for place in every), 20):
            raise BenchBroke("a port is not ACTIVE again after all faults ended")
