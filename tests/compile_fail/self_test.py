# SPDX-License-Identifier: Apache-2.0
"""Shows that expect_compile_error.cmake refuses what it should: self_test.py <cmake> <compiler>"""

import pathlib
import subprocess
import sys
import tempfile

CMAKE, COMPILER = sys.argv[1:]
SCRIPT = pathlib.Path(__file__).parents[2] / "cmake/expect_compile_error.cmake"
INSIDE_TEMPLATE = 'template <class T> void f() { static_assert(sizeof(T) == 9, "Named"); } void g() { f<int>(); }'

CASES = [  # source, expected word, compiler, accepted
    ('static_assert(false, "Named");', "Named", COMPILER, True),
    (INSIDE_TEMPLATE, "Named", COMPILER, True),
    ("int x;", "Named", COMPILER, False),  # compiles
    ('static_assert(false, "Other");', "Named", COMPILER, False),  # another error
    ('static_assert(false, "NamedLonger");', "Named", COMPILER, False),  # part of a word
    ('static_assert(false, "Other");  // Named', "Named", COMPILER, False),  # in a quoted line
    ('static_assert(false, "Other");', "mistake", COMPILER, False),  # in the file's name
    ('static_assert(false, "Named");', "Named", "no-such-compiler", False),
]

failures = 0
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "mistake.cpp"
    for source, word, compiler, accepted in CASES:
        file.write_text(source + "\n")
        command = [CMAKE, f"-DWORD={word}", f"-DFILE={file}", "-P", SCRIPT, "--",
                   compiler, "-std=c++20", "-c", file, "-o", "/dev/null"]  # fmt: skip
        status = subprocess.run(command, capture_output=True, check=False).returncode
        if (status == 0) != accepted:
            failures += 1
            print(f"{source!r} expecting {word!r}: accepted = {status == 0}, should be {accepted}")
sys.exit(1 if failures else 0)
