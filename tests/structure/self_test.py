# SPDX-License-Identifier: Apache-2.0
"""Shows that check_structure.py reports each kind of mistake, and nothing in a tree without one."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import check_structure  # noqa: E402

START = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n/// @file A header.\n"

GOOD = {
    "op.hpp": START + "#include <cstdint>\n// never a virtual function, never <chrono> or ibv_qp\n",
    "concepts.hpp": START + "#include <vccl/op.hpp>\n",
    "transport/verbs/qp.hpp": START + "#include <infiniband/verbs.h>\nibv_qp* f();\n",
    "detail/service.hpp": START + "#include <chrono>\n#include <vccl/transport/verbs/qp.hpp>\n",
    "detail/ranges.hpp": START + "#include <range/v3/view/filter.hpp>\n",
}

MISTAKES = [  # header, what is appended to it (or its whole text), what must be reported
    ("policies/x.hpp", START + "#include <vccl/detail/ranges.hpp>\n", "which is above it"),
    ("op.hpp", "#include <vccl/concepts.hpp>\n", "which is above it"),
    ("connection.hpp", START + "#include <vccl/vccl.hpp>\n", "which is above it"),
    ("other/x.hpp", START + "#include <vccl/op.hpp>\n", "has no level"),
    ("detail/a.hpp", START + "#include <vccl/detail/a.hpp>\n", "includes itself"),
    ("op.hpp", "ibv_qp* f();\n", "verbs outside"),
    ("op.hpp", "#include <infiniband/verbs.h>\n", "verbs outside"),
    ("op.hpp", "#include <range/v3/all.hpp>\n", "range-v3 outside"),
    ("detail/ranges.hpp", "#include <functional>\n", "includes <functional>"),
    ("detail/ranges.hpp", "#include <iostream>\n", "includes <iostream>"),
    ("detail/ranges.hpp", "#include <ranges>\n", "includes <ranges>"),
    ("detail/ranges.hpp", "#include <chrono>\n", "includes <chrono>"),
    ("detail/ranges.hpp", "#include <thread>\n", "includes <thread>"),
    ("op.hpp", "#include <atomic>\n", "a core header includes <atomic>"),
    ("op.hpp", "struct A { virtual void f(); };\n", "a virtual function"),
    ("op.hpp", "std::function<void()> f;\n", "std::function"),
    ("op.hpp", "std::shared_ptr<int> p;\n", "std::shared_ptr"),
    ("op.hpp", "\n" * 400, "more than 400"),
    ("detail/x.hpp", "#pragma once\n/// @file A.\n", "SPDX"),
    ("detail/x.hpp", START.replace("#pragma once\n", ""), "no #pragma once"),
    ("detail/x.hpp", START.replace("/// @file", "//"), "no /// @file"),
]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_tree(root, headers):
    """A project with the given headers, each listed and tested. Returns the list of its tests."""
    tests = []
    for name, text in headers.items():
        write(root / "include/vccl" / name, text)
        tests.append(f"tests/{name.removesuffix('.hpp')}.test.cpp")
        write(root / tests[-1], f"#include <vccl/{name}>\n")
    lines = "".join(f"    include/vccl/{name}\n" for name in sorted(headers))
    write(root / "cmake/headers.cmake", f"set(VCCL_HEADERS\n{lines})\n")
    return set(tests)


def problems(headers, change=lambda root, tests: None):
    """What is reported about such a project after a change to it."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tests = make_tree(root, headers)
        change(root, tests)
        return [f"{file}: {problem}" for file, problem in check_structure.check_tree(root, tests)]


def headers_list(root, edit):
    path = root / "cmake/headers.cmake"
    path.write_text(edit(path.read_text()))


TREE_MISTAKES = [  # change, what must be reported
    (lambda root, tests: (root / "tests/op.test.cpp").unlink(), "op.hpp: no test file"),
    (lambda root, tests: write(root / "tests/op.test.cpp", "#include <span>\n"), "does not include it first"),
    (lambda root, tests: tests.remove("tests/op.test.cpp"), "is built by no CMakeLists.txt"),
    (lambda root, tests: headers_list(root, lambda text: text.replace("    include/vccl/op.hpp\n", "")),
     "op.hpp: is not in cmake/headers.cmake"),
    (lambda root, tests: headers_list(root, lambda text: text.replace("/op.hpp", "/op2.hpp")),
     "op2.hpp: is in cmake/headers.cmake but does not exist"),
    (lambda root, tests: headers_list(root, lambda text: text.replace(")", "    include/vccl/op.hpp\n)")),
     "is not sorted, or lists a header twice"),
]  # fmt: skip


def main():
    failures = []
    if problems(GOOD):
        failures.append(("a good tree", problems(GOOD)))
    for name, text, expected in MISTAKES:
        found = problems({**GOOD, name: text if name not in GOOD else GOOD[name] + text})
        if not any(expected in problem and problem.startswith(name) for problem in found):
            failures.append((expected, found))
    for change, expected in TREE_MISTAKES:
        found = problems(GOOD, change)
        if not any(expected in problem for problem in found):
            failures.append((expected, found))
    for expected, found in failures:
        print(f"expected: {expected}\nreported: {found}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
