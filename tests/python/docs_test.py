#!/usr/bin/env python3
"""Runs the Python of docs/python.md, one block after another, from the root of the checkout."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    os.chdir(ROOT)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    print(f"{len(blocks)} blocks ran")
    return 0 if len(blocks) > 3 else 1


if __name__ == "__main__":
    sys.exit(main())
