#!/usr/bin/env python3
"""Whether libnf4.so still offers what callers of its version were compiled against: its symbols, and
the sizes, offsets and numbers of nf4.h. Both are in abi.txt.

    abi_test.py LIBRARY CC        --update writes abi.txt anew, which is for new versions
"""

import difflib
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
LIST = FOLDER / "abi.txt"
MOST_THREAD_BYTES = 12 * 1024  # most of it CUDA's runtime


def symbols(library):
    """What the library defines for others, with versions, and its SONAME."""
    listed = subprocess.run(["nm", "--dynamic", "--defined-only", library], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    names = sorted(line.split(maxsplit=2)[2] for line in listed.splitlines())
    dynamic = subprocess.run(["readelf", "-dW", library], check=True, stdout=subprocess.PIPE, text=True,
                             env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout
    soname = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(SONAME)" in line]
    return [f"SONAME {name}" for name in soname] + [f"symbol {name}" for name in names]


def thread_bytes(library):
    """What of the stack of each thread of a program a library takes that is linked with it."""
    headers = subprocess.run(["readelf", "-lW", library], check=True, stdout=subprocess.PIPE, text=True,
                             env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout
    return sum(int(line.split()[5], 16) for line in headers.splitlines() if line.split()[:1] == ["TLS"])


def layout(compiler):
    """What abi.c prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "abi"
        subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I",
                        FOLDER.parents[1] / "include", FOLDER / "abi.c", "-o", program], check=True)
        printed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
        return printed.stdout.splitlines()


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    library, compiler = arguments
    found = symbols(library) + layout(compiler)
    if "--update" in sys.argv:
        LIST.write_text("\n".join(found) + "\n")
        return 0
    if thread_bytes(library) > MOST_THREAD_BYTES:
        print(f"{thread_bytes(library)} bytes are thread_local: threads with small stacks cannot be started")
        return 1
    difference = list(difflib.unified_diff(LIST.read_text().splitlines(), found, "abi.txt", "built",
                                           lineterm=""))
    if not difference:
        return 0
    print("\n".join(difference))
    print("The ABI changed. Within a major version it only grows: new symbols, new enumerators, members at "
          "the end of structs.\nIf that is what this is, raise NF4_VERSION_MINOR in include/nf4.h and write "
          "abi.txt with abi_test.py --update.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
