#!/usr/bin/env python3
"""A fleet of 1,024 GPUs, made of reports of two, through merge, fleet, its page and its gate.

The argument is the program. Each unit is board A of docs/results/h200 with the times of its 80 cells
changed: by a normal share of the difference between boards A and B (all cells at once, as those two
differ), by an offset of all cells (normal, 0.5 %), and by what a repetition differs by (normal, the
error of the cell's samples and 0.09 %). Then six units get something of their own:

    100  takes 5 % longer in every cell
    200  takes 6 % longer in the cells that the memory binds, no longer in the others
    300  takes 7 % longer in the others, with a clock that is 7 % lower, and is throttled by heat
    400  takes 2 % longer in every cell, which is within what units may differ by
    500  its run did not end
    600  left no report
"""

import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "docs/results/h200"
PROGRAM = sys.argv.pop(1)
UNITS = 1024
OFFSET, REPETITION, LIKENESS = 0.005, 0.0009, 1 / math.sqrt(2)
MEMORY_BOUND = 0.8  # of the bandwidth of a copy


def identity(report, row):
    tensor = next(t for t in report["tensors"] if t["id"] == row["tensor"])
    return (*tensor["shape"], tensor["blocksize"], *(row[k] for k in ("variant", "output_dtype", "cache", "launch")))


def recorded():
    """Board A's report without samples, and by how much board B takes longer in each row."""
    report, other = (json.loads((RECORDED / name).read_text(encoding="utf-8"))
                     for name in ("geometries-one-board.json", "geometries-other-board.json"))
    medians = {identity(other, row): row["time_s"]["median"] for row in other["measurements"]}
    differences = []
    for row in report["measurements"]:
        differences.append(math.log(medians[identity(report, row)] / row["time_s"]["median"]))
        clocks = row["sm_clock_hz"]
        low, high = row["time_s"]["ci95"]
        row["sample_digest"] = {"count": max(len(row["samples_s"]), 30),
                                "log_error": math.log(high / low) / 2 / 1.959964,
                                "mean_clock_hz": sum(clocks) / len(clocks) if clocks else 1.98e9,
                                "median_clock_hz": sorted(clocks)[len(clocks) // 2] if clocks else 1.98e9}
        row["samples_s"], row["sm_clock_hz"] = [], []
    return report, differences


class Fleet:
    """Writes the reports of the units."""

    def __init__(self):
        self.report, self.differences = recorded()
        self.rows = [(row["time_s"]["median"], row["sample_digest"]["log_error"],
                      row["sample_digest"]["median_clock_hz"]) for row in self.report["measurements"]]
        self.draw = random.Random(7).gauss

    def write(self, folder, number):
        report = self.report
        likeness, offset = self.draw(0, LIKENESS), self.draw(0, OFFSET)
        for row, (median, error, clock), difference in zip(report["measurements"], self.rows, self.differences):
            own = self.draw(0, math.hypot(error, REPETITION))
            is_memory = row["fraction_of_copy"] >= MEMORY_BOUND
            factor = {100: 1.05, 200: 1.06 if is_memory else 1.0, 300: 1.0 if is_memory else 1.07,
                      400: 1.02}.get(number, 0.0)
            log = math.log(factor) + own if factor else likeness * difference + offset + own
            row["time_s"]["median"] = median * math.exp(log)
            row["sample_digest"]["median_clock_hz"] = clock * (0.93 if number == 300 else 1.0)
        report["device"]["uuid"] = f"GPU-{number:08}"
        report["host"]["name"] = f"node{number // 8}"
        report["shard"] = {"index": number, "count": UNITS, "split": False, "from": "SLURM_PROCID"}
        report["complete"] = number != 500
        report["device"]["state_after"]["throttle_reasons"] = ["hw_thermal_slowdown"] if number == 300 else []
        (folder / f"shard-{number}.json").write_text(json.dumps(report), encoding="utf-8")


class Thousand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        reports = cls.folder / "reports"
        reports.mkdir()
        fleet = Fleet()
        for number in range(UNITS):
            if number != 600:
                fleet.write(reports, number)
        cls.bytes = sum(path.stat().st_size for path in reports.iterdir())
        cls.figures = [f"{UNITS - 1} reports of {cls.bytes / UNITS / 1e3:.0f} kB"]
        cls.merged = cls.run_program("merge", str(reports), "-o", str(cls.folder / "fleet.json"))
        cls.ranked = cls.run_program("fleet", str(cls.folder / "fleet.json"), "--gate", "--json")
        cls.page = cls.run_program("fleet", str(cls.folder / "fleet.json"), "--format", "html")
        cls.ticket = cls.run_program("fleet", str(cls.folder / "fleet.json"), "--format", "markdown")
        cls.ranking = json.loads(cls.ranked.stdout)["groups"][0]["units"]
        print("; ".join(cls.figures))

    @classmethod
    def run_program(cls, *words):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cls.figures.append(f"{words[0]} {words[-1] if words[0] == 'fleet' else ''} "
                           f"{time.monotonic() - start:.1f} s, {after.ru_utime - before.ru_utime:.1f} s of "
                           f"processor, {len(done.stdout) / 1e3:.0f} kB")
        return done

    def test_merge_names_who_is_missing(self):
        self.assertEqual(self.merged.returncode, 0, self.merged.stderr)
        self.assertIn("missing: shard 600 of 1024\n", self.merged.stderr)
        self.assertIn("merged: 1023 units with 80 cells", self.merged.stderr)

    def test_exactly_those_with_a_fault_are_flagged(self):
        verdicts = {int(unit["id"][4:]): unit["verdict"] for unit in self.ranking}
        flagged = {number: verdict for number, verdict in verdicts.items() if verdict != "OK"}
        self.assertEqual(flagged, {100: "SLOW", 200: "SLOW", 300: "SLOW", 500: "FAILED"})

    def test_causes_are_told(self):
        causes = {int(unit["id"][4:]): unit["cause"] for unit in self.ranking if unit["cause"]}
        self.assertEqual(causes, {100: "unknown", 200: "memory only", 300: "heat"})

    def test_the_gate_fails_for_them(self):
        self.assertEqual(self.ranked.returncode, 1)
        self.assertEqual(json.loads(self.ranked.stdout)["gate"]["reasons"],
                         ["3 units SLOW", "1 unit FAILED", "1 name missing"])

    def test_the_page_and_the_ticket_show_them(self):
        for text in (self.page.stdout, self.ticket.stdout):
            for number in (100, 200, 300, 500):
                self.assertIn(f"GPU-{number:08}", text)
            self.assertIn("shard 600 of 1024", text)
        self.assertLess(len(self.page.stdout), 3_000_000)
        self.assertEqual(len(re.findall(r"^#### (?:SLOW|FAILED)", self.ticket.stdout, re.MULTILINE)), 4)


if __name__ == "__main__":
    unittest.main()
