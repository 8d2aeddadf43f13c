# SPDX-License-Identifier: Apache-2.0
"""Boots both hosts and connects the terminal with a shell in one of them: shell.py FOLDER [HOST]."""

import os
import select
import sys
import termios
import tty

from lab import BenchBroke, Lab

LEAVE = b"\x1d"  # Ctrl-]


def main():
    folder, host = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "0"
    if host not in ("0", "1") or not sys.stdin.isatty():
        print("scripts/rxe: shell takes 0 or 1, and a terminal", file=sys.stderr)
        return 2
    print("booting; Ctrl-] ends both hosts", flush=True)
    try:
        with Lab(folder, shell=int(host)) as lab:
            shell = lab.hosts[int(host)].connect("shell")
            shell.sendall(b"\n")
            before = termios.tcgetattr(sys.stdin)
            try:
                tty.setraw(sys.stdin)
                while True:
                    for ready in select.select([sys.stdin, shell], [], [], 0)[0]:
                        data = os.read(ready.fileno(), 4096)
                        if not data or LEAVE in data:
                            return 0
                        if ready is shell:
                            os.write(1, data)
                        else:
                            shell.sendall(data)
                    lab.step()
            finally:
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    except BenchBroke as error:
        print(f"BENCH  {error}")
        return 3


sys.exit(main())
