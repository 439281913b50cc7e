#!/usr/bin/env python3
"""nf4bench.load on reports of today's program and on kept ones. Usage: reports_test.py NF4BENCH"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import nf4bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = None


def has(package):
    with contextlib.suppress(ImportError):
        __import__(package)
        return True
    return False


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name) / "report.json"
        subprocess.run([PROGRAM, "run", "--shape", "128x192", "--shape", "64x64", "--device", "cpu", "--max-time",
                        "0.02", "--quiet", "--no-ceilings", "--variant", "multi_pass,simd", "--json", cls.path],
                       check=True, capture_output=True)

    def test_a_report_of_this_program(self):
        report = nf4bench.load(self.path)
        self.assertTrue(report.complete)
        self.assertEqual([each.shape for each in report.tensors], [(128, 192), (64, 64)])
        self.assertEqual({each.variant for each in report.measurements}, {"multi_pass", "simd"})
        for each in report.measurements:
            self.assertTrue(each.passed)
            self.assertIn(each.tensor, report.tensors)
            self.assertGreater(each.time.median, 0)
            self.assertLessEqual(each.time.min, each.time.median)
            self.assertEqual(each.time.median, each.raw["time_s"]["median"])
            self.assertIsNone(each.tokens)
        self.assertEqual({each.speedup.baseline for each in report.measurements}, {"multi_pass"})

    def test_kept_reports(self):
        kept = sorted((ROOT / "docs" / "results").glob("h200*/*.json"))
        read = 0
        for path in kept:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.get("schema") != "nf4bench.report":
                with self.assertRaises(nf4bench.NotAReport):
                    nf4bench.load(path)
                continue
            report = nf4bench.load(path)
            self.assertEqual(len(report.measurements), len(raw["measurements"]))
            read += 1
        self.assertGreater(read, 5)
        tokens = {each.tokens for each in nf4bench.load(ROOT / "docs/results/h200/matmul-llama-3.1-8b.json").measurements}
        self.assertIn(8, tokens)

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_frames(self):
        report = nf4bench.load(self.path)
        frame = report.frame()
        self.assertEqual(len(frame), len(report.measurements))
        best = frame.groupby("variant")["median_s"].median()
        self.assertEqual(set(best.index), {"multi_pass", "simd"})
        samples = report.samples()
        self.assertEqual(len(samples), sum(len(each.samples_s) for each in report.measurements))

    @unittest.skipUnless(has("matplotlib"), "no matplotlib")
    def test_plots(self):
        for kind in ("bandwidth", "speedup"):
            self.assertTrue(nf4bench.load(ROOT / "docs/results/h200/geometries.json").plot(kind).axes)

    def test_what_is_no_report(self):
        def loading(text):
            path = self.path.with_name("other.json")
            path.write_text(text, encoding="utf-8")
            return nf4bench.load(path)

        for text in ("", "[]", "{}", "7", '{"schema": "nf4bench.report"}',
                     '{"schema": "nf4bench.report", "schema_version": "1.0.0"}',
                     '{"schema": "nf4bench.report", "schema_version": "2.0.0"}',
                     '{"schema": "nf4bench.report", "schema_version": "1.0.0", "tensors": 5}'):
            with self.subTest(text), self.assertRaises(nf4bench.NotAReport):
                loading(text)
        with self.assertRaises(OSError):
            nf4bench.load(self.path.with_name("absent.json"))

    def test_needs_neither_torch_nor_pandas(self):
        code = "import nf4bench, sys; print([each for each in ('torch', 'pandas', 'matplotlib') if each in sys.modules])"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip(),
                         "[]")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
