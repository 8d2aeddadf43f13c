#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the instructions of each pair ours_<x>, bare_<x> in an object file.

Addresses are removed: jumps inside a function become offsets from its start, a reference to a function
of a pair becomes the name of the pair, and the padding after a function is dropped. Everything else
(registers, immediate constants, order, called symbols) must be the same. Constants in memory, such
as floating-point ones, are compared by their use only, not by their value.
"""

import argparse
import collections
import re
import subprocess
import sys

FUNCTION = re.compile(r"^<(ours|bare)_(\w+)((?:\.\w+)*)>:$")
PADDING = re.compile(r"^((data16 |cs )*nop|xchg +%ax,%ax|int3|\s*$)")


def normalised(line):
    """One instruction or relocation without addresses."""
    line = line.split("#")[0]  # objdump's own remark on an address
    line = re.sub(r"\b(ours|bare)_(\w+)", r"@\2", line)
    line = re.sub(r"\.(LC|LCPI|rodata)\S*", r".\1", line)  # constants in memory
    return " ".join(line.split())


def functions(listing):
    """{(x + suffix): {"ours": [...], "bare": [...]}} from objdump's output."""
    pairs = collections.defaultdict(dict)
    body = None
    for line in listing.splitlines():
        header = FUNCTION.match(line)
        if header:
            body = pairs[header[2] + header[3]][header[1]] = []
        elif line.startswith("<") or line.startswith("Disassembly"):
            body = None
        elif body is not None:
            line = normalised(line)
            if line.startswith("R_") and body:  # the instruction's own target means nothing yet
                body[-1] = re.sub(r" <.*>$", "", body[-1])
            body.append(line)
    for pair in pairs.values():
        for body in pair.values():
            while body and PADDING.match(body[-1]):
                body.pop()
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("object")
    options = parser.parse_args()

    command = [options.objdump, "-d", "-r", "--no-show-raw-insn", "--no-addresses", options.object]
    pairs = functions(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if not pairs:
        sys.exit(f"{options.object}: no functions ours_<x> and bare_<x>")
    different = 0
    for name, pair in sorted(pairs.items()):
        ours, bare = pair.get("ours"), pair.get("bare")
        if ours and ours == bare:
            print(f"{name}: the same {sum(not line.startswith('R_') for line in ours)} instructions")
            continue
        different += 1
        print(f"{name}: DIFFERENT")
        for side, body in (("ours", ours), ("bare", bare)):
            print(f"  {side}_{name}:" + ("  (missing)" if not body else ""))
            print("".join(f"    {line}\n" for line in body or []), end="")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
