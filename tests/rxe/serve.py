# SPDX-License-Identifier: Apache-2.0
"""Keeps a lab booted and runs the checks that run_checks.py asks for, one after the other: serve.py FOLDER [stop].

Ends when told so, or when nobody has asked for a while. A bench that breaks is booted again for the next one.
"""

import contextlib
import os
import pathlib
import socket
import sys
import time

import checks
from lab import BenchBroke, Lab

STATUS = "status "  # begins the last line of an answer
END = "end"
IDLE_LIMIT = 300.0  # seconds without a request
BOOTS = 5


def socket_of(folder):
    return pathlib.Path(folder).resolve() / (os.environ.get("VCCL_RXE_RUN", "run") + ".server")


def ask(folder, names, say):
    """Has a server run checks; its exit status, None when there is no server."""
    link = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
        link.connect(os.path.relpath(socket_of(folder)))
        link.sendall((" ".join(names) + "\n").encode())
        with link.makefile("r") as answers:
            for line in answers:
                if line.startswith(STATUS):
                    return int(line[len(STATUS) :])
                say(line.rstrip("\n"))
        say("BENCH  the server of the lab is gone")
        return checks.BENCH
    return None


class Served:
    """One request: names in, lines out."""

    def __init__(self, link):
        self.link = link
        link.settimeout(20)
        with contextlib.suppress(OSError):
            self.names = link.makefile("r").readline().split()
        self.names = getattr(self, "names", [])

    def say(self, line):
        print(line, flush=True)
        with contextlib.suppress(OSError):  # whoever asked may be gone
            self.link.sendall(f"{line}\n".encode())

    def run(self, lab):
        """False when the bench broke."""
        tally, bench = checks.Tally(self.say), None
        try:
            for name in self.names:
                tally.run(lab, name)
        except BenchBroke as error:
            bench = error
            self.say(f"BENCH  {error}")
        if tally.failed or bench:
            self.say(f"rxe: consoles, and scripts with their output: {lab.run}")
        self.say(f"{STATUS}{tally.result(self.names, bench)}")
        self.link.close()
        return bench is None


def serve(lab, door):
    """Until it is told to end (False) or the bench broke (True)."""
    idle_since = time.monotonic()
    while time.monotonic() - idle_since < IDLE_LIMIT:
        lab.step()
        with contextlib.suppress(BlockingIOError):
            request = Served(door.accept()[0])
            if request.names == [END]:
                request.say(f"{STATUS}0")
                return False
            if not request.run(lab):
                return True
            idle_since = time.monotonic()
    print("rxe: nobody asks any more", flush=True)
    return False


def main():
    folder, path = sys.argv[1], socket_of(sys.argv[1])
    if sys.argv[2:] == ["stop"]:
        return ask(folder, [END], print) or 0
    path.unlink(missing_ok=True)
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as door:  # one for all boots: who comes meanwhile waits
        door.bind(path.name)  # a relative name: its length is limited
        door.listen(64)
        door.setblocking(False)
        goes_on, boots = True, 0
        while goes_on and boots < BOOTS:
            boots += 1
            try:
                with Lab(folder) as lab:
                    print(lab.booted(), flush=True)
                    goes_on = serve(lab, door)
            except BenchBroke as error:  # between two requests
                print(f"BENCH  {error}", flush=True)
    path.unlink(missing_ok=True)
    return checks.BENCH if goes_on else 0


if __name__ == "__main__":
    import scenarios  # noqa: F401  these register the checks
    import tools  # noqa: F401

    sys.exit(main())
