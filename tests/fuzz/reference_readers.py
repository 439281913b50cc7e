#!/usr/bin/env python3
"""Holds this project's readers against the reference readers over folders of files, such as a
corpus that fuzzing grew: the same verdict on each file, or a deviation that docs/formats.md lists.

    pip install safetensors numpy
    tests/fuzz/reference_readers.py BUILD/tests/fuzz/reader_verdicts safetensors FOLDER...
    tests/fuzz/reference_readers.py BUILD/tests/fuzz/reader_verdicts npy FOLDER...
"""

import io
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

# What we refuse and the reference accepts, by our message.
DEVIATIONS = {
    "safetensors": {
        "a key twice": r"occurs twice in one object$",
        "more than 32 dimensions": r"found more than 32 values",
        "an entry that is a list": r"header entry: found an array",
    },
    "npy": {
        "bytes after the array": r"data: found \d+ bytes, wanted the \d+ bytes",
        "a key twice": r"occurs twice$",
        "other types": r"descr: found ",
        "Fortran order": r"fortran_order: found True with shape",
        "more than 32 dimensions": r"wanted at most 32 dimensions",
        "Python that numpy never writes": r"\.npy header: (header|shape|fortran_order|descr): found",
    },
}


def accepts_safetensors(data):
    import safetensors

    try:
        safetensors.deserialize(data)
    except Exception:  # pylint: disable=broad-except
        return False
    return True


def accepts_npy(data):
    import numpy

    if not data.startswith(b"\x93NUMPY"):
        return False  # numpy.load would take it for a pickle or a zip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numpy.load(io.BytesIO(data), allow_pickle=False)
    except Exception:  # pylint: disable=broad-except
        return False
    return True


def main():
    if len(sys.argv) < 4 or sys.argv[2] not in DEVIATIONS:
        sys.exit(__doc__)
    program, kind, *folders = sys.argv[1:]
    accepts = accepts_safetensors if kind == "safetensors" else accepts_npy
    accepts(b"")  # says at once when the package is missing
    listed, same, wrong = Counter(), Counter(), 0
    for folder in map(Path, folders):
        lines = subprocess.run([program, kind, folder], check=True, capture_output=True).stdout
        for line in lines.decode().splitlines():
            name, verdict = line.split("\t", 1)
            reference = accepts((folder / name).read_bytes())
            ours = verdict == "ACCEPT"
            if ours == reference:
                same["accepted" if ours else "refused"] += 1
                continue
            known = [k for k, v in DEVIATIONS[kind].items() if not ours and re.search(v, verdict)]
            if known:
                listed[known[0]] += 1
            else:
                wrong += 1
                print(f"{folder / name}: the reference {'accepts' if reference else 'refuses'} it, "
                      f"we say {verdict}")
    print(f"{sum(same.values())} files with the same verdict ({same['accepted']} accepted), "
          f"{sum(listed.values())} with a listed deviation {dict(listed)}, {wrong} others")
    sys.exit(1 if wrong or not same else 0)


if __name__ == "__main__":
    main()
