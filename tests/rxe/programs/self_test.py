# SPDX-License-Identifier: Apache-2.0
"""Runs the worker on the software network: what is right passes, and each mistake is noticed. self_test.py WORKER."""

import json
import pathlib
import subprocess
import sys
import tempfile

FAULT = "at 200ms link host0.port0 down for 400ms"
# Arguments; exit status; for an end, members of its last line, a string for what a text must hold.
CASES = [
    ("--count 300 --sizes 65536,1,0,7,4097,100000 --rate 8000000", 0,
     {"sender": {"messages": 300}, "receiver": {"messages": 300, "failovers": 0, "resent_bytes": 0}}),
    (f"--count 400 --rate 12000000|--faults|{FAULT}", 0,
     {"sender": {"failovers": 1, "failbacks": 1, "ok": True}, "receiver": {"failovers": 1, "failbacks": 1}}),
    ("--count 4000 --sizes 0,64,0,512 --group 4 --first-step 65530 --window 3", 0, {"receiver": {"messages": 4000}}),
    ("--count 100 --bundle no_backup", 0, {"receiver": {"messages": 100}}),
    (f"--count 400 --rate 12000000 --bundle no_backup --limit 6|--faults|{FAULT.replace('400ms', '9s')}", 1,
     {"sender": {"ok": False, "problem": "transport retries exceeded"},
      "receiver": {"ok": False}}),  # It may wait, or see its own CTS fail.
    ("--count 100 --mistake byte", 1, {"receiver": {"ok": False, "problem": "message 50: byte 32768 is wrong"}}),
    ("--count 100 --mistake skip", 1, {"receiver": {"problem": "message 51 came as number 50"}}),
    ("--count 100 --mistake twice", 1, {"receiver": {"problem": "message 49 came as number 50"}}),
    ("--ports port2 --count 1", 2, {}),
]  # fmt: skip


def wrong(worker, arguments, status, ends):
    """What is not as it should be."""
    words, *rest = arguments.split("|")
    given = [*words.split(), *rest]
    for option, value in (("--ports", "port0,port1"), ("--bundle", "quick")):
        given += [option, value] if option not in given else []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "end").touch()
        ran = subprocess.run([worker, "--role", "both", "--folder", folder, *given],
                             capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    if ran.returncode != status:
        yield f"exit status {ran.returncode}, expected {status}: {ran.stdout[-600:]}{ran.stderr}"
    finals = {line["end"]: line for line in map(json.loads, ran.stdout.splitlines()) if line["event"] == "final"}
    for end, members in ends.items():
        for key, value in members.items():
            seen = finals.get(end, {}).get(key)
            if value not in seen if isinstance(value, str) and isinstance(seen, str) else value != seen:
                yield f"{end}: {key} is {seen!r}, expected {value!r}"


def main():
    failures = [f"{case[0]}: {what}" for case in CASES for what in wrong(sys.argv[1], *case)]
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
