#!/usr/bin/env python3
"""A GPU that another process used meanwhile is the one that a fleet flags.

The argument is the program. docs/results/h200-slowed holds two runs of one H200: alone, and beside a
process that multiplied matrices without end. Its fleet is the latter and eleven units made of the
former, each with an offset of all cells (normal, 0.5 %: the spread between boards) and with what a
repetition differs by (normal, 0.09 %).
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "docs/results/h200-slowed"
PROGRAM = sys.argv.pop(1)
UNITS = 11
OFFSET, REPETITION = 0.005, 0.0009


def write_units(folder):
    alone = (RECORDED / "alone.json").read_text(encoding="utf-8")
    draw = random.Random(11).gauss
    for number in range(UNITS):
        report = json.loads(alone)
        offset = draw(0, OFFSET)
        for row in report["measurements"]:
            row["time_s"]["median"] *= math.exp(offset + draw(0, REPETITION))
        report["device"]["uuid"] = f"GPU-{number:08}"
        (folder / f"{number}.json").write_text(json.dumps(report), encoding="utf-8")


class Slowed(unittest.TestCase):
    def ranking(self, *reports):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            write_units(folder)
            merged = folder / "fleet" / "fleet.json"
            merged.parent.mkdir()
            units = [str(folder / f"{number}.json") for number in range(UNITS)]
            subprocess.run([PROGRAM, "merge", *units, *map(str, reports), "-o", str(merged)], check=True,
                           capture_output=True)
            done = subprocess.run([PROGRAM, "fleet", str(merged), "--gate", "--json"], capture_output=True, text=True,
                                  check=False)
        return done.returncode, json.loads(done.stdout)["groups"][0]["units"]

    def test_the_slowed_one_is_flagged_and_no_other(self):
        slowed = RECORDED / "beside-another-process.json"
        uuid = json.loads(slowed.read_text(encoding="utf-8"))["device"]["uuid"]
        code, units = self.ranking(slowed)
        self.assertEqual(code, 1)
        self.assertEqual([unit["id"] for unit in units if unit["verdict"] != "OK"], [uuid])
        found = next(unit for unit in units if unit["id"] == uuid)
        self.assertEqual(found["verdict"], "SLOW")
        self.assertEqual(found["cause"], "unknown")  # reports of then do not count processes
        self.assertIsNone(found["other_processes"])

    def test_the_other_process_is_named_where_the_report_counts_it(self):
        report = json.loads((RECORDED / "beside-another-process.json").read_text(encoding="utf-8"))
        report["device"]["state_before"]["other_processes"] = 1
        with tempfile.TemporaryDirectory() as scratch:
            slowed = pathlib.Path(scratch) / "slowed.json"
            slowed.write_text(json.dumps(report), encoding="utf-8")
            _, units = self.ranking(slowed)
        found = next(unit for unit in units if unit["verdict"] == "SLOW")
        self.assertEqual((found["cause"], found["other_processes"]), ("another process", 1))

    def test_the_same_unit_alone_is_not(self):
        code, units = self.ranking(RECORDED / "alone.json")
        self.assertEqual(code, 0)
        self.assertEqual({unit["verdict"] for unit in units}, {"OK"})


if __name__ == "__main__":
    unittest.main()
