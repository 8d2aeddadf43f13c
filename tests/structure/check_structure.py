#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler checks about the tree: who may include whom, sizes, tests, lists.

The tables below are the rules; an exception is a line with its reason.
"""

import argparse
import fnmatch
import pathlib
import re
import sys

# A header includes headers of its own level or below. The first pattern that matches counts.
LEVELS = [
    ("op.hpp", 0),
    ("error.hpp", 0),
    ("concepts.hpp", 1),
    ("sync/message.hpp", 1),  # plain data; the concept of a SyncPolicy speaks of it
    ("detail/clock.hpp", 1),
    ("detail/words.hpp", 1),  # small helpers without policies, for sync and transport
    ("detail/records.hpp", 1),
    ("detail/secret.hpp", 1),
    ("route.hpp", 1),
    ("status.hpp", 1),
    ("fwd.hpp", 2),
    ("policies/*", 2),
    ("transport/*", 2),
    ("sync/*", 2),
    ("detail/*", 3),
    ("context.hpp", 3),
    ("listener.hpp", 3),
    ("registration.hpp", 3),
    ("sender.hpp", 3),
    ("receiver.hpp", 3),
    ("connection.hpp", 3),
    ("proxy/*", 4),
    ("vccl.hpp", 6),  # for users; above the plugins, so nothing here includes it
]

# Standard headers that are dear to include: in none of our headers.
NEVER_INCLUDED = {"functional", "iostream", "ranges"}

# Only behind the clock and the threads.
TIME_HEADERS = {"chrono", "thread"}
TIME_ALLOWED = {
    "detail/service.hpp": "the service thread",
    "proxy/engine.hpp": "the progress thread",
    "transport/soft/clock.hpp": "the clocks of the software NIC",
    "transport/verbs/errands.hpp": "the thread for calls of the kernel that wait",
}

# The core, which everybody includes, takes the cheap parts of the standard library only.
CORE = ["op.hpp", "error.hpp", "concepts.hpp", "fwd.hpp", "connection.hpp", "policies/*"]
CORE_DENIED = {"atomic", "mutex", "memory", "string", "system_error", "vector", "deque", "list", "map",
               "unordered_map", "set", "algorithm", "numeric", "random", "regex", "future", "variant",
               "condition_variable", "shared_mutex", "sstream", "fstream", "ostream", "istream"}  # fmt: skip
CORE_ALLOWED = {
    "error.hpp": ({"string", "system_error"}, "SetupError, cold path"),
    "policies/health/per_port.hpp": ({"atomic"}, "shared by the connections of a process"),
}

# What may stand only in some places: (pattern in the code, folders, what to say).
CONFINED = [
    (r"\bibv_\w|infiniband/", ["transport/verbs/*"], "verbs outside transport/verbs/"),
    (r"range/v3", ["detail/*"], "range-v3 outside detail/"),
    (r"\bvirtual\b", [], "a virtual function"),
    (r"std::function\b", [], "std::function"),
    (r"std::shared_ptr\b", [], "std::shared_ptr"),
]

MAX_LINES = 400

# Headers without a test file of their own.
UNTESTED_ALLOWED = {
    "fwd.hpp": "declarations only; connection.hpp repeats them, so they are compiled everywhere",
    "vccl.hpp": "includes only; tests/consumer builds with it",
}

# Test programs that are in no list of this build, because of what the machine lacks.
UNLISTED_ALLOWED = [
    "tests/cuda/*",  # nvcc
    "tests/transport/verbs/*",  # libibverbs
    "tests/support/emulated_verbs/*",
    "tests/scenarios/verbs/*",
]


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def level(header):
    return next((number for pattern, number in LEVELS if fnmatch.fnmatch(header, pattern)), None)


def without_comments(text):
    """The text with comments blanked, line by line. String literals keep their content."""
    keep_lines = lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0][0] == "/" else match[0]
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', keep_lines, text, flags=re.S)


def includes(code):
    return re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", code, re.M)


def check_header(name, text):
    """Everything that one header shows by itself."""
    code = without_comments(text)
    lines = text.splitlines()
    if not lines or lines[0] != "// SPDX-License-Identifier: Apache-2.0":
        yield "the first line is not the SPDX licence line"
    if not re.search(r"^#pragma once$", text, re.M):
        yield "no #pragma once"
    if not re.search(r"^/// @file\b", text, re.M):
        yield "no /// @file line"
    if len(lines) > MAX_LINES:
        yield f"{len(lines)} lines, more than {MAX_LINES}"
    for pattern, allowed, what in CONFINED:
        if re.search(pattern, code) and not matches(name, allowed):
            yield what
    for included in includes(code):
        if included in NEVER_INCLUDED:
            yield f"includes <{included}>"
        if included in TIME_HEADERS and name not in TIME_ALLOWED:
            yield f"includes <{included}>, which only the clock and the threads may"
        if included in CORE_DENIED and matches(name, CORE):
            if included not in CORE_ALLOWED.get(name, ((), ""))[0]:
                yield f"a core header includes <{included}>"
        if included.startswith("vccl/"):
            yield from check_level(name, included.removeprefix("vccl/"))


def check_level(name, included):
    here, there = level(name), level(included)
    if here is None:
        yield "has no level in check_structure.py"
    elif there is None:
        yield f"includes {included}, which has no level in check_structure.py"
    elif there > here:
        yield f"includes {included}, which is above it"


def check_cycles(graph):
    done, path = set(), []

    def visit(name):
        if name in path:
            yield name, "includes itself: " + " -> ".join(path[path.index(name) :] + [name])
        elif name not in done:
            path.append(name)
            for included in graph.get(name, []):
                yield from visit(included)
            path.pop()
            done.add(name)

    for name in sorted(graph):
        yield from visit(name)


def check_test(root, name):
    """A header's test stands at the same place under tests/ and includes the header first."""
    test = root / "tests" / re.sub(r"\.hpp$", ".test.cpp", name)
    if not test.is_file():
        if name not in UNTESTED_ALLOWED:
            yield f"no test file {test.relative_to(root)}"
        return
    found = includes(without_comments(test.read_text()))
    if not found or found[0] != f"vccl/{name}":
        yield f"{test.relative_to(root)} does not include it first"


