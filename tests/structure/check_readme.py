#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the README's program is the one in examples/quickstart, and that what it links is there."""

import pathlib
import re
import sys
import textwrap


def program(source):
    """What stands between the markers of the example, without its indentation."""
    return textwrap.dedent(re.search(r"// \[readme\]\n(.*?)\n *// \[readme\]", source, re.S)[1])


def problems(readme, source, root):
    first = re.search(r"```cpp\n(.*?)```", readme, re.S)
    if not first:
        yield "README.md has no program"
    elif program(source).strip() not in first[1]:
        yield "README.md's program is not the one in examples/quickstart/quickstart.cpp"
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        if not (root / link).exists():
            yield f"README.md links {link}, which is not there"
    if "@@" in readme:
        yield "README.md has an unfilled place"


def main():
    root = pathlib.Path(sys.argv[1])
    readme = (root / "README.md").read_text()
    source = (root / "examples/quickstart/quickstart.cpp").read_text()
    found = list(problems(readme, source, root))
    # The check itself must see a program that differs and a link that leads nowhere.
    bad = readme.replace("vccl::Tag{7}", "vccl::Tag{8}", 1) + "[x](no/such/file)"
    if len(list(problems(bad, source, root))) < 2 + len(found):
        found.append("this check does not see what it should")
    print("\n".join(found) or "README.md: the program and the links are right")
    return 1 if found else 0


sys.exit(main())
