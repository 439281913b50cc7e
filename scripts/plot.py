#!/usr/bin/env python3
"""Draws reports of nf4bench with matplotlib, for papers and slides: scripts/plot.py --help tells how."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

try:
    from nf4bench import plot
except ImportError as error:
    sys.exit(f"plot.py: {error}")

if __name__ == "__main__":
    sys.exit(plot.run())
