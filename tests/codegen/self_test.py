# SPDX-License-Identifier: Apache-2.0
"""Shows that compare_asm.py reports what differs and nothing else: self_test.py <compiler>"""

import pathlib
import subprocess
import sys
import tempfile

COMPARE = pathlib.Path(__file__).with_name("compare_asm.py")
LOOP = "{ int s = 0; for (int i = 0; i < n; ++i) s += f(p[i]); return s; }"
PRELUDE = "int f(int); int g(int); double h(double); struct Scope { ~Scope(); };"

CASES = [  # what ours and bare return from (int* p, int n), whether they are the same
    ("{ return p[0] + n; }", "{ return n + p[0]; }", True),
    (LOOP, LOOP, True),
    ("{ Scope s; return f(n) + f(p[0]); }", "{ Scope s; return f(n) + f(p[0]); }", True),
    ("{ return int(h(n + 2.5)); }", "{ return int(h(n + 2.5)); }", True),
    ("{ return n > 4 ? f(n) : g(p[n]) + 1; }", "{ return n > 4 ? f(n) : g(p[n]) + 1; }", True),
    ("{ return p[0] + n; }", "{ return p[0] - n; }", False),
    ("{ return p[0]; }", "{ return p[1]; }", False),
    ("{ return n + 1; }", "{ return n + 2; }", False),
    ("{ return f(n) + 1; }", "{ return g(n) + 1; }", False),
    (LOOP, LOOP.replace("i < n", "i < n && p[i]"), False),
    ("{ return n; }", None, False),
]  # fmt: skip


def compare(compiler, folder, source):
    """Exit status and output of compare_asm.py for a source text."""
    source_file, object_file = folder / "pair.cpp", folder / "pair.o"
    source_file.write_text(source)
    flags = [] if "clang" in compiler else ["-fno-ipa-icf"]
    subprocess.run([compiler, "-O2", "-ffunction-sections", *flags, "-c", source_file, "-o", object_file], check=True)
    command = [sys.executable, COMPARE, object_file]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def main():
    compiler = sys.argv[1]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for ours, bare, same in CASES:
            source = PRELUDE + f'extern "C" int ours_x(int* p, int n) {ours}\n'
            if bare:
                source += f'extern "C" int bare_x(int* p, int n) {bare}\n'
            status, output = compare(compiler, folder, source)
            reported = status == 0 if same else status == 1 and "ours_x:" in output and "bare_x:" in output
            if not reported:
                failures += 1
                print(f"ours {ours}, bare {bare}: should be {same}, got\n{output}")
        if compare(compiler, folder, "int unrelated;")[0] == 0:
            failures += 1
            print("an object file without pairs was accepted")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
