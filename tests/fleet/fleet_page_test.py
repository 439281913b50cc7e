#!/usr/bin/env python3
"""Looks at the page of a fleet as tests/exports/page_test.py does at that of a report.

The argument is the program. Where there is no Chromium, only the page's source is looked at, which
with NF4BENCH_ALL_CONSUMERS in the environment is a failure.
"""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/exports"))
import page_test as pages  # takes the program from the arguments

CLOSED = ("schema", "schema_version", "kind", "bound", "started_at", "cache", "launch", "operation", "dtype")


def with_strings(value, text):
    """`value` with `text` behind every string that a stranger may choose."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [with_strings(each, text) for each in value]
    if isinstance(value, dict):
        return {key: each if key in CLOSED else with_strings(each, text) for key, each in value.items()}
    return value


class Workspace(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def merge(self):
        """Twelve units, of which one is slow, one did not end, and one is of another driver."""
        reports = self.folder / "reports"
        reports.mkdir(exist_ok=True)
        golden = json.loads((ROOT / "docs/results/h200/geometries-one-board.json").read_text(encoding="utf-8"))
        for number in range(12):
            report = copy.deepcopy(golden)
            report["device"]["uuid"] = f"GPU-{number:08x}-8b7f-5d2c-9f57-2f4c7b1f7a10"
            report["complete"] = number != 4
            report["shard"] = {"index": number, "count": 13, "split": False, "from": "--shard"}
            if number == 5:
                report["device"]["driver"] = "1.0"
            for row in report["measurements"] if number == 3 else ():
                row["samples_s"] = [1.08 * s for s in row["samples_s"]]
            (reports / f"{number}.json").write_text(json.dumps(report), encoding="utf-8")
        fleet = self.folder / "fleet.json"
        subprocess.run([pages.BINARY, "merge", str(reports), "-o", str(fleet)], capture_output=True, check=False)
        return json.loads(fleet.read_text(encoding="utf-8"))

    def page(self, text=""):
        fleet = self.folder / "fleet.json"
        fleet.write_text(json.dumps(with_strings(self.merge(), text)), encoding="utf-8")
        done = subprocess.run([pages.BINARY, "fleet", str(fleet), "--format", "html"], capture_output=True,
                              check=True)
        return done.stdout.decode("utf-8")


class Source(Workspace):
    def test_shows_every_unit_and_what_is_wrong(self):
        text = self.page()
        self.assertIn("<h1>NVIDIA H200: 1 FAILED, 1 SLOW, 9 OK</h1>", text)
        self.assertEqual(len(re.findall(r'<tr id="m\d+">', text)), 11)
        self.assertIn("missing: shard 12 of 13", text)
        self.assertIn("refused: ", text)
        for section in ("ranking", "heat", "cells", "single", "units"):
            self.assertIn(f'<section id="{section}">', text)
        self.assertEqual(text.count('<figure class="samples single"'), 11)
        first = re.search(r'<option value="c0">(.*?)</option>', text)[1]
        self.assertTrue(first.startswith("GPU-00000003"), first)

    def test_allows_its_own_script_and_style_by_hash_and_nothing_else(self):
        for text in (self.page(), self.page(pages.ATTACK)):
            (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
            (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
            self.assertEqual(pages.policy_of(text), {
                "default-src": ["'none'"], "base-uri": ["'none'"], "form-action": ["'none'"],
                "script-src": [pages.source_of(script)], "style-src": [pages.source_of(style)]})

    def test_has_no_element_or_attribute_that_a_string_brought(self):
        honest, text = pages.Elements(self.page()), self.page(pages.ATTACK)
        self.assertGreater(text.count("onerror="), 20)
        attacked = pages.Elements(text)
        self.assertEqual((attacked.tags, attacked.attributes), (honest.tags, honest.attributes))
        self.assertNotIn("style", honest.attributes)
        self.assertIsNone(re.search("[\u202a-\u202e\u2066-\u2069\u2028\u0085]", text))


@unittest.skipIf(pages.CHROMIUM is None, "needs Chromium")
class InABrowser(Workspace):
    def look(self, text, *widths):
        """What is seen in a window of each width."""
        allowed = f"script-src {pages.source_of(pages.LISTENER)} {pages.source_of(pages.PROBE)} "
        text = text.replace("script-src ", allowed, 1)
        text = text.replace("<title>", f"<script>{pages.LISTENER}</script><title>", 1)
        text = text.replace("</body>", f"<script>{pages.PROBE}</script></body>", 1)
        (self.folder / "page.html").write_text(text, encoding="utf-8")
        frames = self.folder / "frames.html"
        frames.write_text(pages.FRAMES.format(frames="".join(
            pages.FRAME.format(page="page.html", width=width) for width in widths)), encoding="utf-8")
        dom = pages.chromium("--window-size=1280,900", "--virtual-time-budget=5000", "--dump-dom",
                             frames.as_uri())
        found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
        seen = json.loads(pages.html.unescape(found[1]))
        self.assertEqual(sorted(each["width"] for each in seen), sorted(widths))
        return seen

    def test_shows_one_unit_at_a_time_and_leads_to_its_row(self):
        (seen,) = self.look(self.page(), 1280)
        self.assertEqual((seen["faults"], seen["loaded"], seen["flat"]), ([], [], 0))
        self.assertEqual([shown for _, shown in seen["chosen"]], [[cell] for cell, _ in seen["chosen"]])
        self.assertEqual(len(seen["chosen"]), 11)
        self.assertEqual(len(seen["marked"]), 22)
        self.assertTrue(all(seen["marked"]))

    def test_fits_into_narrow_and_wide_windows(self):
        for text in (self.page(), self.page("a_name_without_a_blank" * 10)):
            for seen in self.look(text, 320, 500, 1440):
                self.assertLessEqual(seen["overflow"], 0, seen["width"])
                self.assertEqual((seen["outside"], seen["small"]), ([], 0), seen["width"])


if __name__ == "__main__":
    if pages.CHROMIUM is None:
        print("there is no Chromium: apt-get install chromium", file=sys.stderr)
        if "NF4BENCH_ALL_CONSUMERS" in os.environ:
            sys.exit(1)
    unittest.main()
