#!/usr/bin/env python3
"""Fails when a name is defined more than once among object files or static libraries: strongly in
two of them, or strongly in one and as an inline function in another. The linker takes one of the two
bodies without a word, and which one it takes can change with the optimization.

  scripts/check_symbols.py [--nm NM] FILE...      prints the names and where they are defined
  scripts/check_symbols.py --self-test CXX        proves on small sources that it finds them
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

STRONG = set("TDBRGSC")  # functions, variables, constants, commons
INLINE = set("WVu")  # also templates, which every file that uses them defines


def definitions(nm, files):
    """Maps each name to the (object, kind) pairs that define it for others."""
    found = collections.defaultdict(list)
    command = [nm, "--extern-only", "--defined-only", "--print-file-name", "--format=posix", *files]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in listed.splitlines():
        place, _, rest = line.partition(": ")
        words = rest.split()
        if len(words) >= 2:
            found[words[0]].append((place, words[1]))
    return found


def conflicts(nm, files):
    """Names that are defined strongly and elsewhere again, with their definitions."""
    return {
        name: places
        for name, places in definitions(nm, files).items()
        if any(kind in STRONG for _, kind in places)
        and sum(kind in STRONG or kind in INLINE for _, kind in places) > 1
    }


def demangled(name):
    try:
        return subprocess.run(["c++filt", name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return name


def report(found):
    for name, places in sorted(found.items()):
        print(f"{demangled(name)} is defined more than once:")
        for place, kind in places:
            print(f"  {'inline' if kind in INLINE else 'strong'} in {place}")


SOURCES = {
    "inline": "inline __attribute__((used)) int twice(int x) { return x + x; }",
    "strong": "int twice(int x) { return 2 * x; }",
    "again": "int twice(int x) { return x << 1; }",
    "template": "template <class T> T thrice(T x) { return 3 * x; } int a(int x) { return thrice(x); }",
    "instance": "template <class T> T thrice(T x) { return 3 * x; } int b(int x) { return thrice(x); }",
    "hidden": "namespace { int twice(int x) { return x; } } int c(int x) { return twice(x); }",
}
# Which of them conflict, in any order.
EXPECTED = [
    (["inline", "strong"], True),
    (["strong", "inline"], True),
    (["strong", "again"], True),
    (["inline", "inline"], False),
    (["template", "instance"], False),
    (["strong", "hidden"], False),
]


def self_test(nm, compiler):
    with tempfile.TemporaryDirectory() as folder:
        objects = {}
        for name, text in SOURCES.items():
            source = pathlib.Path(folder, name + ".cpp")
            source.write_text(text + "\n", encoding="utf-8")
            objects[name] = str(source.with_suffix(".o"))
            subprocess.run([compiler, "-O0", "-c", str(source), "-o", objects[name]], check=True)
        for names, conflict in EXPECTED:
            found = conflicts(nm, [objects[name] for name in names])
            if bool(found) != conflict:
                sys.exit(f"error: {' and '.join(names)}: {'nothing' if conflict else 'something'} found")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nm", default="nm", help="the nm of the toolchain")
    parser.add_argument("--self-test", metavar="CXX", help="compile small sources with CXX, and check those first")
    parser.add_argument("files", nargs="*", help="object files and static libraries")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test(arguments.nm, arguments.self_test)
    found = conflicts(arguments.nm, arguments.files) if arguments.files else {}
    report(found)
    if found:
        sys.exit(f"error: {len(found)} names are defined more than once")
    if arguments.files:
        print(f"no name is defined twice in {len(arguments.files)} files")


if __name__ == "__main__":
    main()