def check_tree(root, test_files=None):
    """All problems of a project as (file, problem)."""
    base = root / "include" / "vccl"
    headers = {path.relative_to(base).as_posix(): path.read_text() for path in base.rglob("*") if path.is_file()}
    for name, text in sorted(headers.items()):
        for problem in check_header(name, text):
            yield name, problem
        for problem in check_test(root, name):
            yield name, problem
    graph = {
        name: [i.removeprefix("vccl/") for i in includes(without_comments(text)) if i.startswith("vccl/")]
        for name, text in headers.items()
    }
    yield from check_cycles(graph)

    listed = re.findall(r"^\s*include/vccl/(\S+)$", (root / "cmake/headers.cmake").read_text(), re.M)
    for name in sorted(headers.keys() - set(listed)):
        yield name, "is not in cmake/headers.cmake"
    for name in sorted(set(listed) - headers.keys()):
        yield name, "is in cmake/headers.cmake but does not exist"
    if listed != sorted(set(listed)):
        yield "cmake/headers.cmake", "is not sorted, or lists a header twice"

    if test_files is not None:
        for path in sorted((root / "tests").rglob("*.test.cpp")):
            test = path.relative_to(root).as_posix()
            if test not in test_files and not matches(test, UNLISTED_ALLOWED):
                yield test, "is built by no CMakeLists.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--test-files", type=pathlib.Path, help="list of the test files that CMake builds")
    options = parser.parse_args()
    test_files = options.test_files and set(options.test_files.read_text().split())
    problems = list(check_tree(options.root, test_files))
    for file, problem in problems:
        print(f"{file}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
