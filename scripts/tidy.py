#!/usr/bin/env python3
"""Runs clang-tidy on the sources in src/, kernels/ and lib/ that a build folder compiles.

Most of its time goes into the headers, so some files of a folder are checked as one. Files that do not
compile together, and files of which something is reported, are checked alone. An include that is missing
is found where a file is compiled alone and without precompiled headers: the preset "checks" does that,
and this script for the files that only a build with CUDA has.

What was clean is not looked at again while its sources, headers and options and clang-tidy stay the same:
~/.cache/nf4bench-tidy (or $XDG_CACHE_HOME) knows it.

  scripts/tidy.py BUILD [--jobs N]      exit code 1 when something is found
"""

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "nf4bench-tidy")
FILES_AT_ONCE = 8
PRECOMPILED = re.compile(r" -Winvalid-pch| -include \S+/cmake_pch\.hxx")
# What needs a file of its own: with others, their uses count, too. Most files have nothing of the kind.
ALONE = "-*,misc-unused-*,readability-duplicate-include,clang-diagnostic-*"
HAS_UNUSED = re.compile(r"^\s*(using [\w:]+::\w+;|namespace \w+ =)", re.MULTILINE)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)


def sources_of(build):
    """Commands of our .cpp files without what belongs to precompiled headers."""
    entries = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if path.suffix == ".cpp" and any(ROOT / part in path.parents for part in ("src", "kernels", "lib")):
            entries.append({**entry, "command": PRECOMPILED.sub("", entry["command"])})
    return sorted(entries, key=lambda entry: entry["file"])


def groups_of(entries):
    """Lists of entries that are compiled alike: of one folder and one library."""
    alike = collections.defaultdict(list)
    for entry in entries:
        flags = entry["command"].split(" -o ")[0]
        alike[os.path.dirname(entry["file"]), flags].append(entry)
    for group in alike.values():
        for first in range(0, len(group), FILES_AT_ONCE):
            yield group[first:first + FILES_AT_ONCE]


def together(group, path):
    """The entry of a file at `path`, written here, that includes those of `group`."""
    lines = [f'#include "{entry["file"]}"  // NOLINT\n' for entry in group]
    path.write_text("".join(lines), encoding="utf-8")
    command = group[0]["command"].replace(group[0]["file"], str(path))
    return {"directory": group[0]["directory"], "command": command, "file": str(path)}


def tidy(folder, path, *options):
    """What clang-tidy reports of a file; empty when nothing is wrong."""
    command = ["clang-tidy", "-p", folder, "--quiet", *options, path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def needs_itself(path):
    """Whether ALONE can find something in a file."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    includes = INCLUDE.findall(text)
    return "/cuda/" in path or len(set(includes)) < len(includes) or HAS_UNUSED.search(text) is not None


@functools.lru_cache(maxsize=None)
def digest_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@functools.lru_cache(maxsize=None)
def setup():
    """What the findings depend on besides sources: clang-tidy, its options, and what runs it."""
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, check=True).stdout
    return [version.decode(), digest_of(ROOT / ".clang-tidy"), digest_of(__file__)]


def key_of(group, whole):
    """Names all that the findings of a group depend on, wherever the clone lies; None if it does not compile."""
    command, _, _ = whole["command"].partition(" -o ")
    listed = subprocess.run([*shlex.split(command), "-M", "-MT", "all", whole["file"]], cwd=whole["directory"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if listed.returncode != 0:
        return None
    read = [path for path in listed.stdout.replace("\\\n", " ").split()[1:] if path != whole["file"]]
    parts = [*setup(), command.replace(str(ROOT), ""), *(entry["file"].replace(str(ROOT), "") for entry in group)]
    return hashlib.sha256("\n".join([*parts, *map(digest_of, read)]).encode()).hexdigest()


def check(folder, group, whole):
    """What is reported of the files of a group, of which `whole` holds all."""
    key = key_of(group, whole)
    if key and (CLEAN / key).exists():
        return []
    found = [text for text in look(folder, group, whole["file"]) if text]
    if key and not found:
        CLEAN.mkdir(parents=True, exist_ok=True)
        (CLEAN / key).touch()
    return found


def look(folder, group, whole):
    paths = [entry["file"] for entry in group]
    if len(paths) > 1 and not tidy(folder, whole):
        return [tidy(folder, path, f"--checks={ALONE}") for path in paths if needs_itself(path)]
    return [tidy(folder, path) for path in paths]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="a configured build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="clang-tidy at once")
    arguments = parser.parse_args()
    entries = sources_of(arguments.build)
    if not entries:
        sys.exit(f"error: {arguments.build} compiles no source of src/, kernels/ or lib/")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / ".clang-tidy").write_bytes((ROOT / ".clang-tidy").read_bytes())
        groups = list(groups_of(entries))
        wholes = [together(g, pathlib.Path(folder, f"{i}.cpp")) for i, g in enumerate(groups)]
        database = pathlib.Path(folder, "compile_commands.json")
        database.write_text(json.dumps(entries + wholes), encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            checks = [pool.submit(check, folder, g, w) for g, w in zip(groups, wholes)]
            found = [text for each in checks for text in each.result()]
    print("".join(found), end="")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
