#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that failover is in one file and not in the other: symbols.py --without <file> --with <file>

Best shown by objects compiled without optimisation: every function that is used has a symbol there.
A word that is in neither would prove nothing, so each must match a symbol with failover. In optimised
programs (--optimised) some functions are inlined everywhere; then one word must match.
"""

import argparse
import re
import subprocess
import sys

WORDS = {
    "the rules by which the ends agree": r"\breceiver_decides\b|\bReceiverDecides\b",
    "their messages": r"\bsync::(Message|Actions?|Positions|Start)\b",
    "control records": r"\bControl(Frame|Record|Element)\b",
    "the driver": r"\bFailover\b",
    "fences, arms and probes": r"\bPathJobs\b",
    "when to go back": r"\bFailbackTimer\b",
    "being served when nobody polls": r"\bServiceNode\b|\bService::",
}


def symbols(nm, file):
    command = [nm, "--demangle", "--defined-only", file]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split(maxsplit=2)[2] for line in output.splitlines() if len(line.split()) > 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--optimised", action="store_true")
    parser.add_argument("--without", required=True)
    parser.add_argument("--with", dest="with_", required=True)
    options = parser.parse_args()

    failures = found = 0
    without, with_ = symbols(options.nm, options.without), symbols(options.nm, options.with_)
    print(f"{len(without)} symbols without failover, {len(with_)} with it")
    for what, word in WORDS.items():
        left = [s for s in without if re.search(word, s)]
        control = sum(bool(re.search(word, s)) for s in with_)
        print(f"{what}: {len(left)} without, {control} with")
        for symbol in left:
            print(f"    left over: {symbol}")
        if control == 0 and not options.optimised:
            print(f"    nothing with failover matches {word}")
            failures += 1
        failures += bool(left)
        found += control
    return 1 if failures or found == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
